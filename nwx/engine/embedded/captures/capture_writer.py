"""Writes captures to the blocks of a run, and removes them from blocks and look-ups."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import Any, TypeVar

import numpy as np

from nwx.engine.embedded.captures.block_lookups import (
    MONTH,
    PLACES,
    BlockPart,
    found_ranks,
    place_key,
)
from nwx.engine.embedded.captures.blocks import (
    BLOCK_CAPTURES,
    STORED_FIELDS,
    WRITER_FIELDS,
    BlockColumns,
    BlockPacker,
    block_texts,
    chosen_captures,
)
from nwx.engine.embedded.captures.cdx_order import CaptureChunk, IncomingCaptures
from nwx.engine.embedded.captures.entries import (
    LOOKUP_KINDS,
    EntryWriter,
    KeyArray,
    keys_of_places,
    known_places,
    lookup_entries,
    merge_entries,
    packed_entries,
    place_keys,
    swept,
    unpacked_entries,
)
from nwx.engine.embedded.captures.runs import (
    MERGED,
    RUN_BITS,
    START,
    CdxPlace,
    block_numbered,
    drop_merged,
    drop_runs,
    places_of,
    shown_runs,
)
from nwx.engine.embedded.database import CAPTURE_NUMBERS, add_rows, count_rows
from nwx.engine.sqlite_files import among
from nwx.model import IndexName

_ALL = 1 << 30
_ROW_OF = (
    "SELECT id FROM lookups WHERE run = ? AND kind = ? AND (key, rank) <= (?, ?)"
    " ORDER BY key DESC, rank DESC LIMIT 1"
)

Entry = tuple[int, int]


def remove_captures(db: sqlite3.Connection, places: Iterable[tuple[int, int]]) -> int:
    """Delete captures by file code and offset; return the number deleted."""
    keys = {place_key(*place) for place in places}
    removed = 0
    for run in shown_runs(db):
        copies: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for key in keys:
            for number in found_ranks(db, run, PLACES, key):
                copies[number][key] = _ALL
        removed += _remove(db, run, copies)
    if removed:
        drop_merged(db)
    return removed


def remove_repeated(db: sqlite3.Connection, runs: Sequence[int]) -> int:
    """Delete repeated captures of new runs, keeping the first; return the number deleted."""
    copies: defaultdict[int, defaultdict[int, Counter[int]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    last = -1
    for keys, ranks, owners in swept(db, runs, PLACES):
        for at in np.flatnonzero(keys == np.concatenate(([last], keys[:-1]))).tolist():
            copies[runs[int(owners[at])]][int(ranks[at])][int(keys[at])] += 1
        last = int(keys[-1])
    return sum(_remove(db, run, found) for run, found in copies.items())


def _remove(db: sqlite3.Connection, run: int, copies: Mapping[int, Counter[int]]) -> int:
    """Delete counted captures from numbered blocks, by place key, the last of equal ones first."""
    gone: dict[int, set[Entry]] = {kind: set() for kind in LOOKUP_KINDS}
    months: Counter[str] = Counter()
    for number, counts in copies.items():
        block = block_numbered(db, run, number)
        if block is None:
            continue
        whole = BlockPart(db, block)
        columns = {name: whole[name] for name in STORED_FIELDS}
        kept = chosen_captures(columns, _kept(columns, counts))
        before, after = _entries(columns, number), _entries(kept, number)
        for kind in LOOKUP_KINDS:
            gone[kind] |= before[kind] - after[kind]
        months.update(time[:MONTH] for time in columns["timestamp"])
        months.subtract(time[:MONTH] for time in kept.get("timestamp", ()))
        _store(db, run << RUN_BITS | number, kept)
    for kind in LOOKUP_KINDS:
        _remove_entries(db, run, kind, gone[kind])
    rows = [(number, run, month) for month, number in months.items()]
    db.executemany("UPDATE months SET captures = captures - ? WHERE run = ? AND month = ?", rows)
    removed = months.total()
    db.execute("UPDATE runs SET captures = captures - ? WHERE run = ?", (removed, run))
    if db.execute("SELECT 1 FROM runs WHERE run = ? AND NOT captures", (run,)).fetchone():
        drop_runs(db, [run])
    return removed


def _kept(columns: BlockColumns, counts: Counter[int]) -> list[bool]:
    left = Counter(counts)
    kept = []
    for key in reversed(place_keys(columns).tolist()):
        kept.append(left[key] <= 0)
        left[key] -= 1
    return kept[::-1]


def _entries(columns: BlockColumns, number: int) -> dict[int, set[Entry]]:
    if not columns:
        return {kind: set() for kind in LOOKUP_KINDS}
    numbers = np.full(len(columns["urlkey"]), number, np.uint64)
    found = lookup_entries(columns, numbers)
    return {
        kind: set(zip(keys.tolist(), ranks.tolist(), strict=True))
        for kind, (keys, ranks) in found.items()
    }


def _store(db: sqlite3.Connection, id: int, columns: BlockColumns) -> None:
    if not columns:
        db.execute("DELETE FROM blocks WHERE id = ?", (id,))
        return
    keys, times = columns["urlkey"], columns["timestamp"]
    db.execute(
        "UPDATE blocks SET urlkey = ?, timestamp = ?, captures = ?, lines = ?, rest = ?"
        " WHERE id = ?",
        (
            keys[0],
            times[0],
            len(keys),
            *BlockPacker().packed(columns, block_texts(columns, len(keys))),
            id,
        ),
    )


def _remove_entries(db: sqlite3.Connection, run: int, kind: int, entries: set[Entry]) -> None:
    rows: defaultdict[int, set[Entry]] = defaultdict(set)
    for entry in entries:
        if row := db.execute(_ROW_OF, (run, kind, *entry)).fetchone():
            rows[row[0]].add(entry)
    for id, some in rows.items():
        keys, ranks = unpacked_entries(db, id)
        pairs = zip(keys.tolist(), ranks.tolist(), strict=True)
        kept = np.array([pair not in some for pair in pairs], bool)
        keys, ranks = keys[kept], ranks[kept]
        if len(keys):
            values = (int(keys[0]), int(ranks[0]), packed_entries(keys, ranks), id)
            db.execute("UPDATE lookups SET key = ?, rank = ?, data = ? WHERE id = ?", values)
        else:
            db.execute("DELETE FROM lookups WHERE id = ?", (id,))


STEP_BLOCKS = 160
"""The number of blocks of captures stored in one step."""

_CODES = "SELECT name, code FROM sources WHERE collection = ? AND name IN ({})"
_CODES_KEPT = 200_000
_INSERT_BLOCK = "INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


_Result = TypeVar("_Result")


def all_steps(steps: Iterator[None] | Generator[None, None, _Result]) -> _Result:
    """Take all steps in one transaction, and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result


class RunWriter:
    """Appends captures in order to a run that is hidden until `show`."""

    def __init__(
        self,
        db: sqlite3.Connection,
        batches: tuple[int, int],
        run: int = 0,
        *,
        is_merged: bool = False,
    ) -> None:
        self._db, self._packer = db, BlockPacker()
        (sources,) = db.execute("SELECT coalesce(max(code), 0) FROM sources").fetchone()
        sources = MERGED if is_merged else sources
        values = (run or None, *batches, sources)
        made = db.execute("INSERT OR IGNORE INTO runs VALUES (?, 0, 0, ?, ?, ?)", values)
        self.run = run or int(made.lastrowid or 0)
        self.last: CdxPlace = START
        self._is_in_parts = bool(run)  # parts written by an earlier writer
        self._parts = 0

    def append(
        self, chunk: CaptureChunk, number: int, places: KeyArray | None = None
    ) -> Generator[None, None, int]:
        """Append captures as blocks numbered from `number`, step by step; return the next number.

        `places` are the keys of their places, if known.
        """
        columns = chunk.columns
        places = place_keys(columns) if places is None else places
        added = len(columns["urlkey"])
        numbers = number + np.arange(added, dtype=np.uint64) // np.uint64(BLOCK_CAPTURES)
        for begin in range(0, added, STEP_BLOCKS * BLOCK_CAPTURES):
            if begin:
                yield
            blocks = self._packed(chunk, begin, number)
            self._db.executemany(_INSERT_BLOCK, blocks)
            number += STEP_BLOCKS
        for kind, (keys, ranks) in chunk.keys.entries(numbers, places).items():
            if added > STEP_BLOCKS * BLOCK_CAPTURES:
                yield
            writer = EntryWriter(self._db, self.run, kind)
            writer.add(keys, ranks)
            writer.close()
        (self.last,) = places_of({name: values[-1:] for name, values in columns.items()})
        self._parts += 1
        command = "UPDATE runs SET captures = captures + ? WHERE run = ?"
        self._db.execute(command, (added, self.run))
        return int(numbers[-1]) + 1

    def _packed(self, chunk: CaptureChunk, first: int, number: int) -> Iterator[tuple[Any, ...]]:
        columns = chunk.columns
        keys, times, batches = columns["urlkey"], columns["timestamp"], columns["batch"]
        end = min(first + STEP_BLOCKS * BLOCK_CAPTURES, len(keys))
        for begin in range(first, end, BLOCK_CAPTURES):
            part = slice(begin, begin + BLOCK_CAPTURES)
            texts = chunk.texts[begin // BLOCK_CAPTURES]
            names = STORED_FIELDS if texts is None else WRITER_FIELDS
            frames = self._packer.packed({name: columns[name][part] for name in names}, texts)
            last, held = max(map(int, set(batches[part]))), len(keys[part])
            id = self.run << RUN_BITS | number
            yield (id, self.run, keys[begin], times[begin], last, held, *frames)
            number += 1

    def finish(self) -> Iterator[None]:
        """Sort the look-ups of everything appended, step by step."""
        if self._parts > 1 or self._is_in_parts:
            yield from merge_entries(self._db, self.run)

    def show(self) -> None:
        """Show the run to readers, from the next commit on."""
        self._db.execute("UPDATE runs SET shown = 1 WHERE run = ?", (self.run,))


class CaptureAdder:
    """Adds captures in transactions of a connection, without duplicates; all form one batch.

    Readers see them from the commit after `finish` on.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._batch = count_rows(db, CAPTURE_NUMBERS) + 1
        self._known = shown_runs(db)
        self._codes: dict[tuple[str, str], int] = {}
        (self._last_known,) = db.execute("SELECT coalesce(max(code), 0) FROM sources").fetchone()
        self._runs: list[tuple[RunWriter, Counter[str]]] = []
        self._number = self._chunks = self._added = 0

    def add(self, captures: IncomingCaptures) -> Iterator[None]:
        """Add captures step by step; the caller may commit between steps."""
        new, keys = self._new(captures)
        if not len(keys):
            return
        (first,) = places_of({name: values[:1] for name, values in new.columns.items()})
        fitting = [one for one in self._runs if one[0].last <= first]
        if not fitting:
            fitting = [(RunWriter(self._db, (self._batch, self._batch)), Counter())]
            self._runs += fitting
        run, months = fitting[0]
        self._number = yield from run.append(new, self._number, keys)
        months.update(new.months)
        self._added += len(keys)
        self._chunks += 1

    @property
    def has_added(self) -> bool:
        """Return whether captures were added."""
        return self._chunks > 0

    def put_in_order(self) -> Iterator[None]:
        """Sort the look-ups of everything added, step by step."""
        for run, _ in self._runs:
            yield from run.finish()

    def finish(self) -> int:
        """Show all captures to readers; return the number of new ones."""
        for run, months in self._runs:
            run.show()
            rows = [(run.run, month, number, self._batch) for month, number in months.items()]
            self._db.executemany("INSERT INTO months VALUES (?, ?, ?, ?)", rows)
        if self._chunks > 1:
            self._added -= remove_repeated(self._db, [run.run for run, _ in self._runs])
        if self._added:
            add_rows(self._db, IndexName.CAPTURES, self._added)
            command = "UPDATE counters SET value = ? WHERE name = ?"
            self._db.execute(command, (self._batch, CAPTURE_NUMBERS))
        return self._added

    def _new(self, captures: IncomingCaptures) -> tuple[CaptureChunk, KeyArray]:
        """Return the captures not stored yet, with `source` and `batch`, and their place keys."""
        self._number_files(set(captures.files))
        codes = np.array([self._codes[file] for file in captures.files], np.uint64)
        sources, chunk = codes[captures.numbers], captures.chunk
        keys = keys_of_places(sources, captures.offsets)
        chunk.columns["source"] = sources.tolist()
        chunk.columns["batch"] = [self._batch] * len(keys)
        old = np.flatnonzero(sources <= self._last_known)
        if len(old) and self._known:
            known = np.zeros(len(keys), bool)
            known[old] = known_places(self._db, self._known, keys[old])
            if known.any():
                chosen = chosen_captures(chunk.columns, (~known).tolist())
                return CaptureChunk(chosen) if chosen else chunk, keys[~known]
        return chunk, keys

    def _number_files(self, files: AbstractSet[tuple[str, str]]) -> None:
        """Assign codes to files that have none."""
        codes = self._codes
        if len(codes) > _CODES_KEPT:
            codes.clear()
        new: defaultdict[str, list[str]] = defaultdict(list)
        for collection, name in sorted(files - codes.keys()):
            new[collection].append(name)
        for collection, names in new.items():
            for name, code in among(self._db, _CODES, names, collection):
                codes[collection, name] = code
        unknown = [(collection, name) for collection, names in new.items() for name in names]
        unknown = [file for file in unknown if file not in codes]
        (last,) = self._db.execute("SELECT coalesce(max(code), 0) FROM sources").fetchone()
        codes.update(zip(unknown, count(last + 1)))
        rows = ((codes[file], *file) for file in unknown)
        self._db.executemany("INSERT INTO sources (code, collection, name) VALUES (?, ?, ?)", rows)

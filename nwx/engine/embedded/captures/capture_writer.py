"""Captures written: new ones put in order, packed into the blocks of a run, shown."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from collections.abc import Set as AbstractSet
from itertools import count
from typing import Any, TypeVar

import numpy as np

from nwx.captures import VALUE_FIELDS, CaptureColumns
from nwx.engine.embedded.captures.blocks import (
    BLOCK_CAPTURES,
    STORED_FIELDS,
    BlockColumns,
    BlockPacker,
    chosen_captures,
)
from nwx.engine.embedded.captures.entries import (
    EntryWriter,
    KeyArray,
    known_places,
    lookup_entries,
    merge_entries,
    place_keys,
)
from nwx.engine.embedded.captures.lookups import MONTH
from nwx.engine.embedded.captures.removal import remove_repeated
from nwx.engine.embedded.captures.runs import (
    MERGED,
    RUN_BITS,
    START,
    CdxPlace,
    places_of,
    shown_runs,
)
from nwx.engine.embedded.database import CAPTURE_NUMBERS, add_rows, count_rows
from nwx.engine.sqlite_files import among
from nwx.model import IndexName

STEP_BLOCKS = 160
"""So many blocks of captures are stored in one step."""

_FILE_FIELDS = VALUE_FIELDS[:2]
_CODES = "SELECT name, code FROM sources WHERE collection = ? AND name IN ({})"
_CODES_KEPT = 200_000
_INSERT_BLOCK = "INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


_Result = TypeVar("_Result")


def all_steps(steps: Iterator[None] | Generator[None, None, _Result]) -> _Result:
    """Take all steps in one transaction, and return what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result


class RunWriter:
    """Appends captures, which are in order, to a run that is not shown before `show`."""

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
        self._is_in_parts = bool(run)  # by others before
        self._parts = 0

    def append(
        self, columns: BlockColumns, number: int, places: KeyArray | None = None
    ) -> Generator[None, None, int]:
        """Append captures as blocks numbered from `number` on, step by step; return the next one.

        `places` are the keys of their places, if these are known.
        """
        added = len(columns["urlkey"])
        numbers = number + np.arange(added, dtype=np.uint64) // np.uint64(BLOCK_CAPTURES)
        for begin in range(0, added, STEP_BLOCKS * BLOCK_CAPTURES):
            if begin:
                yield
            blocks = self._packed(columns, begin, number)
            self._db.executemany(_INSERT_BLOCK, blocks)
            number += STEP_BLOCKS
        for kind, (keys, ranks) in lookup_entries(columns, numbers, places).items():
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

    def _packed(self, columns: BlockColumns, first: int, number: int) -> Iterator[tuple[Any, ...]]:
        keys, times, batches = columns["urlkey"], columns["timestamp"], columns["batch"]
        end = min(first + STEP_BLOCKS * BLOCK_CAPTURES, len(keys))
        for begin in range(first, end, BLOCK_CAPTURES):
            part = slice(begin, begin + BLOCK_CAPTURES)
            frames = self._packer.packed({name: columns[name][part] for name in STORED_FIELDS})
            last, held = max(map(int, set(batches[part]))), len(keys[part])
            id = self.run << RUN_BITS | number
            yield (id, self.run, keys[begin], times[begin], last, held, *frames)
            number += 1

    def finish(self) -> Iterator[None]:
        """Put the look-ups of all that was appended in order, step by step."""
        if self._parts > 1 or self._is_in_parts:
            yield from merge_entries(self._db, self.run)

    def show(self) -> None:
        """Let readers see the run from the next commit on."""
        self._db.execute("UPDATE runs SET shown = 1 WHERE run = ?", (self.run,))


class CaptureAdder:
    """Adds captures in transactions of a connection, each once; all of them are one batch.

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

    def add(self, columns: CaptureColumns) -> Iterator[None]:
        """Add captures in CDX order (`cdx_order`), step by step: each may be a transaction."""
        new, keys = self._new(columns)
        if not len(keys):
            return
        (first,) = places_of({name: values[:1] for name, values in new.items()})
        fitting = [one for one in self._runs if one[0].last <= first]
        if not fitting:
            fitting = [(RunWriter(self._db, (self._batch, self._batch)), Counter())]
            self._runs += fitting
        run, months = fitting[0]
        self._number = yield from run.append(new, self._number, keys)
        months.update([time[:MONTH] for time in new["timestamp"]])
        self._added += len(keys)
        self._chunks += 1

    @property
    def has_added(self) -> bool:
        """Return whether captures were added."""
        return self._chunks > 0

    def put_in_order(self) -> Iterator[None]:
        """Put the look-ups of all that was added in order, step by step."""
        for run, _ in self._runs:
            yield from run.finish()

    def finish(self) -> int:
        """Let all be seen; return how many were new."""
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

    def _new(self, columns: CaptureColumns) -> tuple[BlockColumns, KeyArray]:
        """Return the captures that are not there yet, with file and batch, and their places."""
        collections, names = (columns[name] for name in _FILE_FIELDS)
        files = set(zip(collections, names, strict=True))
        self._number_files(files)
        if len(set(collections)) == 1:
            codes = {name: self._codes[collection, name] for collection, name in files}
            sources = list(map(codes.__getitem__, names))
        else:
            sources = list(map(self._codes.__getitem__, zip(collections, names, strict=True)))
        found: BlockColumns = {**columns, "source": sources, "batch": [self._batch] * len(names)}
        keys = place_keys(found)
        old = np.flatnonzero(np.array(found["source"], np.int64) <= self._last_known)
        if len(old) and self._known:
            known = np.zeros(len(keys), bool)
            known[old] = known_places(self._db, self._known, keys[old])
            if known.any():
                return chosen_captures(found, (~known).tolist()), keys[~known]
        return found, keys

    def _number_files(self, files: AbstractSet[tuple[str, str]]) -> None:
        """Give files that have no codes yet the next ones."""
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

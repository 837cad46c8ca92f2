"""Captures read in CDX order: the blocks of a run one after the other, several runs merged.

A run has captures in their order, cut into blocks. A load makes a run, or some; runs are merged
as they become many. Runs that are not shown yet are still being written.
"""

import json
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import compress
from operator import add
from typing import Any

from nwx.engine.embedded.captures.blocks import (
    REST_FIELDS,
    Block,
    BlockColumns,
    BlockError,
    kept_block,
)
from nwx.engine.sqlite_files import transaction

RUN_SCHEMA = """
-- Captures in CDX order; `batches` of them number what was stored together. `sources` is the
-- last code of a file before a load, -1 of what merges hide.
CREATE TABLE runs (run INTEGER PRIMARY KEY AUTOINCREMENT, shown INTEGER NOT NULL,
    captures INTEGER NOT NULL, first_batch INTEGER NOT NULL, last_batch INTEGER NOT NULL,
    sources INTEGER NOT NULL);
-- An id is run << 32 | number; urlkey and timestamp are those of the first capture.
CREATE TABLE blocks (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, urlkey TEXT NOT NULL,
    timestamp TEXT NOT NULL, last_batch INTEGER NOT NULL, captures INTEGER NOT NULL,
    lines BLOB NOT NULL, rest BLOB NOT NULL);
CREATE INDEX blocks_by_key ON blocks (run, urlkey, timestamp);
CREATE INDEX blocks_by_batch ON blocks (run, last_batch);
-- Where captures are, by what they are looked up by (`lookups`), in order of key and rank.
CREATE TABLE lookups (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, kind INTEGER NOT NULL,
    key INTEGER NOT NULL, rank INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX lookups_by_key ON lookups (run, kind, key, rank);
CREATE TABLE months (run INTEGER, month TEXT, captures INTEGER NOT NULL,
    last_batch INTEGER NOT NULL, PRIMARY KEY (run, month)) WITHOUT ROWID;
"""

RUN_TABLES = ("runs", "blocks", "lookups", "months")

MERGED = -1
"""The `sources` of a run that is being merged, or was merged into another."""

RUN_BITS = 32
"""The bits of a block's number in its id."""

Position = tuple[str, str]
"""A urlkey and a timestamp."""

BEGINNING: Position = ("", "")
END: Position = ("\U0010ffff", "")

CdxPlace = tuple[str, str, str, int, str]
"""What captures are in the order of: urlkey, timestamp, file, offset, collection."""

START: CdxPlace = ("", "", "", -1, "")
"""The place before all captures."""

ORDER_FIELDS = ("urlkey", "timestamp", "source_file", "source_file_offset", "collection")

Choose = Callable[[BlockColumns], Sequence[bool]]
"""Says which captures are wanted."""

_ANY_BEFORE = (
    "(SELECT id FROM blocks WHERE run = :run AND (urlkey, timestamp) < (:{}, :{})"
    " ORDER BY urlkey DESC, timestamp DESC, id DESC LIMIT 1)"
)
_BETWEEN = (
    "SELECT captures, lines{rest} FROM blocks"
    f" WHERE id BETWEEN coalesce({_ANY_BEFORE.format('first', 'since')}, :run << {RUN_BITS})"
    f" AND coalesce({_ANY_BEFORE.format('last', 'until')}, -1){{behind}} ORDER BY id {{order}}"
)
_BEHIND = " AND id IN (SELECT id FROM blocks WHERE run = :run AND last_batch > :batch)"
_AT = "SELECT captures, lines, rest FROM blocks WHERE id = ?"
_REST = frozenset(REST_FIELDS)
_NAMES = "SELECT code, collection, name FROM sources WHERE code IN ({})"
_NAMES_AT_ONCE = 500
_NAMES_KEPT = 200_000


FileNames = dict[str, tuple[str, ...]]
"""Collections and names of files by their codes."""


class CaptureConnection(sqlite3.Connection):
    """A connection to an archive, with the files that were met; None where codes may be undone."""

    names: FileNames | None = None


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Let all questions asked inside see the same captures."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("COMMIT")


def shown_runs(db: sqlite3.Connection) -> list[int]:
    """Return the runs that readers see."""
    return [run for (run,) in db.execute("SELECT run FROM runs WHERE shown")]


def captures_between(
    db: sqlite3.Connection,
    first: Position,
    last: Position,
    fields: Sequence[str],
    *,
    newest_first: bool = False,
    choose: Choose | None = None,
    runs: Sequence[int] | None = None,
    behind_batch: int = 0,
) -> Iterator[BlockColumns]:
    """Stream the captures from one position up to, but without, another, in pieces.

    All values are texts. `choose` may look at all `fields`. The order is that of places (CdxPlace).
    Blocks without captures of batches behind `behind_batch` are passed over.
    """
    runs = shown_runs(db) if runs is None else runs
    wanted = tuple(dict.fromkeys((*fields, *(ORDER_FIELDS if len(runs) > 1 else ()))))
    streams = [
        _of_run(db, run, (first, last, behind_batch), wanted, choose, newest_first=newest_first)
        for run in runs
    ]
    if len(streams) == 1 and not newest_first:
        return streams[0]
    held = [_held(stream, wanted) for stream in streams]
    pieces = held[0] if len(held) == 1 else _merged(held, newest_first=newest_first)
    if not newest_first:
        return pieces
    return ({name: values[::-1] for name, values in piece.items()} for piece in pieces)


def captures_behind(
    db: sqlite3.Connection, place: CdxPlace, fields: Sequence[str], **options: Any
) -> Iterator[BlockColumns]:
    """Stream the captures behind a place, as `captures_between` does, their places included."""
    wanted = tuple(dict.fromkeys((*fields, *ORDER_FIELDS)))
    for piece in captures_between(db, place[:2], END, wanted, **options):
        keys, times = piece["urlkey"], piece["timestamp"]
        begin = bisect_right(places_of(piece), place) if (keys[0], times[0]) <= place[:2] else 0
        if begin < len(keys):
            yield {name: piece[name][begin:] for name in wanted}


def _held(pieces: Iterator[BlockColumns], fields: Sequence[str]) -> Iterator[BlockColumns]:
    return ({name: piece[name] for name in fields} for piece in pieces)


@cache
def _command(rest: bool, newest_first: bool, behind: bool) -> str:
    order = "DESC" if newest_first else "ASC"
    told = {"rest": ", rest" * rest, "order": order, "behind": _BEHIND * behind}
    return _BETWEEN.format(**told)


def _of_run(
    db: sqlite3.Connection,
    run: int,
    span: tuple[Position, Position, int],
    fields: Sequence[str],
    choose: Choose | None,
    *,
    newest_first: bool,
) -> Iterator[BlockColumns]:
    rest, (first, last, batch) = not _REST.isdisjoint(fields), span
    command = _command(rest, newest_first, batch > 0)
    values = {"run": run, "batch": batch, "first": first[0], "since": first[1]}
    values |= {"last": last[0], "until": last[1]}
    for number, *frames in db.execute(command, values):
        block = Block(number, *frames) if rest else kept_block(number, *frames)
        part = BlockPart(db, block, first, last)
        piece: BlockColumns = part
        if piece["urlkey"] and choose is not None:
            which = choose(piece)
            if not all(which):
                piece = part.chosen(which, fields)
        if piece and piece["urlkey"]:
            yield piece


class BlockPart(BlockColumns):
    """The captures of a block between two positions, column by column as these are asked for."""

    def __init__(
        self,
        db: sqlite3.Connection,
        block: Block,
        first: Position = BEGINNING,
        last: Position = END,
    ) -> None:
        self._db, self._block = db, block
        keys, times = block.keys, block.timestamps

        def position(place: int) -> Position:
            return keys[place], times[place]

        begin, end = 0, block.number
        if position(0) < first:
            begin = bisect_left(range(end), first, key=position)
        if position(-1) >= last:
            end = bisect_left(range(end), last, key=position)
        self._begin, self._end = begin, max(begin, end)
        self.update(urlkey=keys[begin:end], timestamp=times[begin:end])

    def chosen(self, which: Sequence[bool], fields: Iterable[str]) -> BlockColumns:
        """Return some of the captures, {} if there are none; other columns are not read as far."""
        if not any(which):
            return {}
        first, last = which.index(True), len(which) - which[::-1].index(True)
        if last - first < len(which):
            self._begin, self._end = self._begin + first, self._begin + last
            held = {name: values[first:last] for name, values in self.items()}
            self.clear()
            self.update(held)
        return chosen_captures({name: self[name] for name in fields}, which[first:last])

    def __missing__(self, name: str) -> Sequence[Any]:
        self[name] = found = self._column(name)
        return found

    def _column(self, name: str) -> Sequence[Any]:
        if name == "digest":
            return list(map(add, self["algorithm"], self._stored(name)))
        if name == "bare_digest":
            digests = self._stored("digest")
            if all(self["algorithm"]):
                return digests
            return [one[one.find(":") + 1 :] for one in digests]
        if name in ("collection", "source_file"):
            return self._names(name == "source_file")
        return self._stored(name)

    def _stored(self, name: str) -> Sequence[str]:
        return self._block.column(name, self._begin, self._end)

    def _names(self, place: int) -> Sequence[str]:
        sources = self["source"]
        known: FileNames | None = getattr(self._db, "names", None)
        try:
            return [(known or {})[code][place] for code in sources]
        except KeyError:  # other threads may forget them at any moment
            names = _file_names(self._db, set(sources), known)
        try:
            return [names[code][place] for code in sources]
        except KeyError as error:
            raise BlockError(f"captures are of a file that is missing: {error}") from error


def _file_names(db: sqlite3.Connection, codes: set[str], known: FileNames | None) -> FileNames:
    """Return collection and name of files, and keep them with those that are known."""
    found = {code: name for code in codes if (name := (known or {}).get(code))}
    missing = sorted(codes - found.keys())
    for begin in range(0, len(missing), _NAMES_AT_ONCE):
        some = ",".join(map(str, map(int, missing[begin : begin + _NAMES_AT_ONCE])))
        for code, *name in db.execute(_NAMES.format(some)):
            found[str(code)] = tuple(name)
    if known is not None:
        if len(known) > _NAMES_KEPT:
            known.clear()
        known.update(found)
    return found


def chosen_captures(piece: BlockColumns, which: Sequence[bool]) -> BlockColumns:
    """Return some of the captures of a piece, {} if there are none."""
    if all(which):
        return piece
    if not any(which):
        return {}
    return {name: list(compress(values, which)) for name, values in piece.items()}


def text_of_place(place: CdxPlace) -> str:
    """Return a place as a text."""
    return json.dumps(place)


def place_of_text(text: str) -> CdxPlace:
    """Return the place of such a text. Raises ValueError or TypeError on others."""
    urlkey, timestamp, file, offset, collection = json.loads(text)
    return str(urlkey), str(timestamp), str(file), int(offset), str(collection)


def places_of(piece: BlockColumns) -> list[CdxPlace]:
    """Return what the captures of a piece are in the order of."""
    keys, times, files, offsets, collections = (piece[name] for name in ORDER_FIELDS)
    return list(zip(keys, times, files, map(int, offsets), collections, strict=True))


class _Head:
    """What is left of the piece of a run that was read last."""

    def __init__(self, pieces: Iterator[BlockColumns]) -> None:
        self._pieces = pieces
        self.piece: BlockColumns = {}
        self.places: list[CdxPlace] = []

    def fill(self) -> bool:
        if not self.places:
            self.piece = next(self._pieces, {})
            self.places = places_of(self.piece) if self.piece else []
        return bool(self.places)

    def take(self, begin: int, end: int) -> tuple[BlockColumns, list[CdxPlace]]:
        """Take captures off one end."""
        taken = {name: values[begin:end] for name, values in self.piece.items()}
        places = self.places[begin:end]
        left = slice(end, None) if not begin else slice(0, begin)
        self.piece = {name: values[left] for name, values in self.piece.items()}
        self.places = self.places[left]
        return taken, places

    def rest(self) -> Iterator[BlockColumns]:
        yield self.piece
        yield from self._pieces


def _merged(
    streams: Sequence[Iterator[BlockColumns]], *, newest_first: bool
) -> Iterator[BlockColumns]:
    """Merge the pieces of runs; each piece is in ascending order itself."""
    heads = [_Head(stream) for stream in streams]
    while heads := [head for head in heads if head.fill()]:
        if len(heads) == 1:
            yield from heads[0].rest()
            return
        if newest_first:
            bound = max(head.places[0] for head in heads)
            parts = [head.take(bisect_left(head.places, bound), len(head.places)) for head in heads]
        else:
            bound = min(head.places[-1] for head in heads)
            parts = [head.take(0, bisect_right(head.places, bound)) for head in heads]
        yield _joined([part for part in parts if part[1]])


def _joined(parts: Sequence[tuple[BlockColumns, list[CdxPlace]]]) -> BlockColumns:
    if len(parts) == 1:
        return parts[0][0]
    places = [place for part in parts for place in part[1]]
    order = sorted(range(len(places)), key=places.__getitem__)
    return ordered(
        {name: [value for piece, _ in parts for value in piece[name]] for name in parts[0][0]},
        order,
    )


def ordered(columns: BlockColumns, order: Sequence[int]) -> BlockColumns:
    """Return captures in another order."""
    return {name: list(map(values.__getitem__, order)) for name, values in columns.items()}


def block_numbered(db: sqlite3.Connection, run: int, number: int) -> Block | None:
    """Return a block by its number, None where there is none any more."""
    row = db.execute(_AT, (run << RUN_BITS | number,)).fetchone()
    return Block(*row) if row else None


def drop_runs(db: sqlite3.Connection, runs: Iterable[int]) -> None:
    """Delete runs with all they have."""
    for run in runs:
        for table in RUN_TABLES:
            db.execute(f"DELETE FROM {table} WHERE run = ?", (run,))


def drop_merged(db: sqlite3.Connection) -> None:
    """Delete what merges have hidden: a merge that is going on begins anew."""
    runs = db.execute("SELECT run FROM runs WHERE NOT shown AND sources = ?", (MERGED,))
    drop_runs(db, [run for (run,) in runs.fetchall()])


def drop_unfinished(db: sqlite3.Connection, *, merging: bool) -> None:
    """Delete the runs, and the names of files, that a writer left who did not come to its end.

    Those of merges stay if somebody is `merging`.
    """
    hidden = dict(db.execute("SELECT run, sources FROM runs WHERE NOT shown").fetchall())
    loaded = {run: known for run, known in hidden.items() if known != MERGED}
    if runs := loaded if merging else hidden:
        with transaction(db):
            drop_runs(db, runs)
            if loaded:
                db.execute("DELETE FROM sources WHERE code > ?", (min(loaded.values()),))

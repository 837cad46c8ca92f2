"""Reads of captures in CDX order: the blocks of each run in sequence, several runs merged.

A run has captures in CDX order, cut into blocks. A load makes one or more runs; runs are merged
as they become many. Runs not yet shown are still being written.
"""

import json
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from nwx.engine.embedded.captures.block_lookups import BlockPart, FileNames
from nwx.engine.embedded.captures.blocks import (
    END,
    REST_FIELDS,
    Block,
    BlockColumns,
    Position,
    kept_block,
)
from nwx.engine.sqlite_files import transaction

RUN_SCHEMA = """
-- Captures in CDX order; batches number captures that were stored together. `sources` is the
-- last file code before a load, -1 for runs hidden by merges.
CREATE TABLE runs (run INTEGER PRIMARY KEY AUTOINCREMENT, shown INTEGER NOT NULL,
    captures INTEGER NOT NULL, first_batch INTEGER NOT NULL, last_batch INTEGER NOT NULL,
    sources INTEGER NOT NULL);
-- An id is run << 32 | number; urlkey and timestamp are those of the first capture.
CREATE TABLE blocks (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, urlkey TEXT NOT NULL,
    timestamp TEXT NOT NULL, last_batch INTEGER NOT NULL, captures INTEGER NOT NULL,
    lines BLOB NOT NULL, rest BLOB NOT NULL);
CREATE INDEX blocks_by_key ON blocks (run, urlkey, timestamp);
CREATE INDEX blocks_by_batch ON blocks (run, last_batch);
-- Positions of captures by look-up kind (see `lookups`), in order of key and rank.
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
"""The number of bits of a block's number in its id."""

CdxPlace = tuple[str, str, str, int, str]
"""The sort key of captures: urlkey, timestamp, file, offset, collection."""

START: CdxPlace = ("", "", "", -1, "")
"""The place before all captures."""

ORDER_FIELDS = ("urlkey", "timestamp", "source_file", "source_file_offset", "collection")

_StoredBlock = tuple[Any, ...]

Choose = Callable[[BlockColumns], Sequence[bool]]
"""Returns which captures are wanted; an empty sequence means all."""

_ANY_BEFORE = (
    "(SELECT id FROM blocks WHERE run = :run AND (urlkey, timestamp) < (:{}, :{})"
    " ORDER BY urlkey DESC, timestamp DESC, id DESC LIMIT 1)"
)
_BETWEEN = (
    "SELECT captures, lines{rest} FROM blocks"
    f" WHERE id BETWEEN coalesce({_ANY_BEFORE.format('first', 'since')}, :run << {RUN_BITS})"
    f" AND coalesce({_ANY_BEFORE.format('last', 'until')}, -1){{behind}} ORDER BY id {{order}}"
)
_FEW = 16
"""Fewer blocks than this, of all shown runs, are read at once."""

_OF_ALL = (
    "SELECT run, captures, lines{rest} FROM (SELECT run AS one FROM runs WHERE shown) CROSS JOIN"
    " blocks WHERE id BETWEEN"
    f" coalesce({_ANY_BEFORE.format('first', 'since').replace(':run', 'one')}, one << {RUN_BITS})"
    f" AND coalesce({_ANY_BEFORE.format('last', 'until').replace(':run', 'one')}, -1)"
    f" ORDER BY one, id {{order}} LIMIT {_FEW}"
)
_BEHIND = " AND id IN (SELECT id FROM blocks WHERE run = :run AND last_batch > :batch)"
_AT = "SELECT captures, lines, rest FROM blocks WHERE id = ?"
_REST = frozenset(REST_FIELDS)


class CaptureConnection(sqlite3.Connection):
    """A connection with a cache of file names; None where new codes may be rolled back."""

    names: FileNames | None = None


class _Snapshot:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN")

    def __exit__(self, *_: object) -> None:
        if self._db.in_transaction:
            self._db.execute("COMMIT")


def snapshot(db: sqlite3.Connection) -> AbstractContextManager[None]:
    """Return a context in which all queries see the same captures."""
    return nullcontext() if db.in_transaction else _Snapshot(db)


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
    """Yield the captures from one position up to, excluding, another, in pieces.

    All values are texts. `choose` may read all `fields`. The order is that of places (CdxPlace).
    Blocks without captures of batches after `behind_batch` are skipped.
    """
    values: dict[str, Any] = {
        "first": first[0],
        "since": first[1],
        "last": last[0],
        "until": last[1],
    }
    values["batch"] = behind_batch
    form = (not _REST.isdisjoint(fields), newest_first, behind_batch > 0)
    unpack = kept_block if runs is None else Block  # merges read each block once
    found = _few_blocks(db, values, form) if runs is None and not behind_batch else None
    if found is None:
        command = _command(_BETWEEN, *form)
        runs = shown_runs(db) if runs is None else runs
        found = [db.execute(command, values | {"run": run}) for run in runs]
    wanted = tuple(dict.fromkeys((*fields, *(ORDER_FIELDS if len(found) > 1 else ()))))
    streams = [_pieces(db, blocks, (first, last), wanted, choose, unpack) for blocks in found]
    if len(streams) == 1 and not newest_first:
        return streams[0]
    held = [_held(stream, wanted) for stream in streams]
    pieces = held[0] if len(held) == 1 else _merged(held, newest_first=newest_first)
    if not newest_first:
        return pieces
    return ({name: values[::-1] for name, values in piece.items()} for piece in pieces)


def parts_of_url(db: sqlite3.Connection, urlkey: str) -> dict[int, list[BlockPart]] | None:
    """Return the captures of a URL by run, None if they may be in many blocks.

    Runs a single statement, so no snapshot is needed.
    """
    last = f"{urlkey}!"
    values = {"first": urlkey, "since": "", "last": last, "until": ""}
    rows = db.execute(_command(_OF_ALL, False, False, False), values).fetchall()
    if len(rows) == _FEW:
        return None
    parts: dict[int, list[BlockPart]] = {}
    for run, number, lines in rows:
        if part := BlockPart(db, kept_block(number, lines), (urlkey, ""), (last, "")):
            parts.setdefault(run, []).append(part)
    return parts


def _few_blocks(
    db: sqlite3.Connection, values: Mapping[str, Any], form: tuple[bool, bool, bool]
) -> Sequence[Iterable[_StoredBlock]] | None:
    """Return the blocks of all shown runs by run, None if they are _FEW or more."""
    rows = db.execute(_command(_OF_ALL, *form), values).fetchall()
    if len(rows) == _FEW:
        return None
    return [[row[1:] for row in some] for _, some in groupby(rows, key=itemgetter(0))]


def captures_behind(
    db: sqlite3.Connection, place: CdxPlace, fields: Sequence[str], **options: Any
) -> Iterator[BlockColumns]:
    """Yield the captures after a place, as `captures_between` does, with ORDER_FIELDS."""
    wanted = tuple(dict.fromkeys((*fields, *ORDER_FIELDS)))
    for piece in captures_between(db, place[:2], END, wanted, **options):
        keys, times = piece["urlkey"], piece["timestamp"]
        begin = bisect_right(places_of(piece), place) if (keys[0], times[0]) <= place[:2] else 0
        if begin < len(keys):
            yield {name: piece[name][begin:] for name in wanted}


def _held(pieces: Iterator[BlockColumns], fields: Sequence[str]) -> Iterator[BlockColumns]:
    return ({name: piece[name] for name in fields} for piece in pieces)


@cache
def _command(command: str, rest: bool, newest_first: bool, behind: bool) -> str:
    order = "DESC" if newest_first else "ASC"
    return command.format(rest=", rest" * rest, order=order, behind=_BEHIND * behind)


def _pieces(
    db: sqlite3.Connection,
    blocks: Iterable[_StoredBlock],
    span: tuple[Position, Position],
    fields: Sequence[str],
    choose: Choose | None,
    unpack: Callable[[int, bytes], Block],
) -> Iterator[BlockColumns]:
    has_begun = False
    for number, lines, *rest in blocks:
        if rest and not has_begun and not BlockPart(db, unpack(number, lines), *span):
            continue  # most runs lack the captures of a URL: their other columns are not decoded
        has_begun = True
        block = Block(number, lines, *rest) if rest else unpack(number, lines)
        part = BlockPart(db, block, *span)
        if not part:
            continue
        piece: BlockColumns = part
        if choose is not None and not all(which := choose(piece)):
            piece = part.chosen(which, fields)
        if piece:
            yield piece


def text_of_place(place: CdxPlace) -> str:
    """Return a place as text, JSON."""
    return json.dumps(place)


def place_of_text(text: str) -> CdxPlace:
    """Return the place from its text. Raises ValueError or TypeError on other texts."""
    urlkey, timestamp, file, offset, collection = json.loads(text)
    return str(urlkey), str(timestamp), str(file), int(offset), str(collection)


def places_of(piece: BlockColumns) -> list[CdxPlace]:
    """Return the places of the captures of a piece."""
    keys, times, files, offsets, collections = (piece[name] for name in ORDER_FIELDS)
    return list(zip(keys, times, files, map(int, offsets), collections, strict=True))


class _Head:
    """The rest of the last piece read from a run."""

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
        """Remove captures from one end and return them, with their places."""
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
    """Merge the pieces of runs; within a piece, the order is ascending."""
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
    """Return captures in the given order of positions."""
    if not order:
        return columns
    pick = itemgetter(*order, order[-1])
    number = len(order)
    return {
        name: values[:number] if is_one_value(values) else pick(values)[:-1]
        for name, values in columns.items()
    }


def is_one_value(values: Sequence[Any]) -> bool:
    """Return whether values are all the same; False if that takes long to find out."""
    return values[0] is values[-1] and values.count(values[0]) == len(values)


def block_numbered(db: sqlite3.Connection, run: int, number: int) -> Block | None:
    """Return a block by its number, None if it no longer exists."""
    row = db.execute(_AT, (run << RUN_BITS | number,)).fetchone()
    return Block(*row) if row else None


def drop_runs(db: sqlite3.Connection, runs: Iterable[int]) -> None:
    """Delete runs with their blocks, look-ups and months."""
    for run in runs:
        for table in RUN_TABLES:
            db.execute(f"DELETE FROM {table} WHERE run = ?", (run,))


def drop_merged(db: sqlite3.Connection) -> None:
    """Delete the hidden runs of merges; a merge in progress starts over."""
    runs = db.execute("SELECT run FROM runs WHERE NOT shown AND sources = ?", (MERGED,))
    drop_runs(db, [run for (run,) in runs.fetchall()])


def drop_unfinished(db: sqlite3.Connection, *, merging: bool) -> None:
    """Delete the runs and file names that an interrupted writer left behind.

    Runs of merges stay if a process is `merging`.
    """
    hidden = dict(db.execute("SELECT run, sources FROM runs WHERE NOT shown").fetchall())
    loaded = {run: known for run, known in hidden.items() if known != MERGED}
    if runs := loaded if merging else hidden:
        with transaction(db):
            drop_runs(db, runs)
            if loaded:
                db.execute("DELETE FROM sources WHERE code > ?", (min(loaded.values()),))

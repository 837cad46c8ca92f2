"""Captures of blocks as records: of a span, of a digest, at a place."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

from nwx.captures import VALUE_FIELDS, capture_of_values
from nwx.engine.embedded.captures.block_parts import BlockPart
from nwx.engine.embedded.captures.blocks import NUMBER_FIELDS, BlockColumns, Position
from nwx.engine.embedded.captures.lookups import (
    DIGESTS,
    PLACES,
    digest_key,
    found_ranks,
    place_key,
    rank_moment,
    rank_parts,
)
from nwx.engine.embedded.captures.runs import block_numbered, captures_between, shown_runs
from nwx.model import Capture

_BLOCKS_KEPT = 16


def captures_of_columns(piece: BlockColumns) -> Iterator[Capture]:
    """Yield the captures of a piece, which has all VALUE_FIELDS."""
    columns = [values_of_column(piece, name) for name in VALUE_FIELDS]
    return map(capture_of_values, zip(*columns, strict=True))


def values_of_column(piece: BlockColumns, name: str) -> Sequence[Any]:
    """Return a column with numbers as such."""
    values = piece[name]
    return [int(one) if one else None for one in values] if name in NUMBER_FIELDS else values


def stored_captures(
    db: sqlite3.Connection, first: Position, last: Position, *, newest_first: bool = False
) -> Iterator[Capture]:
    """Stream the captures from one position up to, but without, another."""
    pieces = captures_between(db, first, last, VALUE_FIELDS, newest_first=newest_first)
    return (capture for piece in pieces for capture in captures_of_columns(piece))


def captures_with_digest(db: sqlite3.Connection, digest: str, urlkey: str) -> Iterator[Capture]:
    """Stream captures, as `CaptureIndex.captures_of_digest` does."""
    found = _of_url(db, digest, urlkey) if urlkey else _of_any_url(db, digest)
    for _, some in groupby(found, key=lambda capture: rank_moment(capture.timestamp)):
        # Those of the same moment, which is also that of very odd timestamps.
        held = sorted(some, key=itemgetter(*_LAST_FIRST))
        yield from sorted(held, key=lambda capture: capture.timestamp, reverse=True)


_LAST_FIRST = tuple(
    Capture._fields.index(name) for name in ("source_file", "source_file_offset", "collection")
)


def _of_url(db: sqlite3.Connection, digest: str, urlkey: str) -> Iterator[Capture]:
    pieces = captures_between(
        db,
        (urlkey, ""),
        (f"{urlkey}\0", ""),
        VALUE_FIELDS,
        newest_first=True,
        choose=lambda piece: _holding(piece, digest),
    )
    return (capture for piece in pieces for capture in captures_of_columns(piece))


def _of_any_url(db: sqlite3.Connection, digest: str) -> Iterator[Capture]:
    @lru_cache(_BLOCKS_KEPT)
    def held(run: int, number: int) -> Sequence[Capture]:
        block = block_numbered(db, run, number)
        if block is None:
            return ()
        piece = BlockPart(db, block)
        some = piece.chosen(_holding(piece, digest), VALUE_FIELDS)
        return list(captures_of_columns(some)) if some else ()

    def ranks(run: int) -> Iterator[tuple[int, int, int]]:
        for rank in found_ranks(db, run, DIGESTS, digest_key(digest)):
            yield *rank_parts(rank)[:1], run, rank_parts(rank)[1]

    for at, run, number in merge(*map(ranks, shown_runs(db))):
        yield from (one for one in held(run, number) if rank_moment(one.timestamp) == at)


def _holding(piece: BlockColumns, digest: str) -> list[bool]:
    pairs = zip(piece["digest"], piece["record_type"], strict=True)
    return [one == digest and type != "revisit" for one, type in pairs]


def capture_at(db: sqlite3.Connection, source: int, offset: int) -> Capture | None:
    """Return the capture of a file and an offset."""
    for run in shown_runs(db):
        for number in found_ranks(db, run, PLACES, place_key(source, offset)):
            if block := block_numbered(db, run, number):
                piece, place = BlockPart(db, block), (str(source), str(offset))
                pairs = zip(piece["source"], piece["source_file_offset"], strict=True)
                which = [pair == place for pair in pairs]
                if some := piece.chosen(which, VALUE_FIELDS):
                    return next(captures_of_columns(some))
    return None


def source_codes(db: sqlite3.Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the codes of those files (`collection/name`) that are known."""
    command = "SELECT code FROM sources WHERE collection = ? AND name = ?"
    rows = {
        full: db.execute(command, (collection, name)).fetchone()
        for full in names
        for collection, _, name in [full.partition("/")]
    }
    return {full: row[0] for full, row in rows.items() if row}

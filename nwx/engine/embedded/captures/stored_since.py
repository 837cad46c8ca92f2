"""The captures of an archive in the order of storing: batch by batch, each batch in CDX order.

A mark is the number of a batch, whose captures and all before are done. Between captures it is
`A-B@PLACE`: of the batches behind A up to B, those up to PLACE in CDX order are done, too.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nwx.captures import VALUE_FIELDS
from nwx.engine.embedded.captures.blocks import BlockColumns
from nwx.engine.embedded.captures.capture_lookups import captures_of_columns
from nwx.engine.embedded.captures.runs import (
    START,
    CdxPlace,
    captures_behind,
    place_of_text,
    places_of,
    text_of_place,
)
from nwx.engine.embedded.database import CAPTURE_NUMBERS, count_rows
from nwx.errors import StaleMarkError
from nwx.model import Capture

_MARK = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18})@(\[.*\]))?", re.S)


class _Mark(NamedTuple):
    done: int
    until: int
    place: CdxPlace = START


def last_batch(db: sqlite3.Connection) -> int:
    """Return the number of the last batch."""
    return count_rows(db, CAPTURE_NUMBERS)


def stored_since(
    db: sqlite3.Connection, mark: str, until: str, collection: str
) -> Iterator[tuple[Capture, str]]:
    """Stream captures, as `CaptureIndex.captures_since` does."""
    end = last_batch(db)
    last = _read(until, end).done if until else end
    begun = _read(mark or "0", end)
    if begun.place != START:
        yield from _within(db, begun._replace(until=min(begun.until, last)), collection)
    yield from _within(db, _Mark(begun.until, last), collection)


def _read(mark: str, end: int) -> _Mark:
    found = _MARK.fullmatch(mark)
    try:
        done, until, place = found.groups() if found else ("", "", "")
        known = _Mark(int(done), int(until or done), place_of_text(place) if place else START)
    except (ValueError, TypeError):
        known = _Mark(end + 1, end + 1)
    if known.until > end:
        raise StaleMarkError(
            f"the captures of the archive have no mark {mark[:40]!r}; begin from the first one"
        )
    return known


def _within(db: sqlite3.Connection, mark: _Mark, collection: str) -> Iterator[tuple[Capture, str]]:
    """Stream the captures of some batches behind a place, in CDX order."""
    found = db.execute(
        "SELECT run FROM runs WHERE shown AND last_batch > ? AND first_batch <= ?", mark[:2]
    )
    runs = [run for (run,) in found]
    if not runs:
        return

    def wanted(piece: BlockColumns) -> Sequence[bool]:
        batches = map(int, piece["batch"])
        pairs = zip(batches, piece["collection"], strict=True)
        return [
            mark.done < batch <= mark.until and (not collection or name == collection)
            for batch, name in pairs
        ]

    for piece in captures_behind(
        db,
        mark.place,
        (*VALUE_FIELDS, "batch"),
        choose=wanted,
        runs=runs,
        behind_batch=mark.done,
    ):
        for capture, place in zip(captures_of_columns(piece), places_of(piece), strict=True):
            yield capture, f"{mark.done}-{mark.until}@{text_of_place(place)}"

"""Look-ups of the captures of many URLs: one by one, or all in one pass over the blocks."""

import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from nwx.captures import VALUE_FIELDS, capture_of_values
from nwx.engine.capture_index import KeysAtTime, lowest_statuses, nearest_captures
from nwx.engine.embedded.captures.blocks import NUMBER_FIELDS, BlockColumns, Position
from nwx.engine.embedded.captures.runs import captures_between, parts_of_url, shown_runs
from nwx.model import Capture


def captures_of_columns(piece: BlockColumns) -> Iterator[Capture]:
    """Yield the captures of a piece that has all VALUE_FIELDS."""
    columns = [values_of_column(piece, name) for name in VALUE_FIELDS]
    return map(capture_of_values, zip(*columns, strict=True))


def values_of_column(piece: BlockColumns, name: str) -> Sequence[Any]:
    """Return a column, NUMBER_FIELDS converted to numbers or None."""
    values = piece[name]
    return [int(one) if one else None for one in values] if name in NUMBER_FIELDS else values


def stored_captures(
    db: sqlite3.Connection, first: Position, last: Position, **options: Any
) -> Iterator[Capture]:
    """Yield the captures from one position up to, excluding, another."""
    return _captures(captures_between(db, first, last, VALUE_FIELDS, **options))


def _captures(pieces: Iterable[BlockColumns]) -> Iterator[Capture]:
    return chain.from_iterable(map(captures_of_columns, pieces))


def url_statuses(
    db: sqlite3.Connection, urlkeys: Sequence[str], hides: Callable[[Capture], bool] | None = None
) -> dict[str, int]:
    """Return the lowest status per urlkey, as `CaptureIndex.statuses` does."""
    if hides is None:
        return lowest_statuses(_statuses(db, urlkeys))
    pieces = _scanned(db, urlkeys)
    if pieces is None:
        spans = (((key, ""), (f"{key}\0", "")) for key in urlkeys)
        pieces = (one for span in spans for one in captures_between(db, *span, VALUE_FIELDS))
    found = _captures(pieces)
    return lowest_statuses((one.urlkey, one.status_code) for one in found if not hides(one))


def url_captures_near(
    db: sqlite3.Connection, asked: Sequence[KeysAtTime], most: int
) -> list[list[Capture]]:
    """Return the nearest captures for each question, as `CaptureIndex.captures_near` does."""
    pieces = _scanned(db, [key for one in asked for key in one.urlkeys], most=_HELD)
    if pieces is None:
        return [_near_captures(db, one, most) for one in asked]
    found = defaultdict[str, list[Capture]](list)
    for capture in _captures(pieces):
        found[capture.urlkey].append(capture)
    held = [chain.from_iterable(found[key] for key in one.urlkeys) for one in asked]
    return [
        nearest_captures(some, one.timestamp, most) for some, one in zip(held, asked, strict=True)
    ]


def _near_captures(db: sqlite3.Connection, asked: KeysAtTime, most: int) -> list[Capture]:
    """Return captures, as `Engine.captures_near` does."""
    found: list[Capture] = []
    for urlkey in asked.urlkeys:
        parts = parts_of_url(db, urlkey)  # by blocks kept in memory
        if parts == {}:
            continue
        middle, runs = (urlkey, asked.timestamp), parts and list(parts)
        behind = stored_captures(db, middle, (f"{urlkey}\0", ""), runs=runs)
        before = stored_captures(db, (urlkey, ""), middle, newest_first=True, runs=runs)
        found += chain(islice(behind, most), islice(before, most))
    return nearest_captures(found, asked.timestamp, most)


def _lowest_status(db: sqlite3.Connection, urlkey: str) -> int | None:
    parts = parts_of_url(db, urlkey)
    if parts is None:
        fields = ("urlkey", "status_code")
        pieces = captures_between(db, (urlkey, ""), (f"{urlkey}\0", ""), fields)
    else:
        pieces = chain.from_iterable(parts.values())
    found = (zip(piece["urlkey"], piece["status_code"], strict=True) for piece in pieces)
    codes = (int(status or 0) for some in found for key, status in some if key == urlkey)
    return min(codes, default=None)


_PER_LOOKUP = 200
"""The captures that a scan reads in the time of one look-up."""

_HELD = 200_000
"""The most captures of an archive whose scan may hold them all in memory."""


def _scanned(
    db: sqlite3.Connection,
    urlkeys: Sequence[str],
    fields: Sequence[str] = VALUE_FIELDS,
    most: float = math.inf,
) -> Iterator[BlockColumns] | None:
    """Return the captures of urlkeys, in no order, None if look-ups are faster than one pass."""
    (captures,) = db.execute("SELECT total(captures) FROM runs WHERE shown").fetchone()
    if captures > min(_PER_LOOKUP * len(urlkeys), most):
        return None
    keys = set(urlkeys)
    span = (min(keys, default=""), ""), (f"{max(keys, default='')}\0", "")
    return chain.from_iterable(
        captures_between(
            db,
            *span,
            fields,
            choose=lambda piece: [key in keys for key in piece["urlkey"]],
            runs=[run],
        )
        for run in shown_runs(db)
    )


def _statuses(db: sqlite3.Connection, urlkeys: Sequence[str]) -> Iterator[tuple[str, int | None]]:
    """Yield the urlkey and status of captures, of some urlkeys only the lowest."""
    pieces = _scanned(db, urlkeys, ("urlkey", "status_code"))
    for piece in pieces or ():
        yield from zip(piece["urlkey"], values_of_column(piece, "status_code"), strict=True)
    for urlkey in urlkeys if pieces is None else ():
        if (status := _lowest_status(db, urlkey)) is not None:
            yield urlkey, status

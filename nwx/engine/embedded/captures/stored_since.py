"""Captures in the order in which they were stored; a mark is the number of one."""

import sqlite3
from collections.abc import Iterator

from nwx.capture_values import capture_of_values
from nwx.engine.embedded.captures.numbers import last_capture_number
from nwx.engine.embedded.reader import SELECT_CAPTURES
from nwx.errors import StaleMarkError
from nwx.model import Capture

_NUMBERED = SELECT_CAPTURES.replace("SELECT ", "SELECT num, ", 1)


def capture_mark(db: sqlite3.Connection) -> str:
    """Return the mark behind all captures."""
    return str(last_capture_number(db))


def captures_since(
    db: sqlite3.Connection, mark: str, until: str, collection: str
) -> Iterator[tuple[Capture, str]]:
    """Stream captures, as `CaptureIndex.captures_since` does."""
    end = last_capture_number(db)
    first, last = _number(mark or "0", end), _number(until or str(end), end)
    where = "num > ? AND num <= ?" + (" AND collection = ?" if collection else "")
    values = (first, last, *([collection] if collection else []))
    # CROSS JOIN keeps the order of numbers, so that nothing is sorted first.
    select = _NUMBERED.replace(" JOIN ", " CROSS JOIN ")
    for num, *row in db.execute(f"{select} WHERE {where} ORDER BY num", values):
        yield capture_of_values(tuple(row)), str(num)


def _number(mark: str, end: int) -> int:
    if not (mark.isascii() and mark.isdigit()) or int(mark) > end:
        raise StaleMarkError(
            f"the captures of the archive have no mark {mark[:40]!r}; begin from the first one"
        )
    return int(mark)

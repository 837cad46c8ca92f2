"""The numbers of captures, which grow in the order of their storing and are never given twice."""

import sqlite3

from nwx.engine.embedded.database import CAPTURE_NUMBERS, count_rows


def last_capture_number(db: sqlite3.Connection) -> int:
    """Return the highest number that any capture has had, 0 before the first."""
    (highest,) = db.execute("SELECT coalesce(max(num), 0) FROM captures").fetchone()
    return max(int(highest), count_rows(db, CAPTURE_NUMBERS))


def note_capture_numbers(db: sqlite3.Connection) -> None:
    """Keep the highest number, before captures are deleted."""
    values = (last_capture_number(db), CAPTURE_NUMBERS)
    db.execute("UPDATE counters SET value = ? WHERE name = ?", values)

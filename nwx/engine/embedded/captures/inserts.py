"""Captures inserted into their table, except for existing ones."""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from nwx.captures import DEFAULT_VALUES
from nwx.engine.embedded.database import CAPTURE_COLUMNS, CAPTURE_NUMBERS, count_rows


def last_capture_number(db: sqlite3.Connection) -> int:
    """Return the highest number that any capture has had, 0 before the first."""
    (highest,) = db.execute("SELECT coalesce(max(num), 0) FROM captures").fetchone()
    return max(int(highest), count_rows(db, CAPTURE_NUMBERS))


def note_capture_numbers(db: sqlite3.Connection) -> None:
    """Keep the highest number, before captures are deleted."""
    values = (last_capture_number(db), CAPTURE_NUMBERS)
    db.execute("UPDATE counters SET value = ? WHERE name = ?", values)


_TOGETHER = 32
"""So many captures are inserted by one step; SQLite before 3.32 takes 999 values."""

SourceRow = tuple[object, ...]
"""The code of a source, and the values of a capture behind those of its source."""


def insert_captures(db: sqlite3.Connection, rows: Sequence[SourceRow], length: int) -> None:
    """Insert the new ones of some rows, of `length` values each.

    Numbering continues after the numbers of deleted captures.
    """
    given = last_capture_number(db)
    (highest,) = db.execute("SELECT coalesce(max(num), 0) FROM captures").fetchone()
    if highest < given:
        rows = _without_first_new(db, rows, length, given + 1)
    whole = len(rows) - len(rows) % _TOGETHER
    values = [chain.from_iterable(rows[:whole])] * (_TOGETHER * length)
    db.executemany(_insert_command(length, _TOGETHER), zip(*values, strict=True))
    db.executemany(_insert_command(length), rows[whole:])


def _without_first_new(
    db: sqlite3.Connection, rows: Sequence[SourceRow], length: int, number: int
) -> Sequence[SourceRow]:
    """Insert the first new row under a number, and return the rows after it.

    SQLite numbers the following rows itself.
    """
    command = _insert_command(length)
    numbered = command.replace("(source", "(num, source").replace("VALUES (", "VALUES (?, ")
    for place, row in enumerate(rows):
        if db.execute(numbered, (number, *row)).rowcount:
            return rows[place + 1 :]
    return ()


@lru_cache(100)
def _insert_command(length: int, rows: int = 1) -> str:
    """Return the INSERT command for rows of `length` values; other columns get defaults."""
    left_out = CAPTURE_COLUMNS[length - 1 :]
    values = ["?"] * length + [f"'{DEFAULT_VALUES[name]}'" for name in left_out]
    columns = ", ".join(("source", *CAPTURE_COLUMNS))
    each = f"({', '.join(values)})"
    return f"INSERT OR IGNORE INTO captures ({columns}) VALUES {', '.join([each] * rows)}"

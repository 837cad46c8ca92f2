"""Sums over rows, kept while rows are written, by which `nwx check` finds changed ones."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from nwx.engine.embedded.database import SEEN_SUM, add_rows

SUM_OF_SEEN = (
    "SELECT coalesce(sum((num * 1000003 + timestamp + collection * 10007) % 2147483647), 0)"
    " FROM seen"
)
"""Adds up dates."""


@contextmanager
def seen_changing(db: sqlite3.Connection, nums: Collection[int]) -> Iterator[None]:
    """Keep the sum of all dates while those of some numbers are changed or deleted."""
    before = _sum_of_seen(db, nums)
    yield
    add_rows(db, SEEN_SUM, _sum_of_seen(db, nums) - before)


def _sum_of_seen(db: sqlite3.Connection, nums: Collection[int]) -> int:
    command = f"{SUM_OF_SEEN} WHERE num = ?"
    return sum(db.execute(command, (num,)).fetchone()[0] for num in set(nums))


@contextmanager
def seen_growing(db: sqlite3.Connection) -> Iterator[None]:
    """Add the dates that are inserted to the sum of all."""
    (last,) = db.execute("SELECT coalesce(max(rowid), 0) FROM seen").fetchone()
    yield
    (new,) = db.execute(f"{SUM_OF_SEEN} WHERE rowid > ?", (last,)).fetchone()
    add_rows(db, SEEN_SUM, new)


def add_sums(db: sqlite3.Connection) -> None:
    """Add the sum to an archive of an older version, whose dates have none."""
    db.execute(f"INSERT OR REPLACE INTO counters VALUES ('{SEEN_SUM}', ({SUM_OF_SEEN}))")

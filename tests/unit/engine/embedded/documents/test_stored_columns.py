"""Columns of the database as arrays, and their file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.embedded.database import connect, count_rows, make_tables
from nwx.engine.embedded.documents.columns import keep_columns
from nwx.engine.embedded.documents.stored_columns import (
    load_columns_file,
    read_columns,
)
from nwx.engine.embedded.registry import Registry
from nwx.engine.embedded.staged_rows import dates_rows
from nwx.model import Dates


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "archive.sqlite", read_only=False)) as made:
        make_tables(made)
        yield made


def _add(db: sqlite3.Connection, key: str, *timestamps: int) -> None:
    seen = tuple((str(timestamp), "web") for timestamp in timestamps)
    Registry(db).add_dates(dates_rows([Dates(key, seen)]))


def test_dates_are_in_the_order_of_number_and_time(db: sqlite3.Connection) -> None:
    _add(db, "a", 20120101000000)
    _add(db, "b", 20110101000000)
    before = read_columns(db, None)
    _add(db, "a", 20100101000000)
    for found in (read_columns(db, before), read_columns(db, None)):
        assert found.seen_nums.tolist() == [1, 1, 2]
        assert found.timestamps.tolist() == [20100101000000, 20120101000000, 20110101000000]
        assert found.collections.tolist() == [1, 1, 1]
        assert (found.size, found.seen) == (3, 3)


def test_a_file_spares_reading_them_anew(db: sqlite3.Connection, tmp_path: Path) -> None:
    file = tmp_path / "columns.arrays"
    _add(db, "a", 20120101000000)
    keep_columns(file, db)
    found = load_columns_file(file, db)
    assert found is not None
    assert found.timestamps.tolist() == [20120101000000]
    assert found.stamp == count_rows(db, "stamp") != 0


def test_a_file_of_another_state_or_a_damaged_one_is_of_no_use(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    file = tmp_path / "columns.arrays"
    assert load_columns_file(file, db) is None
    _add(db, "a", 20120101000000)
    keep_columns(file, db)
    db.execute("UPDATE counters SET value = 5 WHERE name = 'stamp'")
    assert load_columns_file(file, db) is None
    file.write_bytes(b"nonsense")
    assert load_columns_file(file, db) is None

"""The SQLite file of an archive."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.embedded.database import (
    add_missing,
    add_rows,
    attached,
    connect,
    count_rows,
    make_attached,
    make_dates_tables,
    make_tables,
)
from nwx.model import IndexName


def test_counters_begin_with_nothing_and_add_up(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "a.sqlite", read_only=False)) as db:
        make_tables(db)
        add_rows(db, IndexName.CAPTURES, 5)
        add_rows(db, IndexName.CAPTURES, -2)
        make_tables(db)
        assert count_rows(db, IndexName.CAPTURES) == 3
        assert count_rows(db, IndexName.DOCUMENTS) == 0
        assert count_rows(db, "unknown") == 0


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(connect(path, read_only=False)) as db:
        make_tables(db)
    with closing(connect(path, read_only=True)) as db, pytest.raises(sqlite3.OperationalError):
        add_rows(db, IndexName.CAPTURES, 1)


def test_counters_that_an_older_archive_lacks_are_added(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "a.sqlite", read_only=False)) as db:
        make_tables(db)
        db.execute("DELETE FROM counters WHERE name = 'unindexed'")
        add_missing(db)
        assert db.execute("SELECT value FROM counters WHERE name = 'unindexed'").fetchone() == (0,)


def test_dates_can_have_a_file_of_their_own(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "dates.sqlite", read_only=False)) as db:
        make_dates_tables(db)
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        assert {"ids", "dates", "seen", "collections", "counters"} <= tables
        assert "captures" not in tables


def test_attached_indices_come_by_name(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "a.sqlite", read_only=False)) as db:
        assert attached(db) == {}
        make_attached(db)
        db.execute("INSERT INTO attached VALUES ('b', ''), ('a', '/x')")
        assert list(attached(db).items()) == [("a", "/x"), ("b", "")]

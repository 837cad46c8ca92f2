"""The SQLite file of an archive."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.captures import values_of
from nwx.engine.embedded.database import (
    LOOKUP_TABLES,
    add_missing,
    add_rows,
    attached,
    connect,
    count_rows,
    delete_lookups,
    fill_lookup_tables,
    make_attached,
    make_dates_tables,
    make_lookup_tables,
    make_tables,
    show_lookups,
)
from nwx.engine.embedded.registry import Registry
from nwx.model import IndexName
from tests.unit.engine.embedded.making import page


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


def test_columns_that_an_older_archive_lacks_are_shown_and_then_added(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(connect(path, read_only=False)) as db:
        make_tables(db)
        db.execute("ALTER TABLE captures DROP COLUMN via")
        db.execute("DELETE FROM counters WHERE name = 'unindexed'")
    with closing(connect(path, read_only=True)) as db:
        assert db.execute("SELECT via FROM captures").fetchall() == []
    with closing(connect(path, read_only=False)) as db:
        add_missing(db)
        names = {name for _, name, *_ in db.execute("PRAGMA table_info(captures)")}
        assert "via" in names
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


FIRST = page(1).capture
REVISIT = replace(FIRST, source_file_offset=9, record_type="revisit", timestamp="20110101000000")
REQUEST = replace(FIRST, source_file_offset=8, content_type="application/warc-fields", digest="")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "a.sqlite", read_only=False)) as made:
        make_tables(made)
        Registry(made).add_unlisted(values_of([FIRST, REVISIT, REQUEST]))
        yield made


def held(db: sqlite3.Connection) -> list[list[tuple[object, ...]]]:
    return [db.execute(f"SELECT * FROM {name}").fetchall() for name in LOOKUP_TABLES]


def test_a_line_has_its_texts_and_a_mark_where_it_may_be_no_capture(
    db: sqlite3.Connection,
) -> None:
    fill_lookup_tables(db, 0)
    lines, digests = held(db)
    key, url, bare = FIRST.urlkey, FIRST.url, FIRST.digest.removeprefix("sha1:")
    assert lines == [
        (key, "20100101000000", 1, f"{url} text/html 200 {bare}", "-", "1000", "1000", 1),
        (
            *(key, "20100101000000", 3),
            f"{url} application/warc-fields 200 -\x1f",
            *("-", "1000", "8", 1),
        ),
        (key, "20110101000000", 2, f"{url} warc/revisit 200 {bare}", "-", "1000", "9", 1),
    ]
    assert digests == [("", 20100101000000, 3), (bare[-9:], 20100101000000, 1)]


def test_only_captures_behind_a_number_are_added(db: sqlite3.Connection) -> None:
    fill_lookup_tables(db, 2)
    assert [row[2] for row in held(db)[0]] == [3]
    fill_lookup_tables(db, 3)
    assert [row[2] for row in held(db)[0]] == [3]


def test_captures_that_are_deleted_leave_both(db: sqlite3.Connection) -> None:
    fill_lookup_tables(db, 0)
    delete_lookups(db, [(1,), (2,), (3,), (4,)])
    assert held(db) == [[], []]


def test_an_older_archive_shows_the_same_before_and_after_they_are_made(
    db: sqlite3.Connection,
) -> None:
    fill_lookup_tables(db, 0)
    wanted = list(map(sorted, held(db)))
    for name in LOOKUP_TABLES:
        db.execute(f"DROP TABLE {name}")
    show_lookups(db)
    assert list(map(sorted, held(db))) == wanted
    for name in LOOKUP_TABLES:
        db.execute(f"DROP VIEW temp.{name}")
    make_lookup_tables(db)
    make_lookup_tables(db)
    show_lookups(db)
    assert list(map(sorted, held(db))) == wanted

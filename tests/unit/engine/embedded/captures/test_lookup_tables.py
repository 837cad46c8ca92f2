"""The tables that captures are looked up in hold what the table of captures holds."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.capture_values import values_of
from nwx.engine.embedded.captures.lookup_tables import (
    LOOKUP_TABLES,
    delete_lookups,
    fill_lookup_tables,
    make_lookup_tables,
    show_lookups,
)
from nwx.engine.embedded.database import connect, make_tables
from nwx.engine.embedded.registry import Registry
from tests.unit.engine.embedded.making import page

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

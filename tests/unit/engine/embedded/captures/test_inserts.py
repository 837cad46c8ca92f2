"""Captures are inserted once, together or one by one, under numbers that none has had."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.captures import values_of
from nwx.engine.embedded.captures.inserts import insert_captures, note_capture_numbers
from nwx.engine.embedded.database import connect, make_tables
from tests.unit.engine.embedded.making import page

MANY = 100


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "a.sqlite", read_only=False)) as made:
        make_tables(made)
        yield made


def rows_of(places: range) -> list[tuple[object, ...]]:
    found = values_of([replace(page(1).capture, source_file_offset=one) for one in places])
    return [(1, *row[2:]) for row in found]


def insert(db: sqlite3.Connection, places: range) -> None:
    rows = rows_of(places)
    insert_captures(db, rows, len(rows[0]))


def held(db: sqlite3.Connection) -> list[tuple[int, int]]:
    return db.execute("SELECT num, source_file_offset FROM captures ORDER BY num").fetchall()


@pytest.mark.parametrize("number", [1, 31, 32, 33, MANY])
def test_all_are_inserted_in_their_order(db: sqlite3.Connection, number: int) -> None:
    insert(db, range(number))
    assert held(db) == [(place + 1, place) for place in range(number)]


def test_those_that_are_there_are_left_out(db: sqlite3.Connection) -> None:
    insert(db, range(0, MANY, 2))
    insert(db, range(MANY))
    assert sorted(place for _, place in held(db)) == list(range(MANY))


def test_values_that_are_left_out_are_as_by_default(db: sqlite3.Connection) -> None:
    rows = [row[:16] for row in rows_of(range(40))]
    insert_captures(db, rows, 16)
    assert db.execute("SELECT DISTINCT method, via FROM captures").fetchall() == [("GET", "")]


def test_numbers_of_deleted_captures_are_not_given_again(db: sqlite3.Connection) -> None:
    insert(db, range(MANY))
    note_capture_numbers(db)
    db.execute("DELETE FROM captures WHERE num > 50")
    insert(db, range(MANY))
    assert [num for num, _ in held(db)] == [*range(1, 51), *range(101, 151)]

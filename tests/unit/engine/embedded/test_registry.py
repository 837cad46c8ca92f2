"""Documents, dates and captures in SQLite."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.captures import values_of
from nwx.engine.embedded.captures.blocks import BEGINNING, END
from nwx.engine.embedded.captures.url_lookups import stored_captures
from nwx.engine.embedded.database import connect, count_rows, make_tables
from nwx.engine.embedded.registry import Registry, find_documents, find_nums, id_bytes
from nwx.engine.embedded.staged_rows import capture_rows, dates_rows, document_row
from nwx.engine.entries import document_entry
from nwx.keys import capture_id, document_key
from nwx.model import Dates, IndexName
from tests.unit.engine.embedded.making import page

KEY = document_key("http://example.org/1", "sha1:x")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "archive.sqlite", read_only=False)) as made:
        make_tables(made)
        yield made


def test_ids_keep_their_numbers(db: sqlite3.Connection) -> None:
    assert Registry(db).nums([b"b", b"a", b"b"]) == {b"b": 1, b"a": 2}
    assert Registry(db).nums([b"c", b"a"]) == {b"a": 2, b"c": 3}
    assert find_nums(db, [b"a", b"none"]) == {b"a": 2}


def test_new_dates_are_counted_once(db: sqlite3.Connection) -> None:
    registry = Registry(db)
    first, second = ("20100101000000", "web"), ("20100101000000", "other")
    assert registry.add_dates(dates_rows([Dates(KEY, (first, second)), Dates(KEY, (first,))])) == 2
    assert registry.add_dates(dates_rows([Dates(KEY, (second,))])) == 0
    assert count_rows(db, IndexName.DATES) == 1


def test_captures_are_added_once_and_deleted_by_their_place(db: sqlite3.Connection) -> None:
    registry, held = Registry(db), page(1).capture
    assert registry.add_captures(capture_rows([held, page(2).capture])) == 2
    assert registry.add_captures(capture_rows([held])) == 0
    id = capture_id("web", "a.warc", 1000)
    assert registry.delete(IndexName.CAPTURES, [id, "web/a.warc@5", "nonsense"]) == 1
    assert registry.delete(IndexName.CAPTURES, [id]) == 0
    assert count_rows(db, IndexName.CAPTURES) == 1
    assert count_rows(db, "deletions") == 1


def test_documents_have_a_number_and_a_precedence_until_they_are_forgotten(
    db: sqlite3.Connection,
) -> None:
    registry, row = Registry(db), document_row(document_entry(page(1)))
    num = registry.nums([row.id])[row.id]
    assert registry.documents([row.id]) == {}
    stored = registry.add_documents([row])
    assert (stored.new, stored.changed, stored.indexed) == (1, 0, [(num, row)])
    assert find_documents(db, [row.id]) == {row.id: (num, row.precedence)}
    assert registry.forget([num]) == 1
    assert registry.documents([row.id]) == {}
    assert count_rows(db, IndexName.DOCUMENTS) == 0


def test_what_is_no_id_is_never_found() -> None:
    assert id_bytes("00ff") == b"\x00\xff"
    assert id_bytes("no id") == b""


def test_values_that_are_left_out_are_as_by_default(db: sqlite3.Connection) -> None:
    held = replace(page(1).capture, hops="L")
    rows = [row[:17] for row in values_of([page(2).capture, page(3).capture])]
    assert Registry(db).add_rows([*rows, *values_of([held])]) == 3
    found = stored_captures(db, BEGINNING, END)
    assert [(one.redirect_to, one.method, one.hops, one.via) for one in found] == [
        ("", "GET", "L", ""),
        *[("", "GET", "", "")] * 2,
    ]

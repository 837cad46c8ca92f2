"""Captures as rows of a CDX, written as such by SQLite."""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice

from nwx.cdx.rows import CdxRow
from nwx.engine.embedded.captures.lookup_tables import MIME, STATUS
from nwx.engine.embedded.reader import IN_ORDER
from nwx.engine.spans import CdxSpan

FIRST_ROWS = 256

ROW_COLUMNS = (
    "urlkey",
    "timestamp",
    "url",
    MIME,
    STATUS,
    "coalesce(nullif(digest, ''), '-')",
    "redirect",
    "'-'",
    "length",
    "place",
    "name",
)
"""The fields of a `CdxRow` before its collection, as SQLite makes them."""

_ROW = f"""
SELECT {", ".join(ROW_COLUMNS)}, collection,
    CASE method WHEN 'GET' THEN '' ELSE json_object('method', method) END
"""
_FROM = f" {IN_ORDER} WHERE "
_INDEX_ORDER = "urlkey {0}, timestamp {0}"
_ORDER = "urlkey {0}, timestamp {0}, name {0}, source_file_offset {0}, collection {0}"


def first_rows(db: sqlite3.Connection, span: CdxSpan) -> list[CdxRow]:
    """Return the first rows of a span, FIRST_ROWS at most."""
    condition, values = where(span)
    # By the index alone, which saves SQLite from sorting what nearly never has to be.
    order = _INDEX_ORDER.format("DESC" if span.newest_first else "ASC")
    found = db.execute(f"{_ROW}{_FROM}{condition} ORDER BY {order} LIMIT {FIRST_ROWS}", values)
    rows = list(map(CdxRow._make, found.fetchall()))
    if len({row[:2] for row in rows}) == len(rows):
        return rows
    if len(rows) < FIRST_ROWS:
        return sorted(rows, key=_place, reverse=span.newest_first)
    return list(islice(all_rows(db, span), FIRST_ROWS))


def all_rows(db: sqlite3.Connection, span: CdxSpan) -> Iterator[CdxRow]:
    """Stream the rows of a span."""
    condition, values = where(span)
    found = db.execute(f"{_ROW}{_FROM}{condition} ORDER BY {_order(span)}", values)
    return map(CdxRow._make, found)


def rows_behind(db: sqlite3.Connection, span: CdxSpan, last: CdxRow) -> Iterator[CdxRow]:
    """Stream the rows of a span behind one of them."""
    condition, values = where(span)
    behind = "<=" if span.newest_first else ">="
    found = db.execute(
        f"{_ROW}{_FROM}{condition} AND (urlkey, timestamp) {behind} (?, ?) ORDER BY {_order(span)}",
        [*values, last.urlkey, last.timestamp],
    )
    if span.newest_first:
        return dropwhile(lambda row: _place(row) >= _place(last), map(CdxRow._make, found))
    return dropwhile(lambda row: _place(row) <= _place(last), map(CdxRow._make, found))


def marks(db: sqlite3.Connection, span: CdxSpan, every: int) -> Iterator[str]:
    """Stream the urlkey and timestamp of the first of every so many captures of a span."""
    condition, values = where(span)
    order = "ORDER BY urlkey, timestamp"
    # Without a collection or revisits to look for, the table of lines alone tells.
    narrowed = span.collection or span.revisits is not None
    table = _FROM if narrowed else " FROM cdx_lines WHERE "
    found = db.execute(
        f"SELECT urlkey || ' ' || timestamp FROM (SELECT urlkey, timestamp,"
        f" row_number() OVER ({order}) AS number{table}{condition}) WHERE number % ? = ? {order}",
        [*values, every, 1 % every],
    )
    return (mark for (mark,) in found)


def collections(db: sqlite3.Connection) -> list[str]:
    """Return the names of the collections that have had captures."""
    found = db.execute("SELECT DISTINCT collection FROM sources ORDER BY collection")
    return [name for (name,) in found]


def where(span: CdxSpan) -> tuple[str, Sequence[str]]:
    """Return the condition that selects the captures of a span, and its values."""
    first, since, last, until = span.bounds()
    conditions = ["urlkey >= ? AND urlkey < ?"]
    values = [first, last]
    if since or until:
        # The two on the urlkey alone let SQLite cut its index at both ends.
        conditions = [
            "urlkey >= ? AND urlkey <= ?",
            "(urlkey, timestamp) >= (?, ?) AND (urlkey, timestamp) < (?, ?)",
        ]
        values += [first, since, last, until]
    if span.collection:
        conditions.append("collection = ?")
        values.append(span.collection)
    if span.revisits is not None:
        conditions.append(f"record_type {'=' if span.revisits else '!='} 'revisit'")
    return " AND ".join(conditions), values


def _order(span: CdxSpan) -> str:
    return _ORDER.format("DESC" if span.newest_first else "ASC")


def _place(row: CdxRow) -> tuple[str, str, str, int, str]:
    return row.urlkey, row.timestamp, row.filename, int(row.offset), row.collection

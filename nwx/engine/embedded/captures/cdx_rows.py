"""Captures as rows of a CDX, written as such by SQLite."""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import Any

from nwx.cdx.lines import REVISIT
from nwx.cdx.rows import CdxRow
from nwx.engine.spans import CdxSpan

FIRST_ROWS = 256

_ROW = f"""
SELECT urlkey, timestamp, url,
    CASE record_type WHEN 'revisit' THEN '{REVISIT}'
        ELSE coalesce(nullif(content_type, ''), 'unk') END,
    coalesce(CAST(status_code AS TEXT), '-'), coalesce(nullif(digest, ''), '-'),
    coalesce(nullif(redirect_to, ''), '-'), '-', coalesce(CAST(record_length AS TEXT), '-'),
    CAST(source_file_offset AS TEXT), name, collection,
    CASE method WHEN 'GET' THEN '' ELSE json_object('method', method) END
"""
# CROSS JOIN: the captures come first, in the order of their index.
_FROM = " FROM captures CROSS JOIN sources ON sources.code = source WHERE "
_INDEX_ORDER = "urlkey {0}, timestamp {0}"
_ORDER = "urlkey {0}, timestamp {0}, name {0}, source_file_offset {0}, collection {0}"


def first_rows(db: sqlite3.Connection, span: CdxSpan) -> list[CdxRow]:
    """Return the first rows of a span, FIRST_ROWS at most."""
    where, values = _where(span)
    # By the index alone, which saves SQLite from sorting what nearly never has to be.
    order = _INDEX_ORDER.format("DESC" if span.newest_first else "ASC")
    found = db.execute(f"{_ROW}{_FROM}{where} ORDER BY {order} LIMIT {FIRST_ROWS}", values)
    rows = list(map(CdxRow._make, found.fetchall()))
    if len({row[:2] for row in rows}) == len(rows):
        return rows
    if len(rows) < FIRST_ROWS:
        return sorted(rows, key=_place, reverse=span.newest_first)
    found = db.execute(f"{_ROW}{_FROM}{where} ORDER BY {_order(span)} LIMIT {FIRST_ROWS}", values)
    return list(map(CdxRow._make, found.fetchall()))


def rows_behind(db: sqlite3.Connection, span: CdxSpan, last: CdxRow) -> Iterator[CdxRow]:
    """Stream the rows of a span behind one of them."""
    where, values = _where(span)
    behind = "<=" if span.newest_first else ">="
    found = db.execute(
        f"{_ROW}{_FROM}{where} AND (urlkey, timestamp) {behind} (?, ?) ORDER BY {_order(span)}",
        [*values, last.urlkey, last.timestamp],
    )
    if span.newest_first:
        return dropwhile(lambda row: _place(row) >= _place(last), map(CdxRow._make, found))
    return dropwhile(lambda row: _place(row) <= _place(last), map(CdxRow._make, found))


def marks(db: sqlite3.Connection, span: CdxSpan, every: int) -> Iterator[str]:
    """Stream the urlkey and timestamp of the first of every so many captures of a span."""
    where, values = _where(span)
    order = "ORDER BY urlkey, timestamp"
    # Without a collection to look for, the index alone tells.
    table = _FROM if span.collection else " FROM captures WHERE "
    found = db.execute(
        f"SELECT urlkey || ' ' || timestamp FROM (SELECT urlkey, timestamp,"
        f" row_number() OVER ({order}) AS number{table}{where}) WHERE number % ? = ? {order}",
        [*values, every, 1 % every],
    )
    return (mark for (mark,) in found)


def collections(db: sqlite3.Connection) -> list[str]:
    """Return the names of the collections that have had captures."""
    found = db.execute("SELECT DISTINCT collection FROM sources ORDER BY collection")
    return [name for (name,) in found]


def _where(span: CdxSpan) -> tuple[str, Sequence[Any]]:
    first, since, last, until = span.bounds()
    # The two on the urlkey alone let SQLite cut its index at both ends.
    conditions = [
        "urlkey >= ? AND urlkey <= ?",
        "(urlkey, timestamp) >= (?, ?) AND (urlkey, timestamp) < (?, ?)",
    ]
    values: list[Any] = [first, last, first, since, last, until]
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

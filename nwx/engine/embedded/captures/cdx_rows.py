"""Captures as rows and lines of a CDX, put together by SQLite."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from itertools import dropwhile, islice
from operator import itemgetter

from nwx.cdx.layouts import DIGEST
from nwx.cdx.layouts import FILENAME as _FILENAME
from nwx.cdx.rows import CdxRow
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan
from nwx.engine.embedded.database import BARE_DIGEST, MARK, MIME, STATUS
from nwx.engine.embedded.reader import IN_ORDER

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
    """Stream the rows of a span after one of its rows."""
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
    """Stream the urlkey and timestamp of the first of every `every` captures of a span."""
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


_FIRST_LINES = 256
_AT_ONCE = 2_048
_KEY = (0, 1)
_HEAD = (2, 3, 4, 5)
"""The places of the fields that `cdx_lines` has as one text, where digests are bare."""
_HELD = (0, 1, 6, 7, 8, 9, 10)
"""The places of the others that it has."""
_LINES = "FROM cdx_lines"
# CROSS JOIN: the lines come first, in their order.
_LINES_OF_FILES = "FROM cdx_lines CROSS JOIN sources ON code = file"

_Line = tuple[str, ...]
"""The urlkey and timestamp of a capture, and more texts.

With these two in front, all texts with blanks between them are its line;
otherwise the third is.
"""

Connected = Callable[[], AbstractContextManager[sqlite3.Connection]]


def line_blocks(
    reading: Connected, streaming: Connected, span: CdxSpan, form: CdxLineForm
) -> Iterator[CdxBlock] | None:
    """Return the captures of a span as lines, with connections for short and for long reads."""
    return None if span.newest_first else _blocks(reading, streaming, span, form)


def _blocks(
    reading: Connected, streaming: Connected, span: CdxSpan, form: CdxLineForm
) -> Iterator[CdxBlock]:
    with reading() as db:
        first = _first_lines(db, span, form)
        if len(first) < _FIRST_LINES:
            blocks = list(_as_blocks(db, first, span, form)) if first else []
    if len(first) < _FIRST_LINES:
        yield from blocks
        return
    with streaming() as db:
        for lines in _line_groups(db, span, form):
            yield from _as_blocks(db, lines, span, form)


def _as_blocks(
    db: sqlite3.Connection, lines: list[_Line], span: CdxSpan, form: CdxLineForm
) -> Iterator[CdxBlock]:
    """Stream lines as one text, or as rows where these are not plain."""
    if text := _plain_text(lines, form):
        yield CdxBlock(text, len(lines))
        return
    (first, since, *_), (last, until, *_) = lines[0], lines[-1]
    # Behind `!` come no more timestamps of the same beginning.
    part = replace(span, start=f"{first} {since}", end=f"{last} {until}!")
    rows = all_rows(db, part)
    while some := tuple(islice(rows, FIRST_ROWS)):
        yield CdxBlock(rows=some)


def _first_lines(db: sqlite3.Connection, span: CdxSpan, form: CdxLineForm) -> list[_Line]:
    """Return the first lines of a span, _FIRST_LINES at most."""
    question, values = _question(span, form)
    found: list[_Line] = db.execute(f"{question} LIMIT {_FIRST_LINES}", values).fetchall()
    return found


def _line_groups(db: sqlite3.Connection, span: CdxSpan, form: CdxLineForm) -> Iterator[list[_Line]]:
    """Stream the lines of a span by the thousand, never splitting a urlkey and timestamp."""
    if _is_only(db, span.collection):
        span = replace(span, collection="")
    found = db.execute(*_question(span, form))
    rest: list[_Line] = []
    while lines := found.fetchmany(_AT_ONCE):
        lines = rest + lines
        last = lines[-1][:2]
        end = len(lines) - 1
        while end and lines[end - 1][:2] == last:
            end -= 1
        if end:
            yield lines[:end]
        rest = lines[end:]
    if rest:
        yield rest


def _plain_text(lines: list[_Line], form: CdxLineForm) -> str:
    """Return lines as one text, "" where they are not plain."""
    if len(set(map(itemgetter(0, 1), lines))) < len(lines):
        return ""
    texts = map(" ".join, lines) if _is_in_parts(form) else map(itemgetter(2), lines)
    text = "\n".join(texts) + "\n"
    blanks = (len(form.places) - 1) * len(lines)
    if text.count(" ") != blanks or text.count("\n") != len(lines):
        return ""
    return text if text.replace("\n", " ").isprintable() else ""


def _question(span: CdxSpan, form: CdxLineForm) -> tuple[str, Sequence[str]]:
    """Return the SQL that gives the lines of a span, and its values."""
    condition, values = where(span)
    held = _held_texts(form) if span.revisits is None else None
    if held is None:
        table = IN_ORDER
    else:
        table = _LINES_OF_FILES if span.collection or _FILENAME in form.places else _LINES
    chosen = _select(form, held or _texts(form))
    return f"{chosen} {table} WHERE {condition} ORDER BY urlkey, timestamp", values


def _is_in_parts(form: CdxLineForm) -> bool:
    return form.places[:2] == _KEY and len(form.places) > len(_KEY)


def _select(form: CdxLineForm, texts: tuple[str, ...]) -> str:
    if _is_in_parts(form):
        return f"SELECT {', '.join(texts)}"
    line = " || ' ' || ".join(texts)
    return f"SELECT urlkey, timestamp, {line}"


@lru_cache(100)
def _held_texts(form: CdxLineForm) -> tuple[str, ...] | None:
    """Return the columns of `cdx_lines` that make a line, None where it lacks some."""
    begin = form.places.index(_HEAD[0]) if _HEAD[0] in form.places else 0
    end = begin + len(_HEAD)
    others = form.places[:begin] + form.places[end:]
    if not form.bare_digests or form.places[begin:end] != _HEAD or not set(others) <= set(_HELD):
        return None
    texts = [ROW_COLUMNS[place] for place in others]
    texts.insert(begin, "head")
    return tuple(texts)


@lru_cache(100)
def _texts(form: CdxLineForm) -> tuple[str, ...]:
    """Return the SQL expressions that make a line from the columns of a capture."""
    texts = [
        BARE_DIGEST if place == DIGEST and form.bare_digests else ROW_COLUMNS[place]
        for place in form.places
    ]
    # Behind the last, as blocks are cut by the first two.
    return (*texts[:-1], f"{texts[-1]} || {MARK}")


def _is_only(db: sqlite3.Connection, collection: str) -> bool:
    """Return whether all captures are in one collection."""
    first, last = db.execute(
        "SELECT (SELECT min(collection) FROM sources), (SELECT max(collection) FROM sources)"
    ).fetchone()
    return bool(first == last == collection)

"""Captures as lines of a CDX, put together by SQLite for all of a block at once.

Blocks that are not plain come as rows: where several captures have one
urlkey and timestamp, whose order is not that of the index, where a value
would break its line, and where a record may be no capture.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from nwx.cdx.field_names import DIGEST
from nwx.cdx.field_names import FILENAME as _FILENAME
from nwx.engine.embedded.captures.cdx_rows import FIRST_ROWS, ROW_COLUMNS, all_rows, where
from nwx.engine.spans import CdxBlock, CdxLineForm, CdxSpan

_FIRST_LINES = 256
_AT_ONCE = 2_048
_BARE_DIGEST = "coalesce(nullif(substr(digest, instr(digest, ':') + 1), ''), '-')"
# What may be no capture is marked, so that its block is not plain.
_MARK = (
    "CASE WHEN url GLOB 'http*' AND (record_type = 'revisit'"
    " OR (instr(content_type, 'warc') = 0 AND NOT content_type GLOB 'arc/*'))"
    " THEN '' ELSE char(31) END"
)
_CAPTURES = " FROM captures WHERE "
# CROSS JOIN: the captures come first, in the order of their index.
_ALL = " FROM captures CROSS JOIN sources ON sources.code = source WHERE "

_KeyedLine = tuple[str, str, str]
"""The urlkey and the timestamp of a capture, and its line."""

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
    db: sqlite3.Connection, lines: list[_KeyedLine], span: CdxSpan, form: CdxLineForm
) -> Iterator[CdxBlock]:
    """Stream lines as one text, or as rows where these are not plain."""
    if text := _plain_text(lines, form):
        yield CdxBlock(text, len(lines))
        return
    (first, since, _), (last, until, _) = lines[0], lines[-1]
    # Behind `!` come no more timestamps of the same beginning.
    part = replace(span, start=f"{first} {since}", end=f"{last} {until}!")
    rows = all_rows(db, part)
    while some := tuple(islice(rows, FIRST_ROWS)):
        yield CdxBlock(rows=some)


def _first_lines(db: sqlite3.Connection, span: CdxSpan, form: CdxLineForm) -> list[_KeyedLine]:
    """Return the first lines of a span, _FIRST_LINES at most."""
    question, values = _question(span, form)
    found: list[_KeyedLine] = db.execute(f"{question} LIMIT {_FIRST_LINES}", values).fetchall()
    return found


def _line_groups(
    db: sqlite3.Connection, span: CdxSpan, form: CdxLineForm
) -> Iterator[list[_KeyedLine]]:
    """Stream the lines of a span by the thousand; all of a urlkey and timestamp come together."""
    if _is_only(db, span.collection):
        span = replace(span, collection="")
    found = db.execute(*_question(span, form))
    rest: list[_KeyedLine] = []
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


def _plain_text(lines: list[_KeyedLine], form: CdxLineForm) -> str:
    """Return lines as one text, "" where they are not plain."""
    if len({(key, timestamp) for key, timestamp, _ in lines}) < len(lines):
        return ""
    joined = "".join([line for _, _, line in lines])
    blanks = (len(form.places) - 1) * len(lines)
    if joined.count(" ") != blanks or not joined.isprintable():
        return ""
    return "\n".join([line for _, _, line in lines]) + "\n"


def _question(span: CdxSpan, form: CdxLineForm) -> tuple[str, Sequence[str]]:
    """Return the SQL that gives the lines of a span, and its values."""
    condition, values = where(span)
    table = _ALL if span.collection or _FILENAME in form.places else _CAPTURES
    return f"{_select(form)}{table}{condition} ORDER BY urlkey, timestamp", values


@lru_cache(100)
def _select(form: CdxLineForm) -> str:
    fields = [
        _BARE_DIGEST if place == DIGEST and form.bare_digests else ROW_COLUMNS[place]
        for place in form.places
    ]
    line = " || ' ' || ".join(fields)
    return f"SELECT urlkey, timestamp, {_MARK} || {line}"


def _is_only(db: sqlite3.Connection, collection: str) -> bool:
    """Return whether all captures are in one collection."""
    first, last = db.execute(
        "SELECT (SELECT min(collection) FROM sources), (SELECT max(collection) FROM sources)"
    ).fetchone()
    return bool(first == last == collection)

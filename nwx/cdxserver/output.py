"""Answers of a CDX server as bytes, streamed in pieces."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote_plus

from nwx.cdx.layouts import CDX_FIELDS, DIGEST, NO_VALUE
from nwx.cdx.rows import CdxRow, extra_fields, safe_field
from nwx.cdxserver.filters import column_of, field_values, spelled
from nwx.cdxserver.query_model import CdxQuery, Dialect, OutputForm, Resume, RowOrder
from nwx.cdxserver.selection import SelectedRows, narrowed
from nwx.cdxserver.sources import RowSource
from nwx.engine.capture_index import CdxBlock, CdxLineForm
from nwx.values.digests import DigestForm

_ROWS_AT_ONCE = 256
_HELD_SECONDS = 2.0
_NUMBERS = frozenset(("timestamp", "status", "statuscode", "length", "offset"))
_CDXJ_FIELDS = CDX_FIELDS[2:]

_NEXT = ",\n"

RowWriter = Callable[[CdxRow], str]


def pieces(selection: SelectedRows, query: CdxQuery, dialect: Dialect) -> Iterator[bytes]:
    """Return the pieces of an answer, in the output form of the query and dialect."""
    names, form = dialect.fields_of(query), query.digest
    if query.output is OutputForm.TEXT:
        return _lines(selection, text_writer(names, form))
    if query.output is OutputForm.CDXJ:
        return _lines(selection, _cdxj_writer(query))
    if dialect.json_lines:
        return _lines(selection, _json_line_writer(query))
    if query.output is OutputForm.JSONDICT:
        return _array(selection, _object_writer(names, form), head=None)
    typed = dialect.json_numbers
    write = _list_writer(names, form, typed=typed)
    return _array(selection, write, head=names, always=typed)


def _lines(selection: SelectedRows, write: RowWriter) -> Iterator[bytes]:
    for rows in _batches(selection):
        yield "".join(map(write, rows)).encode("utf-8", "surrogateescape")
    if selection.resume is not None:
        yield f"\n{resume_key(selection.resume)}\n".encode()


def resume_key(resume: Resume) -> str:
    """Return a resume position as a URL parameter value."""
    return quote_plus(f"{resume.urlkey} {resume.timestamp} {resume.read}", errors="surrogateescape")


def _batches(rows: Iterable[CdxRow]) -> Iterator[list[CdxRow]]:
    """Yield rows in batches, small ones at the start and if rows arrive slowly."""
    size = 16
    batch: list[CdxRow] = []
    late = time.monotonic() + _HELD_SECONDS
    for row in rows:
        batch.append(row)
        if len(batch) >= size or time.monotonic() > late:
            yield batch
            batch, size = [], min(2 * size, _ROWS_AT_ONCE)
            late = time.monotonic() + _HELD_SECONDS
    if batch:
        yield batch


@lru_cache(maxsize=256)
def text_writer(names: tuple[str, ...], form: DigestForm | None) -> RowWriter:
    """Return a function that writes rows as lines of these fields."""
    values = field_values(names, form)
    blanks = len(names) - 1

    def write(row: CdxRow) -> str:
        found = values(row)
        line = " ".join(found)
        # Values from archives may contain blanks and control characters.
        if line.count(" ") != blanks or not line.isprintable():
            line = " ".join(map(safe_field, found))
        return f"{line}\n"

    return write


def _cdxj_writer(query: CdxQuery) -> RowWriter:
    objects = _fields_object(query)

    def write(row: CdxRow) -> str:
        return f"{safe_field(row.urlkey)} {safe_field(row.timestamp)} {json.dumps(objects(row))}\n"

    return write


def _json_line_writer(query: CdxQuery) -> RowWriter:
    objects = _fields_object(query)
    if query.fields:
        return lambda row: json.dumps(objects(row)) + "\n"
    return lambda row: (
        json.dumps({"urlkey": row.urlkey, "timestamp": row.timestamp, **objects(row)}) + "\n"
    )


def _fields_object(query: CdxQuery) -> Callable[[CdxRow], dict[str, str]]:
    """Return a function that makes an object of a row's known, or requested, fields."""
    if query.fields:
        return _asked(_but_place(query), query.digest)
    form = query.digest
    start = CDX_FIELDS.index(_CDXJ_FIELDS[0])

    def make(row: CdxRow) -> dict[str, str]:
        known = {
            name: value
            for name, value in zip(_CDXJ_FIELDS, row[start:], strict=False)
            if value != NO_VALUE
        }
        if form is not None and "digest" in known:
            known["digest"] = spelled(row[DIGEST], form)
        if row.extra:
            known |= extra_fields(row)
        if row.collection:
            known["collection"] = row.collection
        return known

    return make


def _but_place(query: CdxQuery) -> tuple[str, ...]:
    """Return the requested fields, for CDXJ without urlkey and timestamp, which begin each line."""
    if query.output is OutputForm.CDXJ:
        return tuple(name for name in query.fields if name not in ("urlkey", "timestamp"))
    return query.fields


def _asked(names: tuple[str, ...], form: DigestForm | None) -> Callable[[CdxRow], dict[str, str]]:
    """Return a function that makes an object of a row's fields, `-` if missing, as in pywb."""
    values = field_values(names, form)
    usual = frozenset(name for name in names if column_of(name) is not None)

    def make(row: CdxRow) -> dict[str, str]:
        found = zip(names, values(row), strict=True)
        return {name: value for name, value in found if value != NO_VALUE or name in usual}

    return make


def _known(names: tuple[str, ...], form: DigestForm | None) -> Callable[[CdxRow], dict[str, str]]:
    values = field_values(names, form)

    def make(row: CdxRow) -> dict[str, str]:
        found = zip(names, values(row), strict=True)
        return {name: value for name, value in found if value != NO_VALUE}

    return make


def _object_writer(names: tuple[str, ...], form: DigestForm | None) -> RowWriter:
    known = _known(names, form)
    return lambda row: json.dumps({name: _typed(name, value) for name, value in known(row).items()})


def _list_writer(names: tuple[str, ...], form: DigestForm | None, *, typed: bool) -> RowWriter:
    values = field_values(names, form)
    if not typed:
        return lambda row: json.dumps(values(row))
    return lambda row: json.dumps(
        [_typed(name, value) for name, value in zip(names, values(row), strict=True)]
    )


def _typed(name: str, value: str) -> str | int | None:
    """Return a value with its type in OutbackCDX's JSON: a number, None (null) or text."""
    if name not in _NUMBERS:
        return value
    if value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return None if value == NO_VALUE else value


def _array(
    selection: SelectedRows, write: RowWriter, head: tuple[str, ...] | None, *, always: bool = False
) -> Iterator[bytes]:
    """Yield a JSON array, whose first row (`head`) names the fields, if `always` or not empty."""
    before = "["
    first = [json.dumps(head)] if head is not None else []
    if always:
        yield f"[{first.pop()}".encode()
        before = _NEXT
    for rows in _batches(selection):
        items = [*first, *map(write, rows)]
        yield f"{before}{_NEXT.join(items)}".encode()
        before, first = _NEXT, []
    if selection.resume is not None:
        yield f"{before}[],\n{json.dumps([resume_key(selection.resume)])}".encode()
        before = _NEXT
    yield b"[]\n" if before == "[" else b"]\n"


_SPELLINGS = {None: False, DigestForm.NORMAL: False, DigestForm.BARE: True}
"""Whether digests are written without the name of their algorithm."""


def plain_lines(query: CdxQuery, source: RowSource, dialect: Dialect) -> Iterable[bytes] | None:
    """Return a text answer in pieces, a list if all was read; None if it must be made from rows."""
    names = dialect.fields_of(query)
    form = _form(names, query.digest) if _is_plain(query) else None
    if form is None:
        return None
    blocks = source.blocks(narrowed(query), form)
    if blocks is None:
        return None
    found = _pieces(blocks, text_writer(names, query.digest), query.limit)
    return list(found) if isinstance(blocks, list) else found


@lru_cache(1_000)
def _form(names: tuple[str, ...], digest: DigestForm | None) -> CdxLineForm | None:
    """Return the form of lines with these fields, None if CDX lines do not have all of them."""
    places = [column_of(name) for name in names]
    known = tuple(place for place in places if place is not None and place < len(CDX_FIELDS))
    return CdxLineForm(known, _SPELLINGS[digest]) if len(known) == len(places) else None


def _is_plain(query: CdxQuery) -> bool:
    """Return whether a query requests all or the first captures of a span, as text."""
    dated = bool(query.date_from or query.date_to) and not query.urlkey
    chosen = query.filters or query.collapsing or query.newest or dated
    revisits = query.with_originals or query.resolve_revisits
    placed = query.offset or query.show_resume_key or query.resume is not None
    return (
        query.output is OutputForm.TEXT
        and query.order is RowOrder.DEFAULT
        and query.digest in _SPELLINGS
        and not (chosen or revisits or placed)
    )


def _pieces(blocks: Iterable[CdxBlock], write: RowWriter, limit: int | None) -> Iterator[bytes]:
    remaining = limit
    for block in blocks:
        text = block.text or "".join(map(write, block.rows))
        number = block.number or len(block.rows)
        if remaining is not None and number >= remaining:
            lines = text.split("\n", remaining)[:remaining]
            yield "".join([f"{line}\n" for line in lines]).encode("utf-8", "surrogateescape")
            return
        if remaining is not None:
            remaining -= number
        yield text.encode("utf-8", "surrogateescape")

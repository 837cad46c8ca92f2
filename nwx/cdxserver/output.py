"""Answers as bytes, made piece by piece while they are sent."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote_plus

from nwx.cdx.field_names import CDX_FIELDS, DIGEST
from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.lines import safe_field
from nwx.cdx.rows import CdxRow, extra_fields
from nwx.cdxserver.query.dialects import Dialect
from nwx.cdxserver.query.digest_forms import spelled
from nwx.cdxserver.query.field_values import column_of, field_values
from nwx.cdxserver.query.model import CdxQuery, OutputForm, Resume
from nwx.cdxserver.selection import SelectedRows
from nwx.values.digests import DigestForm

_ROWS_AT_ONCE = 256
_HELD_SECONDS = 2.0
_NUMBERS = frozenset(("timestamp", "status", "statuscode", "length", "offset"))
_CDXJ_FIELDS = CDX_FIELDS[2:]

_NEXT = ",\n"

RowWriter = Callable[[CdxRow], str]


def pieces(selection: SelectedRows, query: CdxQuery, dialect: Dialect) -> Iterator[bytes]:
    """Stream an answer in the form that the question and the dialect want."""
    names, form = query.fields or dialect.fields, query.digest
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
    """Return the place where an answer ended as it stands in an address."""
    return quote_plus(f"{resume.urlkey} {resume.timestamp} {resume.read}", errors="surrogateescape")


def _batches(rows: Iterable[CdxRow]) -> Iterator[list[CdxRow]]:
    """Give rows in batches, small ones first, and small ones where rows are long in coming."""
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
    """Return what writes rows as lines of these fields."""
    values = field_values(names, form)
    blanks = len(names) - 1

    def write(row: CdxRow) -> str:
        found = values(row)
        line = " ".join(found)
        # Values out of an archive may hold blanks, and worse.
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
    """Return what makes an object of the known fields of a row: all, or those asked for."""
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
    """Return the fields asked for; a line of CDXJ begins with urlkey and timestamp anyway."""
    if query.output is OutputForm.CDXJ:
        return tuple(name for name in query.fields if name not in ("urlkey", "timestamp"))
    return query.fields


def _asked(names: tuple[str, ...], form: DigestForm | None) -> Callable[[CdxRow], dict[str, str]]:
    """Return what makes an object of fields: `-` where one of every row is missing, as in pywb."""
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
    """Return a value as OutbackCDX types it: numbers as such, null for unknown ones."""
    if name not in _NUMBERS:
        return value
    if value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return None if value == NO_VALUE else value


def _array(
    selection: SelectedRows, write: RowWriter, head: tuple[str, ...] | None, *, always: bool = False
) -> Iterator[bytes]:
    """Stream a JSON array whose first row names the fields: `always`, or where others follow."""
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

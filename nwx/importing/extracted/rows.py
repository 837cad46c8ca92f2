"""The rows of documents files: one capture each, with its text where it makes a document.

Columns are named as the fields of `Capture` and `Extract`. Those of
`Extract` are null in all rows that have no document.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from nwx.engine.entries import clean_text
from nwx.model import Capture, Document, Extract, Link

CAPTURE_ROW_COLUMNS = Capture._fields
EXTRACT_ROW_COLUMNS = tuple(one.name for one in fields(Extract))
INTEGER_COLUMNS = frozenset(
    ("source_file_offset", "record_length", "status_code", "content_length")
)
TEXT_LIST_COLUMNS = frozenset(("headings", "problems"))
LINK_COLUMN = "links"

_TEXT = "content"
_capture_values = attrgetter(*CAPTURE_ROW_COLUMNS)

Columns = dict[str, list[Any]]


def columns_of(captures: Iterable[Capture], documents: Iterable[Document]) -> Columns:
    """Return captures and what was extracted from some of them as columns.

    The documents are made from captures among these.
    """
    texts = {one.capture.source_file_offset: one.extract for one in documents}
    columns: Columns = {name: [] for name in (*CAPTURE_ROW_COLUMNS, *EXTRACT_ROW_COLUMNS)}
    for capture in captures:
        for name, value in zip(CAPTURE_ROW_COLUMNS, _capture_values(capture), strict=True):
            columns[name].append(_stored(value))
        extract = texts.get(capture.source_file_offset)
        for name in EXTRACT_ROW_COLUMNS:
            value = None if extract is None else getattr(extract, name)
            columns[name].append(_links(value) if name == LINK_COLUMN else _stored(value))
    return columns


def _stored(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, tuple):
        return [clean_text(one) for one in value]
    return value


def _links(links: Sequence[Link] | None) -> list[dict[str, str]] | None:
    if links is None:
        return None
    return [
        {"url": clean_text(url), "text": clean_text(text), "kind": kind}
        for url, text, kind in links
    ]


def row_capture(row: Mapping[str, Any]) -> Capture:
    """Return the capture of a row."""
    return Capture(**{name: row[name] for name in CAPTURE_ROW_COLUMNS})


def extract_of(row: Mapping[str, Any]) -> Extract | None:
    """Return what was extracted from the capture of a row, None where it has no document."""
    if row[_TEXT] is None:
        return None
    texts = {name: row[name] for name in EXTRACT_ROW_COLUMNS}
    for name in TEXT_LIST_COLUMNS:
        texts[name] = tuple(texts[name] or ())
    links = texts[LINK_COLUMN] or ()
    texts[LINK_COLUMN] = tuple(Link(one["url"], one["text"], one["kind"]) for one in links)
    return Extract(**texts)

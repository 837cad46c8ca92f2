"""Tests for captures, pages and URL lists; captures as tuples and columns of values."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, overload

from nwx.keys import capture_id, document_id, document_key, makes_document
from nwx.model import Capture
from nwx.values.records import copied

RECORD_TYPES = frozenset(("response", "resource", "revisit", "conversion"))
"""The record types that can be captures."""

FIELDS_TYPE = "application/warc-fields"
"""The MIME type of crawler metadata records."""

NOTE_SCHEMES = ("metadata:", "warcinfo:", "filedesc:")
"""URL prefixes of records that are not captures: wget's metadata, warcinfo, ARC file headers."""

_NO_STATUS = ("", "-")
_WARCINFO_TYPE = "warc-info"
_TYPED = "warc/"
_ARC_HEAD = "arc/"
_ANVL_TYPE = "text/anvl"  # crawler metadata in WARC 0.17

DOUBTFUL_TYPES = (_ARC_HEAD, _ANVL_TYPE)
"""MIME type prefixes of rows that may not be captures, besides types that contain `warc`."""


def is_captured(record_type: str, content_type: str, url: str) -> bool:
    """Return whether a record is a capture; `content_type` is from its WARC header."""
    if record_type not in RECORD_TYPES or url.startswith(NOTE_SCHEMES):
        return False
    return record_type != "resource" or not content_type.startswith(FIELDS_TYPE)


def names_capture(mime: str, status: str, url: str) -> bool:
    """Return whether a capture index line with these fields is a capture.

    Indexes of all records, such as the Internet Archive's, have MIME types like `warc/request`,
    `warc/metadata`, `warc-info` and `arc/filedesc` for other records. Missing fields are "" or `-`.
    """
    if url.startswith(NOTE_SCHEMES):
        return False
    if mime.startswith(_TYPED):
        return mime.removeprefix(_TYPED) in RECORD_TYPES
    if mime.startswith((FIELDS_TYPE, _ANVL_TYPE)):
        return status not in _NO_STATUS
    return mime != _WARCINFO_TYPE and not mime.startswith(_ARC_HEAD)


_DERIVED = "document_id"
VALUE_FIELDS = tuple(name for name in Capture._fields if name != _DERIVED)
"""The fields of CaptureTuple, in order; the document id is left out, as it is computed."""

DEFAULT_VALUES: Mapping[str, str] = {
    name: default for name, default in Capture._field_defaults.items() if isinstance(default, str)
}
"""The default values of the last fields."""

CaptureTuple = tuple[Any, ...]
"""The values of a capture; trailing values equal to their defaults may be left out."""

_PLACE = Capture._fields.index(_DERIVED)
_URL, _DIGEST = VALUE_FIELDS.index("url"), VALUE_FIELDS.index("digest")


CaptureColumns = dict[str, Sequence[Any]]
"""The values of captures by field, with all VALUE_FIELDS."""


class CaptureValues(Sequence[Capture]):
    """Captures stored as rows (CaptureTuple) or columns; each Capture is created on access."""

    __slots__ = ("_columns", "_rows")

    def __init__(
        self, rows: Sequence[CaptureTuple] = (), columns: CaptureColumns | None = None
    ) -> None:
        self._rows = rows
        self._columns = columns

    @property
    def rows(self) -> Sequence[CaptureTuple]:
        """The values, a row for each capture."""
        if self._columns is None:
            return self._rows
        return list(zip(*self._columns.values(), strict=True))

    @property
    def columns(self) -> CaptureColumns:
        """The values by field."""
        return _columns_of(self._rows) if self._columns is None else self._columns

    def __len__(self) -> int:
        return len(self._rows if self._columns is None else self._columns[VALUE_FIELDS[0]])

    @overload
    def __getitem__(self, place: int) -> Capture: ...

    @overload
    def __getitem__(self, place: slice) -> "CaptureValues": ...

    def __getitem__(self, place: int | slice) -> "Capture | CaptureValues":
        if isinstance(place, slice):
            return CaptureValues(self.rows[place])
        if self._columns is None:
            return capture_of_values(self._rows[place])
        return capture_of_values(tuple(values[place] for values in self._columns.values()))


def joined_columns(parts: Sequence[CaptureValues]) -> CaptureColumns:
    """Return the values of all captures by field."""
    if len(parts) == 1:
        return parts[0].columns
    columns = [part.columns for part in parts]
    return {name: list(chain.from_iterable(one[name] for one in columns)) for name in VALUE_FIELDS}


def with_defaults(columns: CaptureColumns, number: int) -> CaptureColumns:
    """Return all columns of `number` captures, missing ones filled with their defaults."""
    return {
        name: columns[name] if name in columns else [DEFAULT_VALUES[name]] * number
        for name in VALUE_FIELDS
    }


def _columns_of(rows: Sequence[CaptureTuple]) -> CaptureColumns:
    if len(set(map(len, rows))) > 1:
        defaults = tuple(map(Capture._field_defaults.get, VALUE_FIELDS))
        rows = [(*row, *defaults[len(row) :]) for row in rows]
    return with_defaults(dict(zip(VALUE_FIELDS, zip(*rows, strict=True), strict=False)), len(rows))


def capture_of_values(row: CaptureTuple) -> Capture:
    """Return the capture with these values, which are in the order of VALUE_FIELDS."""
    url, digest = row[_URL], row[_DIGEST]
    document = document_id(document_key(url, digest)) if digest else ""
    values: CaptureTuple = (*row[:_PLACE], document, *row[_PLACE:])
    return Capture(*values)


def values_of(captures: Iterable[Capture]) -> Sequence[CaptureTuple]:
    """Return the values of captures."""
    if isinstance(captures, CaptureValues):
        return captures.rows
    return [capture[:_PLACE] + capture[_PLACE + 1 :] for capture in captures]


_PAGE_TYPE = "html"
_SUCCESS = range(200, 300)


class PagePlace(NamedTuple):
    """An HTML document, and the location of its record.

    `source_file` is a name as in `Capture`. `hops` is Heritrix's path from the seed, one letter a
    hop, "" if not recorded. With `is_list` it is a list of URLs instead, such as a feed.
    """

    document_id: str
    url: str
    timestamp: str
    collection: str
    source_file: str
    offset: int
    hops: str = ""
    is_list: bool = False

    @property
    def id(self) -> str:
        """The id of the capture."""
        return capture_id(self.collection, self.source_file, self.offset)


def is_page(capture: Capture) -> bool:
    """Return whether a capture is an HTML page with a successful response."""
    return capture.content_type_norm == _PAGE_TYPE and _is_success(capture)


def _is_success(capture: Capture) -> bool:
    status = capture.status_code
    return (status is None or status in _SUCCESS) and makes_document(capture)


_LIST_TYPE = re.compile(r"(?:text|application)/(?:(?:rss|atom|rdf)\+)?xml")
_LIST_URL = re.compile(r"/robots\.txt$|/[^/?]*sitemap[^/?]*\.xml\.gz$", re.IGNORECASE)


def is_url_list(capture: Capture) -> bool:
    """Return whether a capture may be a feed, a sitemap or a robots.txt (which lists sitemaps)."""
    is_list = _LIST_TYPE.fullmatch(capture.content_type) or _LIST_URL.search(capture.url)
    return bool(is_list) and not is_page(capture) and _is_success(capture)


def page_places(captures: Iterable[Capture], *, lists: bool = False) -> Iterator[PagePlace]:
    """Yield the places of captures that are pages or, with `lists`, URL lists, in their order."""
    for capture in captures:
        is_list = lists and is_url_list(capture)
        if is_list or is_page(capture):
            offset = capture.source_file_offset
            yield copied(PagePlace, capture, offset=offset, is_list=is_list)

"""CDX rows: parsed from CDX, CDXJ and exclusion lists, written as CDX and CDXJ.

Text is UTF-8 with surrogate escapes, so that arbitrary bytes survive a round trip.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from nwx.captures import DOUBTFUL_TYPES, names_capture
from nwx.cdx.layouts import (
    CDX11,
    CDX14,
    CDX_FIELDS,
    CDXJ_PLACES,
    CDXJ_PLACES_ORS,
    LAYOUTS,
    LETTERS,
    NO_VALUE,
    ORIGINAL_FIELDS,
    URL,
    Layout,
    field_chooser,
    without_file_is_revisit,
)
from nwx.errors import CdxError, TimestampError
from nwx.values.timestamps import normal_timestamp

REVISIT = "warc/revisit"

_BLANKS = re.compile(r"[\x00-\x20]")
_BROKEN = re.compile(r"[\x00-\x1f]")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T.*)?")
_CDXJ_PLACES = CDXJ_PLACES | CDXJ_PLACES_ORS
_NO_VALUES = (NO_VALUE,) * (len(CDX_FIELDS) - URL)
_MISSING = ("", NO_VALUE, "null")
_SPELLED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class CdxRow(NamedTuple):
    """A capture as the fields of a CDX line, `-` for missing ones.

    `extra` is a JSON object of additional fields as in CDXJ, "" without any.
    """

    urlkey: str
    timestamp: str
    url: str
    mime: str = NO_VALUE
    status: str = NO_VALUE
    digest: str = NO_VALUE
    redirect: str = NO_VALUE
    robotflags: str = NO_VALUE
    length: str = NO_VALUE
    offset: str = NO_VALUE
    filename: str = NO_VALUE
    collection: str = ""
    extra: str = ""


def is_revisit_row(row: CdxRow) -> bool:
    """Return whether a row is a revisit record."""
    return row.mime == REVISIT


def row_is_capture(row: CdxRow) -> bool:
    """Return whether a row is a capture (`nwx.captures.names_capture`)."""
    url, mime = row.url, row.mime
    if url.startswith("http") and not mime.startswith(DOUBTFUL_TYPES) and "warc" not in mime:
        return True
    return names_capture(mime, row.status, url)


def extra_fields(row: CdxRow) -> dict[str, str]:
    """Return the additional fields of a row."""
    return json.loads(row.extra) if row.extra else {}


def text_or_empty(value: str) -> str:
    """Return a value of a row, "" if it is missing."""
    return "" if value == NO_VALUE else value


def number_or_none(value: str) -> int | None:
    """Return the length or offset of a checked row, None if it is missing."""
    return None if value == NO_VALUE else int(value)


def row_parser(layout: Layout | None, collection: str) -> Callable[[str], CdxRow]:
    """Return a function that parses lines of a layout and CDXJ; None: the usual layouts.

    Values are not checked. The parser raises CdxError on an unreadable line.
    """
    layouts = LAYOUTS.values() if layout is None else (layout,)
    makers = {len(known.letters): _row_maker(known, collection) for known in layouts}
    delimiter = layout.delimiter if layout else " "
    return partial(_parsed, makers, delimiter, collection)


def _parsed(
    makers: dict[int, Callable[[list[str]], CdxRow]], delimiter: str, collection: str, line: str
) -> CdxRow:
    values = line.split(delimiter)
    if len(values) > 2 and values[2].startswith("{"):
        return _cdxj_row(line, collection)
    maker = makers.get(len(values))
    if maker is None:
        known = ", ".join(map(str, makers))
        raise CdxError(f"a line of {len(values)} fields; expected {known} or CDXJ")
    return maker(values)


@lru_cache(maxsize=256)
def _row_maker(layout: Layout, collection: str) -> Callable[[list[str]], CdxRow]:
    if layout == CDX11:
        return lambda values: CdxRow._make([*values, collection, ""])
    chosen = field_chooser(layout)

    def make(values: list[str]) -> CdxRow:
        return CdxRow._make([*chosen(values), collection, ""])

    if without_file_is_revisit(layout):
        return lambda values: _as_revisit(make(values))
    if len(layout.letters) == len(CDX14.letters):
        return lambda values: make(values)._replace(extra=_originals(values[len(CDX_FIELDS) :]))
    return make


def _as_revisit(row: CdxRow) -> CdxRow:
    """Return a row of a 9-field CDX, in which a missing file name marks a revisit."""
    return row._replace(mime=REVISIT) if row.filename == NO_VALUE else row


def _originals(values: Sequence[str]) -> str:
    named = zip(ORIGINAL_FIELDS, values, strict=True)
    known = {name: value for name, value in named if value != NO_VALUE}
    return json.dumps(known) if known else ""


def parse_cdx(line: bytes, layout: Layout | None = None) -> CdxRow:
    """Parse and check a CDX line without newline, by layout or number of fields.

    Raises CdxError on an invalid line.
    """
    values = line.decode("utf-8", "surrogateescape").split(layout.delimiter if layout else " ")
    if layout is None:
        layout = LAYOUTS.get(len(values))
    if layout is None:
        known = ", ".join(map(str, LAYOUTS))
        tabs = " (tabs separate fields only below a header with tabs)" if b"\t" in line else ""
        raise CdxError(f"{len(values)} fields{tabs}; expected {known} or a header line")
    if len(values) != len(layout.letters):
        raise CdxError(f"{len(values)} fields, the header has {len(layout.letters)}")
    if _BROKEN.search("".join(values)):
        raise CdxError("the line contains a control character")
    if "" in values:
        raise CdxError(f"field {values.index('') + 1} is empty")
    if len(values) == len(CDX14.letters):
        values[11] = _checked_size(values[11], "original length")
        values[12] = _checked_size(values[12], "original offset")
    return _checked(_row_maker(layout, "")(values))


def parse_listed(line: bytes) -> CdxRow:
    """Parse a line of an exclusion list; the position of the date determines the field order.

    Raises CdxError on an invalid line.
    """
    text = line.decode("utf-8", "surrogateescape")
    if _BROKEN.search(text):
        raise CdxError("the line contains a control character")
    values = text.split(" ", 2)
    if not (values[0].isdecimal() or _ISO_DATE.fullmatch(values[0])):
        values = text.rsplit(" ", 2)[::-1]
    if len(values) != 3 or "" in values:
        raise CdxError("expected `date digest url` or `url digest date`")
    date, digest, url = values
    return _checked(CdxRow(NO_VALUE, date, url, digest=digest.strip("-") or NO_VALUE))


def _checked(row: CdxRow) -> CdxRow:
    """Return a row with a valid date and with unknown sizes as missing.

    Raises CdxError on an invalid value.
    """
    timestamp = checked_timestamp(row.timestamp)
    if row.url == NO_VALUE:
        raise CdxError("the URL is missing")
    length = _checked_size(row.length, "record length")
    offset = _checked_size(row.offset, "offset")
    if (timestamp, length, offset) == (row.timestamp, row.length, row.offset):
        return row
    return row._replace(timestamp=timestamp, length=length, offset=offset)


def checked_timestamp(text: str) -> str:
    """Return a valid timestamp unchanged, an ISO date as 14 digits; raises CdxError otherwise."""
    is_iso = text[4:5] == "-" and _ISO_DATE.fullmatch(text)
    if not is_iso and not (text.isdecimal() and text.isascii()):
        raise CdxError(f"{text[:40]!r} is not a timestamp; expected up to 14 digits")
    try:
        digits = normal_timestamp(text)
    except TimestampError as error:
        raise CdxError(str(error)) from error
    return digits if is_iso else text


def _checked_size(text: str, name: str) -> str:
    """Return a number of bytes unchanged, `-` for -1, which some tools write if unknown."""
    if text in (NO_VALUE, "-1"):
        return NO_VALUE
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise CdxError(f"the {name} {text[:40]!r} is not a number of bytes")
    return text


def is_cdxj(line: bytes) -> bool:
    """Return whether a line has the form of CDXJ: a JSON object after two fields."""
    start = line.find(b" {")
    return start > 0 and line.count(b" ", 0, start) == 1


def parse_cdxj(line: bytes) -> CdxRow:
    """Parse and check a CDXJ line without newline.

    A missing URL is derived from the urlkey. Raises CdxError on an invalid line.
    """
    return _checked(_cdxj_row(line.decode("utf-8", "surrogateescape"), ""))


def _cdxj_row(line: str, collection: str) -> CdxRow:
    parts = line.split(" ", 2)
    if len(parts) != 3 or not parts[0]:
        raise CdxError("expected a urlkey, a timestamp and a JSON object")
    urlkey, timestamp, text = parts
    fields = [urlkey, timestamp, *_NO_VALUES]
    extra: dict[str, str] = {}
    for name, value in _json_object(text).items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        place = _CDXJ_PLACES.get(name)
        if place is None:
            extra[name] = shown
        elif shown not in _MISSING:
            fields[place] = shown
    if fields[URL] == NO_VALUE:
        fields[URL] = url_of_key(urlkey)
    return CdxRow._make([*fields, collection, json.dumps(extra) if extra else ""])


def url_of_key(urlkey: str) -> str:
    """Return a URL for a SURT urlkey: `org,example)/a` gives `http://example.org/a`.

    The scheme and `www.` are not part of a urlkey, and stay unknown.
    """
    host, bracket, path = urlkey.partition(")")
    if not bracket or "/" in host:
        return urlkey if "://" in urlkey else f"http://{urlkey}"
    name, colon, port = host.partition(":")
    return f"http://{'.'.join(reversed(name.split(',')))}{colon}{port}{path}"


def _json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object; raises CdxError on other text.

    Lone surrogates, which JSON can express but UTF-8 cannot, are replaced.
    """
    with CdxError.instead_of((ValueError, RecursionError), "the JSON cannot be read"):
        found = json.loads(text)
    if not isinstance(found, dict):
        raise CdxError("the JSON is not an object")
    if not _SPELLED_SURROGATE.search(text):
        return found
    whole = _SURROGATE.sub("\ufffd", json.dumps(found, ensure_ascii=False))
    return json.loads(whole)  # type: ignore[no-any-return]


def format_cdx(row: CdxRow, layout: Layout = CDX11) -> str:
    """Return the line of a row without a newline; blanks inside values are percent-encoded."""
    named = zip(LETTERS, row, strict=False)
    values = {letter: value for letters, value in named for letter in letters}
    fields = [values.get(letter, NO_VALUE) for letter in layout.letters]
    if len(fields) == len(CDX14.letters):
        known = extra_fields(row)
        fields[11:] = [known.get(name, NO_VALUE) for name in ORIGINAL_FIELDS]
    return layout.delimiter.join(map(safe_field, fields))


def format_cdxj(row: CdxRow) -> str:
    """Return the CDXJ line of a row without a newline; missing values are left out."""
    values = zip(CDX_FIELDS[URL:], row[URL:], strict=False)
    shown = {name: value for name, value in values if value not in ("", NO_VALUE)}
    text = json.dumps(shown | extra_fields(row), ensure_ascii=False)
    return f"{row.urlkey} {row.timestamp} {text}"


def safe_field(value: str) -> str:
    """Return a value for a CDX line: `-` for "", blanks percent-encoded."""
    if not value:
        return NO_VALUE
    if not _BLANKS.search(value):
        return value
    return _BLANKS.sub(lambda found: f"%{ord(found[0]):02X}", value)

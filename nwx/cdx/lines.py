"""CDX lines: bytes to CdxLine and back.

Text is UTF-8 with surrogate escapes, so that bytes of any kind survive a
round trip. Values are kept as they are written, "" for `-`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from nwx.cdx.layouts import (
    CDX11,
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

_NOTHING: Mapping[str, str] = MappingProxyType({})
_BLANKS = re.compile(r"[\x00-\x20]")
_BROKEN = re.compile(r"[\x00-\x1f]")


@dataclass(frozen=True, slots=True)
class CdxLine:
    """One line of a CDX or CDXJ file, values as written; a missing text is "".

    `robot_flags` is field M. The three `original_…` are OutbackCDX's: the
    place of the record that a revisit refers to. `extra` holds what CDXJ
    says beyond these, as text.
    """

    urlkey: str
    timestamp: str
    url: str
    content_type: str = ""
    status_code: str = ""
    digest: str = ""
    redirect_to: str = ""
    robot_flags: str = ""
    record_length: int | None = None
    source_file_offset: int | None = None
    source_file: str = ""
    original_length: int | None = None
    original_offset: int | None = None
    original_file: str = ""
    extra: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


def parse_cdx(line: bytes, layout: Layout | None = None) -> CdxLine:
    """Return what a line without its newline says, by its layout or the number of its fields.

    Raises CdxError.
    """
    values = line.decode("utf-8", "surrogateescape").split(layout.delimiter if layout else " ")
    if layout is None:
        layout = LAYOUTS.get(len(values))
    if layout is None:
        known = ", ".join(map(str, LAYOUTS))
        tabs = " (tabs part fields only below a header that has them)" if b"\t" in line else ""
        raise CdxError(f"{len(values)} fields{tabs}; {known} or a header line are needed")
    if len(values) != len(layout.letters):
        raise CdxError(f"{len(values)} fields where {len(layout.letters)} are announced")
    if _BROKEN.search("".join(values)):
        raise CdxError("a control character stands in the line")
    if "" in values:
        raise CdxError(f"field {values.index('') + 1} is empty")
    return _line_of(values, layout)


def _line_of(values: list[str], layout: Layout) -> CdxLine:
    fields = field_chooser(layout)(values)
    originals = values[11:] if len(values) == 14 else (NO_VALUE,) * len(ORIGINAL_FIELDS)
    original_length, original_offset, original_file = map(_known, originals)
    return checked_line(
        fields,
        original_length=cdx_number(original_length, "original length"),
        original_offset=cdx_number(original_offset, "original offset"),
        original_file=original_file,
    )


def checked_line(fields: Sequence[str], **others: Any) -> CdxLine:
    """Return the line of these values, in the order of CDX_FIELDS; `others` are set as well.

    Raises CdxError on a value that is none.
    """
    urlkey, timestamp, url, mime, status, digest, redirect, flags, length, offset, file = map(
        _known, fields
    )
    return CdxLine(
        urlkey=urlkey,
        timestamp=checked_timestamp(timestamp),
        url=_checked_url(url),
        content_type=mime,
        status_code=status,
        digest=digest,
        redirect_to=redirect,
        robot_flags=flags,
        record_length=cdx_number(length, "record length"),
        source_file_offset=cdx_number(offset, "offset"),
        source_file=file,
        **others,
    )


def line_values(line: CdxLine) -> tuple[str, ...]:
    """Return the values of a line in the order of CDX_FIELDS, "" for those that are missing."""
    return (
        line.urlkey,
        line.timestamp,
        line.url,
        line.content_type,
        line.status_code,
        line.digest,
        line.redirect_to,
        line.robot_flags,
        _digits(line.record_length),
        _digits(line.source_file_offset),
        line.source_file,
    )


def _known(value: str) -> str:
    return "" if value == NO_VALUE else value


def parse_listed(line: bytes) -> CdxLine:
    """Return what a line of an exclusion list says; the date tells which order it has.

    Raises CdxError.
    """
    text = line.decode("utf-8", "surrogateescape")
    if _BROKEN.search(text):
        raise CdxError("a control character stands in the line")
    values = text.split(" ", 2)
    if not values[0].isdecimal():
        values = text.rsplit(" ", 2)[::-1]
    if len(values) != 3 or "" in values:
        raise CdxError("`date digest url` or `url digest date` is needed")
    date, digest, url = values
    return CdxLine("", checked_timestamp(date), _checked_url(url), digest=digest.strip("-"))


def format_cdx(line: CdxLine, layout: Layout = CDX11) -> str:
    """Return a line as text without a newline; blanks inside values are percent-encoded."""
    named = zip(LETTERS, line_values(line), strict=True)
    values = {letter: value for letters, value in named for letter in letters}
    fields = [values.get(letter, "") for letter in layout.letters]
    if len(fields) == 14:
        original = line.original_length, line.original_offset
        fields[11:] = [*map(_digits, original), line.original_file]
    return layout.delimiter.join(map(safe_field, fields))


def is_revisit(line: CdxLine, layout: Layout | None = None) -> bool:
    """Return whether a line stands for a revisit record.

    That is MIME `warc/revisit`, or in the 9-field CDX that NutchWAX read
    no file name.
    """
    if line.content_type == REVISIT:
        return True
    return layout is not None and without_file_is_revisit(layout) and not line.source_file


def checked_timestamp(text: str) -> str:
    """Return a timestamp as it is if it is one; raises CdxError."""
    if not text.isdecimal() or not text.isascii():
        raise CdxError(f"{text[:40]!r} is no timestamp; up to 14 digits are needed")
    try:
        normal_timestamp(text)
    except TimestampError as error:
        raise CdxError(str(error)) from error
    return text


def cdx_number(text: str, name: str) -> int | None:
    """Return a number of bytes, None for "" and for what some writers put for unknown (-1)."""
    if text in ("", "-1"):
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise CdxError(f"the {name} {text[:40]!r} is no number of bytes")
    return int(text)


def _checked_url(text: str) -> str:
    if not text:
        raise CdxError("the URL is missing")
    return text


def _digits(value: int | None) -> str:
    return "" if value is None else str(value)


def safe_field(value: str) -> str:
    """Return a value as it stands in a line: `-` for "", blanks percent-encoded."""
    if not value:
        return "-"
    if not _BLANKS.search(value):
        return value
    return _BLANKS.sub(lambda found: f"%{ord(found[0]):02X}", value)


_PLACES = CDXJ_PLACES | CDXJ_PLACES_ORS
_NO_VALUES = (NO_VALUE,) * (len(CDX_FIELDS) - URL)
_MISSING = ("", NO_VALUE, "null")
_SPELLED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def is_cdxj(line: bytes) -> bool:
    """Return whether a line has the form of CDXJ: a JSON object after two fields."""
    start = line.find(b" {")
    return start > 0 and line.count(b" ", 0, start) == 1


def parse_cdxj(line: bytes) -> CdxLine:
    """Return what a line without its newline says; a missing URL is taken from the urlkey.

    Raises CdxError.
    """
    parts = line.decode("utf-8", "surrogateescape").split(" ", 2)
    if len(parts) != 3 or not parts[0]:
        raise CdxError("a urlkey, a timestamp and a JSON object are needed")
    fields, extra = cdxj_fields(*parts)
    return checked_line(fields, extra=extra)


def cdxj_fields(urlkey: str, timestamp: str, text: str) -> tuple[list[str], dict[str, str]]:
    """Return the values of a line in the order of CDX_FIELDS, `-` for none, and what else it says.

    `text` is its JSON object. A missing URL is taken from the urlkey.
    Raises CdxError.
    """
    fields = [urlkey, timestamp, *_NO_VALUES]
    extra: dict[str, str] = {}
    for name, value in parse_object(text).items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        place = _PLACES.get(name)
        if place is None:
            extra[name] = shown
        elif shown not in _MISSING:
            fields[place] = shown
    if fields[URL] == NO_VALUE:
        fields[URL] = url_of_key(urlkey)
    return fields, extra


def format_cdxj(line: CdxLine) -> str:
    """Return a line as text without a newline, its values as strings, those missing left out."""
    values = zip(CDX_FIELDS[URL:], line_values(line)[URL:], strict=True)
    shown = {name: value for name, value in values if value}
    text = json.dumps({**shown, **line.extra}, ensure_ascii=False)
    return f"{line.urlkey} {line.timestamp} {text}"


def url_of_key(urlkey: str) -> str:
    """Return a URL that a SURT urlkey could stand for: `org,example)/a` gives `http://example.org/a`.

    The scheme and a `www.` are lost in a urlkey.
    """
    host, bracket, path = urlkey.partition(")")
    if not bracket or "/" in host:
        return urlkey if "://" in urlkey else f"http://{urlkey}"
    name, colon, port = host.partition(":")
    return f"http://{'.'.join(reversed(name.split(',')))}{colon}{port}{path}"


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object of a CDXJ line; raises CdxError where there is none.

    Halves of surrogate pairs, which JSON can spell and nothing can write,
    are replaced.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CdxError(f"the JSON cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise CdxError("the JSON is no object")
    return _whole_signs(found) if _SPELLED_SURROGATE.search(text) else found


def _whole_signs(found: dict[str, Any]) -> dict[str, Any]:
    return json.loads(_SURROGATE.sub("\ufffd", json.dumps(found, ensure_ascii=False)))  # type: ignore[no-any-return]

"""CDX lines: bytes to CdxLine and back.

Text is UTF-8 with surrogate escapes, so that bytes of any kind survive a
round trip. Values are kept as they are written, "" for `-`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from nwx.errors import CdxError, TimestampError
from nwx.values.timestamps import normal_timestamp

REVISIT = "warc/revisit"

_NOTHING: Mapping[str, str] = MappingProxyType({})
_HEADER = re.compile(rb"([\x00-/:-@\[-`{-\x7f])?CDX((?:[\x00-/:-@\[-`{-\x7f][A-Za-z])+)[ \t]*")
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


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of the fields of a CDX line, a letter each, and what stands between them."""

    letters: str
    delimiter: str = " "

    def place(self, letters: str) -> int:
        """Return where the first of these letters that the layout has stands, or -1."""
        for letter in letters:
            if letter in self.letters:
                return self.letters.index(letter)
        return -1


CDX7 = Layout("NbamskS")
CDX9 = Layout("NbamskrVg")
CDX10 = Layout("NbamskrMVg")
CDX11 = Layout("NbamskrMSVg")
CDX14 = Layout("NbamskrMSVgSVg")
LAYOUTS = {len(layout.letters): layout for layout in (CDX7, CDX9, CDX10, CDX11, CDX14)}
"""The layouts that a line without a header can have, by the number of its fields."""


DATE_FIRST = Layout("bka")
DATE_LAST = Layout("akb")
LIST_LAYOUTS = (DATE_FIRST, DATE_LAST)
"""The orders of exclusion lists: `date digest url`, and `url digest date` as others write them."""


def parse_header(line: bytes) -> Layout | None:
    """Return the layout that a header line announces, or None for any other line.

    Raises CdxError on a header without a date or a URL.
    """
    found = _HEADER.fullmatch(line)
    if found is None:
        return None
    delimiter = found[1] or b" "
    letters = found[2].decode("ascii").replace(delimiter.decode("ascii"), "")
    if not letters.isalpha():
        raise CdxError(f"the header {line[:80]!r} mixes delimiters")
    layout = Layout(letters, delimiter.decode("ascii"))
    require_fields(layout)
    return layout


def require_fields(layout: Layout) -> None:
    """Raise CdxError where a layout lacks the timestamp or the URL."""
    for letter, name in (("b", "a timestamp (b)"), ("a", "a URL (a)")):
        if layout.place(letter) < 0:
            raise CdxError(f"the layout {layout.letters!r} has no field for {name}")


def format_header(layout: Layout) -> str:
    """Return the header line of a layout, without a newline."""
    return layout.delimiter + layout.delimiter.join(("CDX", *layout.letters))


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
    def text(letters: str) -> str:
        place = layout.place(letters)
        return "" if place < 0 or values[place] == "-" else values[place]

    outback = values[11:] if len(values) == 14 else ["-", "-", "-"]
    return CdxLine(
        urlkey=text("NA"),
        timestamp=checked_timestamp(text("b")),
        url=_checked_url(text("a")),
        content_type=text("m"),
        status_code=text("s"),
        digest=text("kc"),
        redirect_to=text("r"),
        robot_flags=text("M"),
        record_length=cdx_number(text("S"), "record length"),
        source_file_offset=cdx_number(text("Vv"), "offset"),
        source_file=text("g"),
        original_length=cdx_number(outback[0].replace("-", ""), "original length"),
        original_offset=cdx_number(outback[1].replace("-", ""), "original offset"),
        original_file="" if outback[2] == "-" else outback[2],
    )


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
    values = {
        "N": line.urlkey,
        "A": line.urlkey,
        "b": line.timestamp,
        "a": line.url,
        "m": line.content_type,
        "s": line.status_code,
        "k": line.digest,
        "c": line.digest,
        "r": line.redirect_to,
        "M": line.robot_flags,
        "S": _digits(line.record_length),
        "V": _digits(line.source_file_offset),
        "v": _digits(line.source_file_offset),
        "g": line.source_file,
    }
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


def without_file_is_revisit(layout: Layout) -> bool:
    """Return whether lines of a layout tell revisits by `-` in their ninth field."""
    return len(layout.letters) == 9 and layout.place("g") == 8


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
    return _BLANKS.sub(lambda found: f"%{ord(found[0]):02X}", value)

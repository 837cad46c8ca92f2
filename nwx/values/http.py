"""HTTP in archive records: heads of all versions, and decoding of bodies."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from nwx.values.codings import Decoded, dechunk, decode_content

_MAX_HEAD_BYTES = 1 << 20
_USUAL_HEAD_BYTES = 1 << 12

_BLANK_LINE = re.compile(rb"\n[ \t]*\r?\n")
_BLANKS_AND_COLON = re.compile(rb"[ \t]+:")
_CONTINUING = (b" ", b"\t")
_CONTINUED = re.compile(rb"[^\n]*(?:\n[ \t][^\n]*)*")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_FOLDED = re.compile(rb"\n[ \t]")
# Heads as nearly all servers send them, up to the blank line: no folded lines or odd line ends.
_USUAL_HEAD = re.compile(rb"HTTP/1\.[01] (\d{3})(?: .*)?\r(\n(?:[!-~].*\r\n)*+)\r\n")
_STATUS = re.compile(rb"(?:(?:HTTP(?:/[\d.]*)?|ICY)[ \t]+){1,3}(\d{1,3})(?!\d)", re.I)
# a first line that is not a status line, but has fields below it
_ODD_HEAD = re.compile(
    rb"HTTP/|[^<\r\n]{1,200}\r?\n[A-Za-z][A-Za-z0-9-]{1,40}:[ \t]?[^\r\n]*\r?\n", re.I
)
_REQUEST_LINE = re.compile(rb"([A-Za-z][A-Za-z-]{0,31})[ \t]+\S")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.I)
_AFTER_TYPE = re.compile(r"[;,\s]")
_IDENTITY = frozenset(("", "identity", "none", "binary", "utf-8", "utf8", "8bit", "7bit"))
_LONGEST_KNOWN_TYPE = 128  # characters of a Content-Type
_MOST_CODINGS = 4
_MOST_INNER_BYTES = 1 << 24


class Fields:
    """The `name: value` lines of a head, looked up on demand.

    Callers read few of the many fields of HTTP heads, so this is faster than parsing them all.
    `lines` begins with the newline before the first field.
    """

    __slots__ = ("_lines", "_lower")

    def __init__(self, lines: bytes) -> None:
        self._lines = lines
        self._lower = lines.lower()

    def get(self, name: bytes) -> bytes:
        """Return the first value of a field, b"" if missing; `name` must be in lower case."""
        lower = self._lower
        start = lower.find(b"\n" + name)
        while start >= 0:
            after = start + 1 + len(name)
            if lower.startswith(b":", after):
                return self._value(after + 1)
            if blanks := _BLANKS_AND_COLON.match(lower, after):
                return self._value(blanks.end())
            start = lower.find(b"\n" + name, after)
        return b""

    def _value(self, start: int) -> bytes:
        """Return the rest of a line, joined with its continuation lines."""
        lines = self._lines
        end = lines.find(b"\n", start)
        if end < 0:
            return lines[start:].strip()
        if lines.startswith(_CONTINUING, end + 1) and (all_of := _CONTINUED.match(lines, start)):
            return _FOLD.sub(b" ", all_of[0]).strip()
        return lines[start:end].strip()


class SplitFields(Fields):
    """Fields parsed all at once, for the heads of WARC records, of which most fields are read.

    `found` has the names in lower case.
    """

    __slots__ = ("_found",)

    def __init__(self, found: Mapping[bytes, bytes]) -> None:
        self._found = found

    def get(self, name: bytes) -> bytes:
        return self._found.get(name, b"")


class ShapedFields(Fields):
    """The fields of a head with a known shape; `places` maps each name to its index in `values`.

    Values may be surrounded by blanks.
    """

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[bytes, int], values: Sequence[bytes]) -> None:
        self._places = places
        self._values = values

    def get(self, name: bytes) -> bytes:
        place = self._places.get(name)
        return b"" if place is None else self._values[place].strip()


def split_fields(lines: Sequence[bytes]) -> SplitFields:
    """Return the fields in lines; the first of repeated fields counts."""
    parts = [line.partition(b":") for line in reversed(lines)]
    return SplitFields({name.strip().lower(): value.strip() for name, _, value in parts})


def unfolded_lines(text: bytes) -> list[bytes]:
    """Return lines joined with their continuation lines."""
    folded = _FOLDED.search(text)
    return (_FOLD.sub(b" ", text) if folded else text).split(b"\n")


class HttpHead(NamedTuple):
    """The head of an HTTP response or request.

    `fields` are looked up by lower-case name; the first of repeated fields counts. `size` is in
    bytes, including the blank line. `status` is None if unreadable or missing.
    """

    fields: Fields
    size: int
    status: int | None = None
    method: str = ""

    def text(self, name: bytes) -> str:
        """Return the value of a field as text, "" if it is missing."""
        return to_text(self.fields.get(name))


NO_HEAD = HttpHead(Fields(b""), 0)


def response_head(block: bytes | memoryview) -> HttpHead:
    """Return the head at the start of a block, NO_HEAD if it has none.

    Accepts HTTP/0.9 to 2 and ICY, with or without a reason, and heads that end with the block. An
    invalid status (0, 999) is kept.
    """
    usual = _USUAL_HEAD.match(block, 0, _USUAL_HEAD_BYTES)
    if usual is not None:
        status, lines = usual.groups()
        return HttpHead(Fields(lines), usual.end(), int(status))
    start = bytes(block[:_USUAL_HEAD_BYTES])
    found = _STATUS.match(start)
    if found is None and not _ODD_HEAD.match(start):
        return NO_HEAD
    fields, size = _fields(start, block)
    return HttpHead(fields, size, int(found[1]) if found else None)


def request_method(block: bytes | memoryview) -> str:
    """Return the method of a request in upper case, "" if it has none."""
    found = _REQUEST_LINE.match(block)
    return found[1].decode("ascii").upper() if found else ""


def request_head(block: bytes | memoryview) -> HttpHead:
    """Return the head of a request, NO_HEAD if it has none."""
    start = bytes(block[:_USUAL_HEAD_BYTES])
    found = _REQUEST_LINE.match(start)
    if found is None:
        return NO_HEAD
    fields, size = _fields(start, block)
    return HttpHead(fields, size, method=found[1].decode("ascii").upper())


def head_end(data: bytes, start: int = 0) -> int:
    """Return the end of the head that begins at `start`, -1 if the data do not contain it."""
    blank = _BLANK_LINE.search(data, start)
    return blank.end() if blank else -1


def _fields(start: bytes, block: bytes | memoryview) -> tuple[Fields, int]:
    end = head_end(start)
    if end < 0 and len(start) < len(block):
        start = bytes(block[:_MAX_HEAD_BYTES])
        end = head_end(start)
    size = end if end >= 0 else len(start)
    return Fields(start[max(0, start.find(b"\n")) : size]), size


def to_text(value: bytes) -> str:
    """Return the value of a field, decoded as UTF-8, or else as ISO 8859-1."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("iso-8859-1")


def media_type(content_type: str) -> str:
    """Return the media type of a Content-Type, without parameters, in lower case."""
    known = len(content_type) <= _LONGEST_KNOWN_TYPE
    return _known_media_type(content_type) if known else _media_type(content_type)


def _media_type(content_type: str) -> str:
    return _AFTER_TYPE.split(content_type.strip(), maxsplit=1)[0].lower()


_known_media_type = lru_cache(maxsize=1024)(_media_type)


def charset_of(content_type: str) -> str:
    """Return the charset of a Content-Type, as sent, "" if it has none."""
    found = _CHARSET.search(content_type)
    return found[1] if found else ""


def is_coded(head: HttpHead) -> bool:
    """Return whether a head declares a transfer or content coding."""
    fields = head.fields
    return bool(fields.get(b"content-encoding") or fields.get(b"transfer-encoding"))


def decode_body(head: HttpHead, body: bytes | memoryview, limit: int) -> Decoded:
    """Return a body without transfer and content codings, at most `limit` bytes."""
    if not is_coded(head):
        return Decoded(bytes(body[:limit]), len(body) > limit)
    problems: list[str] = []
    cut = False
    if b"chunked" in head.fields.get(b"transfer-encoding").lower():
        body, cut, problem = dechunk(body, max(limit, len(body)))
        problems.append(problem)
    codings = _codings(head)
    for number, coding in enumerate(codings, 1):
        most = limit if number == len(codings) else max(limit, _MOST_INNER_BYTES)
        body, cut, problem = decode_content(coding, body, most)
        problems.append(problem)
    return Decoded(bytes(body[:limit]), cut or len(body) > limit, "; ".join(filter(None, problems)))


def _codings(head: HttpHead) -> list[str]:
    """Return the content codings to decode, in reverse order of their application."""
    names = [part.strip() for part in head.text(b"content-encoding").lower().split(",")]
    names = [name for name in names if name not in _IDENTITY][-_MOST_CODINGS:]
    return names[::-1]

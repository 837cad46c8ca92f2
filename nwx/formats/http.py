"""HTTP as it stands in records: heads of all ages, and bodies in their codings."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from nwx.formats.coding import Decoded, dechunk, decode_content

MAX_HEAD_BYTES = 1 << 20

_HEAD_END = re.compile(rb"\r?\n[ \t]*\r?\n")
_FIELD = re.compile(rb"^([^\s:][^:\r\n]*?)[ \t]*:[ \t]*([^\r\n]*)", re.M)
_FOLD = re.compile(rb"\r?\n[ \t]+")
_STATUS = re.compile(rb"(?:HTTP(?:/[\d.]*)?|ICY)[ \t]+(\d{1,3})(?!\d)", re.I)
# a first line that is no status line, but with fields below it
_ODD_HEAD = re.compile(
    rb"HTTP/|[^<\r\n]{1,200}\r?\n[A-Za-z][A-Za-z0-9-]{1,40}:[ \t]?[^\r\n]*\r?\n", re.I
)
_REQUEST_LINE = re.compile(rb"([A-Za-z][A-Za-z-]{0,31})[ \t]+\S")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.I)
_AFTER_TYPE = re.compile(r"[;,\s]")
_IDENTITY = frozenset(("", "identity", "none", "binary", "utf-8", "utf8", "8bit", "7bit"))
_MOST_CODINGS = 4

Fields = Mapping[bytes, bytes]


class HttpHead(NamedTuple):
    """The head of a response or a request.

    `fields` has names in lower case; of a name met twice the first
    counts. `size` is in bytes, the blank line included. `status` is None
    where the first line has none that can be read.
    """

    fields: Fields
    size: int
    status: int | None = None
    method: str = ""

    def text(self, name: bytes) -> str:
        """Return the value of a field, "" where it is not there."""
        return to_text(self.fields.get(name, b""))


NO_HEAD = HttpHead({}, 0)


def parse_fields(lines: bytes) -> dict[bytes, bytes]:
    """Return the `name: value` lines of a head, names in lower case, the first of each."""
    if b"\n " in lines or b"\n\t" in lines:
        lines = _FOLD.sub(b" ", lines)
    found = _FIELD.findall(lines)
    found.reverse()
    return {name.lower(): value for name, value in found}


def response_head(block: bytes | memoryview) -> HttpHead:
    """Return the head at the start of a block, NO_HEAD where there is none.

    Takes HTTP/0.9 to 2 and ICY with or without a reason, and heads that
    end with the block. A status that no server sends (0, 999) is kept.
    """
    start = bytes(block[:MAX_HEAD_BYTES])
    found = _STATUS.match(start)
    if found is None and not _ODD_HEAD.match(start):
        return NO_HEAD
    lines, size = _cut(start)
    return HttpHead(parse_fields(lines), size, int(found[1]) if found else None)


def request_head(block: bytes | memoryview) -> HttpHead:
    """Return the head of a request, NO_HEAD where there is none."""
    start = bytes(block[:MAX_HEAD_BYTES])
    found = _REQUEST_LINE.match(start)
    if found is None:
        return NO_HEAD
    lines, size = _cut(start)
    return HttpHead(parse_fields(lines), size, method=found[1].decode("ascii").upper())


def _cut(start: bytes) -> tuple[bytes, int]:
    first_end = start.find(b"\n") + 1
    if not first_end:
        return b"", len(start)
    end = _HEAD_END.search(start)
    if end is None:
        return start[first_end:], len(start)
    return start[first_end : end.start() + 1], end.end()


def to_text(value: bytes) -> str:
    """Return a field's value: UTF-8, or else ISO 8859-1."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("iso-8859-1")


def media_type(content_type: str) -> str:
    """Return a Content-Type without its parameters, in lower case."""
    return _AFTER_TYPE.split(content_type.strip(), maxsplit=1)[0].lower()


def charset_of(content_type: str) -> str:
    """Return the charset of a Content-Type as it was sent, "" where there is none."""
    found = _CHARSET.search(content_type)
    return found[1] if found else ""


def decode_body(head: HttpHead, body: bytes | memoryview, limit: int) -> Decoded:
    """Return a body without transfer and content codings, at most `limit` bytes of it."""
    if not head.fields.keys() & {b"transfer-encoding", b"content-encoding"}:
        return Decoded(bytes(body[:limit]), len(body) > limit)
    problems: list[str] = []
    cut = False
    if b"chunked" in head.fields.get(b"transfer-encoding", b"").lower():
        body, cut, problem = dechunk(body, max(limit, len(body)))
        problems.append(problem)
    for coding in _codings(head):
        body, cut, problem = decode_content(coding, body, limit)
        problems.append(problem)
    return Decoded(bytes(body[:limit]), cut or len(body) > limit, "; ".join(filter(None, problems)))


def _codings(head: HttpHead) -> list[str]:
    """Return the content codings to take off, the last put on first."""
    names = [part.strip() for part in head.text(b"content-encoding").lower().split(",")]
    names = [name for name in names if name not in _IDENTITY][-_MOST_CODINGS:]
    return names[::-1]

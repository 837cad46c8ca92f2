"""Records of WARC and ARC files, and the parsing of their heads."""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from nwx.values.codings import UnchunkedHash, dechunk
from nwx.values.http import (
    NO_HEAD,
    Fields,
    HttpHead,
    ShapedFields,
    request_head,
    response_head,
    split_fields,
    unfolded_lines,
)

TYPES = frozenset(
    (
        "warcinfo",
        "response",
        "resource",
        "request",
        "metadata",
        "revisit",
        "conversion",
        "continuation",
    )
)
UNKNOWN_TYPE = "unknown"

_HTTP_KINDS = frozenset(("response", "request", "revisit"))
_HTTP_URL = re.compile(rb"\s*<?https?:", re.I)


class Record:
    """A record: its head (stored bytes and fields), location, and the kept part of its block.

    ARC records have the fields of a WARC response. `length` is the stored length of the member, or
    of head and block. `block` has only the first bytes of a block longer than the limit; digests
    of such blocks must be requested before the rest is read (`hashers`).
    """

    __slots__ = (
        "block",
        "block_length",
        "fields",
        "format",
        "hashers",
        "head",
        "http",
        "kind",
        "length",
        "offset",
    )

    def __init__(self, kind: str, fmt: str, fields: Fields, offset: int) -> None:
        self.kind = kind
        self.format = fmt
        self.fields = fields
        self.offset = offset
        self.head = b""
        self.length = 0
        self.block: bytes | memoryview = b""
        self.block_length = 0
        self.hashers: dict[tuple[str, int], Any] | None = None
        self.http: HttpHead | None = None

    def http_head(self) -> HttpHead:
        """Return the HTTP head at the start of the block, NO_HEAD if it has none."""
        if self.http is None:
            self.http = self._read_http_head()
        return self.http

    def _read_http_head(self) -> HttpHead:
        if self.kind not in _HTTP_KINDS or not _HTTP_URL.match(self.fields.get(b"warc-target-uri")):
            return NO_HEAD
        return request_head(self.block) if self.kind == "request" else response_head(self.block)

    def body(self) -> bytes | memoryview:
        """Return the kept part of the block, without the HTTP head."""
        return self.block[self.http_head().size :]

    @property
    def kept_whole(self) -> bool:
        """Whether `block` is the whole block."""
        return len(self.block) == self.block_length

    def digest(self, algorithm: str, start: int = 0) -> bytes | None:
        """Return the digest of the block from `start`, None if it was not requested in time."""
        if self.kept_whole:
            block = self.block[start:]
            return hashlib.new(algorithm, block, usedforsecurity=False).digest()
        hasher = (self.hashers or {}).get((algorithm, start))
        return None if hasher is None else hasher.digest()

    def ask(self, algorithm: str, start: int) -> None:
        """Request a digest of a block longer than the kept bytes."""
        hasher = hashlib.new(algorithm, self.block[start:], usedforsecurity=False)
        self.hashers = {**(self.hashers or {}), (algorithm, start): hasher}

    def ask_unchunked(self, algorithm: str) -> None:
        """Request a digest of the dechunked body of a block longer than the kept bytes."""
        hasher = UnchunkedHash(algorithm)
        hasher.update(self.body())
        self.hashers = {**(self.hashers or {}), (algorithm, _UNCHUNKED): hasher}

    def unchunked_digest(self, algorithm: str) -> bytes | None:
        """Return the digest of the dechunked body, None if it was not requested in time."""
        if not self.kept_whole:
            return self.digest(algorithm, _UNCHUNKED)
        body = bytes(self.body())
        plain = dechunk(body, len(body)).data
        return hashlib.new(algorithm, plain, usedforsecurity=False).digest()


WARC_MAGIC = b"WARC/"
RECORD_END = b"\r\n\r\n"
_UNCHUNKED = -1  # instead of an offset
MAX_HEAD_BYTES = 1 << 20

_WARC_LINE = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n")
_ARC_DATE = re.compile(rb"\d{8,20}")
# Address and date in odd ARC records: text after the date, a hexadecimal number
# instead of it, or both in reverse order. The Internet Archive's CDX-Writer has
# a test file of each kind.
_ADDRESS = rb"\d{1,3}(?:\.\d{1,3}){3}|[\da-fA-F.]*:[\da-fA-F:.]+|None|unknown|-"
_ODD_PLACE = re.compile(
    rb" (?:("
    + _ADDRESS
    + rb") (\d{8,20}[A-Za-z]{0,10}|[\da-f]{16,40})|(\d{14,20}) ("
    + _ADDRESS
    + rb")) "
)
_LAST = re.compile(rb"-?\w+")
_USUAL_VERSIONS = frozenset((b"WARC/1.0", b"WARC/1.1", b"WARC/0.17", b"WARC/0.18"))
_HEAD_END = b"\r\n\r\n"
_USUAL_BYTES = 4096
_LONGEST_NUMBER = 18
# The byte of a head by which its shape is looked up: if the record type comes first, as it mostly
# does, this byte distinguishes "response" from "request" and other types.
_TELLING = len("WARC/1.0\r\nWARC-Type: re")
_MOST_SHAPES = 8  # of heads with the same byte there
_NAME = re.compile(rb"[A-Za-z][A-Za-z0-9-]*+")
_KINDS = {kind.encode(): kind for kind in TYPES}


class Head(NamedTuple):
    """The head of a record; `length` is None if missing or implausible."""

    kind: str
    fields: Fields
    length: int | None
    size: int


class _Shape(NamedTuple):
    """The field positions of heads with the same lines, and the pattern that matches them."""

    places: Mapping[bytes, int]
    type_place: int
    length_place: int
    pattern: re.Pattern[bytes]


class UsualHeads:
    """Parser for the record heads of one file; most have the same few shapes.

    A head of a known shape is parsed by one regular expression.
    """

    def __init__(self) -> None:
        self._shapes: dict[int, list[_Shape]] = {}

    def record(self, data: bytes | bytearray, offset: int, most: int) -> Record | None:
        """Return the record if `data` is exactly one record with a known head, else None.

        Also None for a block of more than `most` bytes.
        """
        for shape in self._shapes.get(data[_TELLING], ()) if len(data) > _TELLING else ():
            found = shape.pattern.match(data)
            if found is not None:
                break
        else:
            return None
        size = found.end()
        if size > _USUAL_BYTES or data.find(WARC_MAGIC, len(WARC_MAGIC), size) >= 0:
            return None
        values = found.groups()
        length = len(data) - size - len(RECORD_END)
        if length > most or values[shape.length_place] != b"%d" % length:
            return None
        if not data.endswith(RECORD_END):
            return None
        kind = _KINDS.get(values[shape.type_place])
        if kind is None:
            return None
        record = Record(kind, "warc", ShapedFields(shape.places, values), offset)
        record.head = found[0]
        record.block = memoryview(data)[size : size + length]
        record.block_length = length
        return record

    def head(self, data: bytes | bytearray) -> Head | None:
        """Return the result of `usual_head`, faster for known shapes."""
        shapes = self._shapes.get(data[_TELLING], ()) if len(data) > _TELLING else ()
        for shape in shapes:
            found = shape.pattern.match(data)
            if found is not None:
                end = found.end()
                if end > _USUAL_BYTES or data.find(WARC_MAGIC, len(WARC_MAGIC), end) >= 0:
                    return None
                return _head_of(ShapedFields(shape.places, found.groups()), end)
        text = bytes(data[:_USUAL_BYTES])
        head = usual_head(text)
        if head is not None and len(shapes) < _MOST_SHAPES and head.size > _TELLING:
            self._learn(text[: head.size])
        return head

    def _learn(self, text: bytes) -> None:
        shape = _shape_of(tuple(line.partition(b":")[0] for line in text.split(b"\r\n")[:-2]))
        if shape is not None:
            self._shapes.setdefault(text[_TELLING], []).append(shape)


@lru_cache(maxsize=256)
def _shape_of(line_starts: tuple[bytes, ...]) -> _Shape | None:
    """Return the shape of heads with these line starts (version, names), None if unusual."""
    version, *names = line_starts
    lower = tuple(name.lower() for name in names)
    if len(set(lower)) < len(lower) or not all(map(_NAME.fullmatch, names)):
        return None
    lines = [rb"%b: ?+(.*)\r\n" % re.escape(name) for name in names]
    pattern = rb"%b\r\n%b\r\n" % (re.escape(version), b"".join(lines))
    places = {name: place for place, name in enumerate(lower)}
    type_place, length_place = places.get(b"warc-type"), places.get(b"content-length")
    if type_place is None or length_place is None:
        return None
    return _Shape(places, type_place, length_place, re.compile(pattern))


def usual_head(data: bytes) -> Head | None:
    """Return the head of a WARC record in the usual form, None for any other form.

    Equal to `warc_head` for CRLF line ends without continuation lines; None does not mean that the
    head is invalid.
    """
    end = data.find(_HEAD_END, 0, _USUAL_BYTES)
    if end < 0:
        return None
    text = data[:end]
    lines = text.split(b"\r\n")
    if lines[0] not in _USUAL_VERSIONS or text.count(b"\n") >= len(lines):
        return None
    if b"\n " in text or b"\n\t" in text or WARC_MAGIC in text[len(WARC_MAGIC) :]:
        return None
    return _head_of(split_fields(lines), end + len(_HEAD_END))


def warc_head(data: bytes, start: int, end: int) -> Head | None:
    """Return the head in `data[start:end]`, None if it is not a WARC head."""
    line = _WARC_LINE.match(data, start, end)
    if line is None:
        return None
    if data.find(WARC_MAGIC, line.end(), end) >= 0 and _WARC_LINE.search(data, line.end(), end):
        return None  # the next record begins where this head breaks off
    return _head_of(split_fields(unfolded_lines(data[line.end() : end])), end - start)


def _head_of(fields: Fields, size: int) -> Head:
    kind = _KINDS.get(fields.get(b"warc-type").lower(), UNKNOWN_TYPE)
    return Head(kind, fields, _length(fields.get(b"content-length")), size)


def arc_head(line: bytes) -> Head | None:
    """Return the head of an ARC record (version 1 or 2), None if the line is invalid.

    Its fields are named as in a WARC record. The date is as stored, cut to 14 digits; a month or
    day of 00 is unknown, and becomes 01.
    """
    text = line.rstrip(b"\r\n")
    parts = text.rsplit(b" ", 4)
    if len(parts) != 5 or not _ARC_DATE.fullmatch(parts[2]):
        parts = text.rsplit(b" ", 9)  # version 2 has five fields more before the length
        if len(parts) != 10 or not _ARC_DATE.fullmatch(parts[2]):
            parts = _odd_arc_parts(text)
    if len(parts) < 5 or b":" not in parts[0]:
        return None
    url, address, date, content_type, length = *parts[:4], parts[-1]
    lines = (
        b"WARC-Target-URI: " + url,
        b"WARC-IP-Address: " + address,
        b"WARC-Date: " + _arc_date(date),
        b"Content-Type: " + content_type,
    )
    kind = "warcinfo" if url.startswith(b"filedesc:") else "response"
    return Head(kind, split_fields(lines), _length(length), len(line))


def _odd_arc_parts(text: bytes) -> list[bytes]:
    """Return the five fields of a head with a blank in its content type, or an odd date."""
    start, _, length = text.rpartition(b" ")
    places = list(_ODD_PLACE.finditer(start))
    if not places or not _LAST.fullmatch(length):
        return []
    found = places[-1]  # the last, as a URL may contain anything
    address, date = found[1] or found[4], found[2] or found[3]
    return [start[: found.start()], address, date, start[found.end() :], length]


def _arc_date(text: bytes) -> bytes:
    date = text[:14]
    if not date.isdigit():
        return text
    if b"00" in (date[4:6], date[6:8]):
        month, day = date[4:6].replace(b"00", b"01"), date[6:8].replace(b"00", b"01")
        return date[:4] + month + day + date[8:]
    return date


def _length(text: bytes) -> int | None:
    return int(text) if text.isdigit() and len(text) <= _LONGEST_NUMBER else None

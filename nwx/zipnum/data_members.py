"""The gzip members of a data file, found without its index, damaged ones too."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isal import igzip_lib

from nwx.values.codings import INFLATE_ERRORS
from nwx.zipnum.block_text import MOST_INFLATED_BYTES
from nwx.zipnum.remote_bytes import LocalFile, StoredBytes

_MAGIC = b"\x1f\x8b\x08"
_READ_BYTES = 1 << 18
_PIECE_BYTES = 1 << 20
_LOOK_BYTES, _LOOK_INFLATED = 1 << 12, 1 << 11
_LINE_START = re.compile(rb"[^ \n]+ [0-9]{4,14} ")


@dataclass(frozen=True, slots=True)
class Member:
    """A gzip member: where it lies, and what it holds, of a torn one what could be inflated."""

    offset: int
    length: int
    content: bytes
    fault: str = ""


def members(stored: StoredBytes) -> Iterator[Member]:
    """Yield the members of a file in its order, and a torn one for whatever lies between."""
    offset = 0
    while offset < stored.size:
        found = _member(stored, offset)
        if found.fault:
            length = _next(stored, offset + 1) - offset
            found = Member(offset, length, found.content, found.fault)
        yield found
        offset += found.length


def holds_lines(path: Path) -> bool:
    """Return whether a file begins with a gzip member of CDX lines."""
    stored = LocalFile(path)
    try:
        return _holds_lines(stored.read(0, _LOOK_BYTES))
    finally:
        stored.close()


def member_size(data: bytes) -> int:
    """Return how many bytes the whole gzip member at the start of `data` takes."""
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    given = data
    while not decoder.eof:
        decoder.decompress(given, _PIECE_BYTES)
        given = b""
    return len(data) - len(decoder.unused_data)


def _member(stored: StoredBytes, offset: int) -> Member:
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    content = bytearray()
    at, given, fault = offset, b"", ""
    while not decoder.eof and not fault:
        if decoder.needs_input:
            given = stored.read(at, _READ_BYTES)
            at += len(given)
            fault = "" if given else "the gzip member is cut off"
        try:
            content += decoder.decompress(given, _PIECE_BYTES)
        except INFLATE_ERRORS as error:
            fault = f"the gzip member is damaged ({error})"
        given = b""
        if len(content) > MOST_INFLATED_BYTES:
            content.clear()
            fault = f"it inflates to more than {MOST_INFLATED_BYTES} bytes"
    length = at - offset - (0 if fault else len(decoder.unused_data))
    return Member(offset, length, bytes(content), fault)


def _next(stored: StoredBytes, offset: int) -> int:
    """Return where the next member that holds lines begins, the end of the file for none."""
    while window := stored.read(offset, _READ_BYTES + len(_MAGIC)):
        place = window.find(_MAGIC)
        while place >= 0:
            if _holds_lines(stored.read(offset + place, _LOOK_BYTES)):
                return offset + place
            place = window.find(_MAGIC, place + 1)
        offset += _READ_BYTES
    return stored.size


def _holds_lines(start: bytes) -> bool:
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    try:
        return _LINE_START.match(decoder.decompress(start, _LOOK_INFLATED)) is not None
    except INFLATE_ERRORS:
        return False

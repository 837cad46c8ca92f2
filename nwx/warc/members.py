"""From the bytes of a stored file to its members, whatever its compression."""

import io
import re
from collections.abc import Callable
from typing import BinaryIO

from nwx.warc.gzip_members import (
    GZIP_MAGIC,
    RECORD_START,
    GzipMembers,
    Members,
    PlainMembers,
    starts_gzip_record,
)
from nwx.warc.stored_bytes import READ_FAILURES, Raw
from nwx.warc.zstd_members import (
    SKIPPABLE,
    ZSTD_MAGIC,
    ZstdMembers,
    has_dictionary,
    read_dictionary,
)

__all__ = ["READ_FAILURES", "RECORD_START", "Members", "open_members"]


_FRONT_BYTES = 1 << 15
_UNSEEKABLE_FRONT_BYTES = 1 << 20
# Where a record may begin in a file whose front is damaged.
_BEGINNING = re.compile(
    re.escape(GZIP_MAGIC)
    + b"|"
    + re.escape(ZSTD_MAGIC)
    + rb"|(?<=\n)(?:"
    + RECORD_START.pattern
    + rb")"
)
_FILLING = re.compile(rb"[\r\n\0]*")


def open_members(handle: BinaryIO, start: int = 0) -> Members:
    """Return the members of a file, whatever its compression.

    They begin at `start` if that is a place where one can begin; else at 0,
    which the caller has to expect. Where the front of the file is damaged,
    the first record that can be made out tells the compression.
    """
    raw = Raw(handle)
    magic = _magic(raw.peek(_FRONT_BYTES))
    if magic is None:
        magic = _magic_behind(raw, handle)
        raw = _rewound(raw, handle)
    if magic == GZIP_MAGIC:
        return GzipMembers(_moved(raw, handle, start, starts_gzip_record))
    if magic == ZSTD_MAGIC:
        members = ZstdMembers(raw, read_dictionary(raw))
        members.raw = _moved(raw, handle, start, members.starts_record)
        return members
    return PlainMembers(_moved(raw, handle, start, lambda raw: bool(raw.peek(1))))


def _magic(front: bytes) -> bytes | None:
    """Return the magic of the compression of a file, b"" of none, None where it cannot be told."""
    if front.startswith(GZIP_MAGIC[:2]):
        return GZIP_MAGIC
    if front.startswith(ZSTD_MAGIC) or SKIPPABLE.match(front) or has_dictionary(front):
        return ZSTD_MAGIC
    filling = _FILLING.match(front)
    return b"" if RECORD_START.match(front, filling.end() if filling else 0) else None


def _magic_behind(raw: Raw, handle: BinaryIO) -> bytes:
    """Return the magic of the compression of the first record behind a damaged front."""
    if handle.seekable():
        handle.seek(0)
        raw = Raw(handle)
    else:
        raw = Raw(io.BytesIO(raw.peek(_UNSEEKABLE_FRONT_BYTES)))
    while True:
        found = _BEGINNING.search(raw.data, raw.pos)
        if found is None:
            raw.pos = max(raw.pos, len(raw.data) - _FRONT_BYTES)
            if not raw.fill():
                return b""
            continue
        raw.pos = found.start()
        if found[0] not in (GZIP_MAGIC, ZSTD_MAGIC):
            return b""
        if found[0] == GZIP_MAGIC and starts_gzip_record(raw):
            return GZIP_MAGIC
        if found[0] == ZSTD_MAGIC and ZstdMembers(raw).starts_record(raw):
            return ZSTD_MAGIC
        raw.pos += 1


def _rewound(raw: Raw, handle: BinaryIO) -> Raw:
    """Return the bytes of a file from its start, once more where they have gone by."""
    if not handle.seekable():
        return raw
    handle.seek(0)
    return Raw(handle)


def _moved(raw: Raw, handle: BinaryIO, start: int, good: Callable[[Raw], bool]) -> Raw:
    if start == 0 or not handle.seekable():
        return raw
    moved = Raw(handle, start)
    return moved if good(moved) else _rewound(raw, handle)

"""From the bytes of a stored file to its members, whatever its compression."""

from collections.abc import Callable
from typing import BinaryIO

from nwx.formats.frames import SKIPPABLE, ZSTD_MAGIC, ZstdMembers, read_dictionary
from nwx.formats.inflating import (
    GZIP_MAGIC,
    RECORD_START,
    GzipMembers,
    Members,
    PlainMembers,
    starts_gzip_record,
)
from nwx.formats.stored import BLOCK_BYTES, READ_FAILURES, Raw

__all__ = ["READ_FAILURES", "RECORD_START", "Members", "open_members"]


def open_members(handle: BinaryIO, start: int = 0) -> Members:
    """Return the members of a file, whatever its compression.

    They begin at `start` if that is a place where one can begin; else at 0,
    which the caller has to expect.
    """
    raw = Raw(handle)
    magic = raw.peek(4)
    if magic[:2] == GZIP_MAGIC[:2]:
        return GzipMembers(_moved(raw, handle, start, starts_gzip_record))
    if magic == ZSTD_MAGIC or SKIPPABLE.match(magic):
        members = ZstdMembers(raw, read_dictionary(raw))
        members.raw = _moved(raw, handle, start, members.starts_record)
        return members
    return PlainMembers(_moved(raw, handle, start, bool))


def _moved(raw: Raw, handle: BinaryIO, start: int, good: Callable[[bytes], bool]) -> Raw:
    if start == 0 or not handle.seekable():
        return raw
    moved = Raw(handle, start)
    if good(moved.peek(BLOCK_BYTES)):
        return moved
    handle.seek(0)
    return Raw(handle)

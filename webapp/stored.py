"""Stored records for playback: the bytes of one record, whatever its file is compressed with."""

import io
from typing import Any, BinaryIO
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from nwx.errors import SourceError
from nwx.formats.members import RECORD_START, Members, open_members
from nwx.sources import Source

SCHEME = "nwx"
_START_BYTES = 20_000


def stored_address(path: str, member: str) -> str:
    """Return an address for a local archive file, or for a WARC inside the WACZ at `path`."""
    query = f"?{urlencode({'member': member})}" if member else ""
    return f"{SCHEME}://{quote(path)}{query}"


def file_key(collection: str, name: str) -> str:
    """Return what playback knows a file by; two collections may have files of one name."""
    return f"{quote(collection, safe='')}/{quote(name, safe='')}"


def open_record(address: str, offset: int) -> io.BufferedReader:
    """Return the bytes of the record at an offset and of those after it, decompressed.

    Raises SourceError where the file cannot be read or no record is there.
    """
    parts = urlsplit(address)
    member = parse_qs(parts.query).get("member", [""])[0]
    path = unquote(parts.netloc + parts.path)
    handle = Source(path, path, None, member).open()
    try:
        members = open_members(handle, offset)
        if not _reach(members, offset):
            raise SourceError(
                f"{path} has no record at {offset}: it has changed since its import,"
                " or several of its gzip members hold several records"
            )
    except BaseException:
        handle.close()
        raise
    return io.BufferedReader(_RecordStream(members, handle))


def _reach(members: Members, offset: int) -> bool:
    """Go to the record of an offset; False where there is none.

    The offset is that of its member. Of several records in a member, the
    later ones count on from there by their inflated bytes, as the import
    does (`nwx.formats.scanner`).
    """
    while members.next():
        start = members.start if members.coding else 0
        if start > offset:
            return False
        if start == offset and members.coding:
            return True
        if _forward(members, offset - start) and RECORD_START.match(_peek(members)):
            return True
    return False


def _forward(members: Members, inflated: int) -> bool:
    """Go on within a member to a number of inflated bytes; False where it ends before."""
    while members.inflated + len(members.data) <= inflated:
        members.pos = len(members.data)
        if not members.more():
            return False
    members.pos = inflated - members.inflated
    return members.pos >= 0


def _peek(members: Members) -> bytes:
    while len(members.data) - members.pos < _START_BYTES and members.more():
        pass
    return members.data[members.pos : members.pos + _START_BYTES]


class _RecordStream(io.RawIOBase):
    """The rest of a member as a file."""

    def __init__(self, members: Members, handle: BinaryIO) -> None:
        self._members = members
        self._handle = handle

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer; 0 at the end of the member."""
        members = self._members
        if members.pos >= len(members.data) and not members.more():
            return 0
        piece = members.data[members.pos : members.pos + len(buffer)]
        buffer[: len(piece)] = piece
        members.pos += len(piece)
        return len(piece)

    def close(self) -> None:
        """Close the archive file."""
        self._handle.close()
        super().close()

"""A record at its place in a stored file, whatever the file is compressed with."""

import io
from typing import Any, BinaryIO

from nwx.warc.members import RECORD_START, Members, open_members

_START_BYTES = 20_000


def record_at(handle: BinaryIO, offset: int) -> io.BufferedReader | None:
    """Return the bytes of the record at an offset and of those after it, decompressed.

    Closing it closes the file. None where no record is there; the file
    then stays open.
    """
    members = open_members(handle, offset)
    return io.BufferedReader(_RecordStream(members, handle)) if _reach(members, offset) else None


def is_damaged(record: io.BufferedReader) -> bool:
    """Return whether what was read of a record so far is of damaged data.

    What can be saved of such data is given nevertheless, for whoever wants to see it.
    """
    return isinstance(record.raw, _RecordStream) and record.raw.is_damaged()


def _reach(members: Members, offset: int) -> bool:
    """Go to the record of an offset; False where there is none.

    The offset is that of its member. Of several records in a member, the
    later ones count on from there by their inflated bytes, as the import
    does (`nwx.warc.scanner`).
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

    def is_damaged(self) -> bool:
        """Return whether the member did not end in good order."""
        return self._members.broken

    def close(self) -> None:
        """Close the archive file."""
        self._handle.close()
        super().close()

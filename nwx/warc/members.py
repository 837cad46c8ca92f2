"""Members of a file of any compression (gzip, zstd, none), and access to records by offset."""

import io
import re
import struct
from collections.abc import Callable
from typing import Any, BinaryIO

from nwx.values.zstd import zstd
from nwx.warc.gzip_members import (
    GZIP_MAGIC,
    RECORD_START,
    GzipMembers,
    Members,
    PlainMembers,
    search_member,
    starts_gzip_record,
)
from nwx.warc.stored_bytes import BLOCK_BYTES, READ_FAILURES, Raw, RecordFault

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.S)

_DICTIONARY = b"\x5d\x2a\x4d\x18"
_DICTIONARY_MAGIC = b"\x37\xa4\x30\xec"
_MOST_HEAD_BYTES = 18 + 3
_MOST_DICTIONARY_BYTES = 1 << 26
_WINDOW = {int(zstd.DecompressionParameter.window_log_max): 27}


class ZstdMembers(Members):
    """Frames of a zstd file, with or without a leading dictionary (WARC-zstd 1.0).

    Frames are decoded block by block; a block inflates to at most 128 KiB.
    """

    __slots__ = ("_blocks_left", "_checksum", "_decoder", "_dictionary")

    coding = "zstd"

    def __init__(self, raw: Raw, dictionary: bytes = b"") -> None:
        super().__init__(raw)
        is_raw = not dictionary.startswith(_DICTIONARY_MAGIC)
        self._dictionary = zstd.ZstdDict(dictionary, is_raw=is_raw) if dictionary else None
        self._decoder = self._new_decoder()
        self._blocks_left = self._checksum = False

    def next(self) -> bool:
        self.skip()
        raw = self.raw
        while not self.broken and SKIPPABLE.match(raw.peek(4)) and len(raw.peek(8)) == 8:
            raw.skip(8 + struct.unpack("<I", raw.peek(8)[4:])[0])
        if (self.broken or raw.peek(4) != ZSTD_MAGIC) and not self._found():
            return False
        self._begin(raw.offset)
        self._decoder = self._new_decoder()
        self.data = self._first_piece()
        return True

    def goes_on(self) -> bool:
        head = self.raw.peek(4)
        return not self.broken and (head == ZSTD_MAGIC or SKIPPABLE.match(head) is not None)

    def _new_decoder(self) -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(self._dictionary, _WINDOW)

    def _found(self) -> bool:
        raw = self.raw
        if not self.broken:
            start = raw.offset
            if not raw.skip_zeros():
                return False
            self.faults.append(RecordFault(start, "zstd", "bytes that are not a zstd frame"))
        return search_member(raw, ZSTD_MAGIC, self.starts_record)

    def starts_record(self, raw: Raw) -> bool:
        """Return whether a frame with a record begins at the next byte."""
        start = raw.peek(_MOST_HEAD_BYTES)
        if not start.startswith(ZSTD_MAGIC):
            return False
        size, _ = _frame_head(start)
        block = int.from_bytes(start[size : size + 3], "little")
        size += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
        try:
            inflated = self._new_decoder().decompress(raw.peek(min(size, BLOCK_BYTES)))
        except zstd.ZstdError:
            return False
        return RECORD_START.match(inflated) is not None

    def _first_piece(self) -> bytes:
        size, self._checksum = _frame_head(self.raw.peek(18))
        self._blocks_left = True
        piece = self._decode(self.raw.take(size))
        return piece or (b"" if self.ended else self._piece())

    def _piece(self) -> bytes:
        while not self.ended:
            if not self._blocks_left:
                self._finish()
                return b""
            piece = self._decode(self._next_block())
            if piece:
                return piece
        return b""

    def _next_block(self) -> bytes:
        """Return the next block of the frame with its head; the last with the checksum."""
        head = self.raw.peek(3)
        number = int.from_bytes(head, "little")
        size = 1 if number >> 1 & 3 == 1 else number >> 3
        if number & 1:
            self._blocks_left = False
            size += 4 * self._checksum
        block = self.raw.peek(3 + size)
        return self.raw.take(3 + size) if len(block) == 3 + size else b""

    def _decode(self, stored: bytes) -> bytes:
        if not stored:
            self._break("the zstd frame is cut off by the end of the file")
            return b""
        try:
            piece = self._decoder.decompress(stored)
        except zstd.ZstdError as error:
            self._break(f"the zstd frame is damaged ({error})")
            self.end = self.start  # its end is unknown
            return b""
        if not self._blocks_left and not self.ended:
            self._finish()
        return piece


def _frame_head(start: bytes) -> tuple[int, bool]:
    """Return the size of a frame's head (RFC 8878, 3.1.1.1), and whether it has a checksum."""
    descriptor = start[4] if len(start) > 4 else 0
    single = descriptor >> 5 & 1
    content = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    size = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3] + content
    return size, bool(descriptor >> 2 & 1)


def has_dictionary(front: bytes) -> bool:
    """Return whether a file that begins with `front` has a leading dictionary."""
    return front[8:12] in (ZSTD_MAGIC, _DICTIONARY_MAGIC)


def read_dictionary(raw: Raw) -> bytes:
    """Return the dictionary at the start of a file, b"" if it has none.

    The magic number before it may be damaged.
    """
    head = raw.peek(12)
    if len(head) < 12 or not (head[:4] == _DICTIONARY or has_dictionary(head)):
        return b""
    size = struct.unpack("<I", head[4:8])[0]
    if size > _MOST_DICTIONARY_BYTES:
        return b""
    stored = raw.peek(8 + size)[8:]
    if stored[:4] != ZSTD_MAGIC:
        return stored if stored[:4] == _DICTIONARY_MAGIC else b""
    try:
        return zstd.ZstdDecompressor().decompress(stored, _MOST_DICTIONARY_BYTES)
    except zstd.ZstdError:
        return b""


__all__ = ["READ_FAILURES", "RECORD_START", "Members", "open_members"]


_FRONT_BYTES = 1 << 15
_UNSEEKABLE_FRONT_BYTES = 1 << 20
# Possible starts of a record in a file whose front is damaged.
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
    """Return the members of a file, with the compression detected from its content.

    They begin at `start` if a member can begin there, else at 0; the caller must expect both. If
    the front of the file is damaged, the first recognizable record determines the compression.
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
    """Return the magic number of a file's compression, b"" if uncompressed, None if unknown."""
    if front.startswith(GZIP_MAGIC[:2]):
        return GZIP_MAGIC
    if front.startswith(ZSTD_MAGIC, _skipped(front)) or has_dictionary(front):
        return ZSTD_MAGIC
    filling = _FILLING.match(front)
    return b"" if RECORD_START.match(front, filling.end() if filling else 0) else None


def _skipped(front: bytes) -> int:
    """Return the end of the skippable zstd frames at the start of a file."""
    place = 0
    while SKIPPABLE.match(front, place) and len(front) >= place + 8:
        place += 8 + struct.unpack_from("<I", front, place + 4)[0]
    return place


def _magic_behind(raw: Raw, handle: BinaryIO) -> bytes:
    """Return the compression magic number of the first record after a damaged front."""
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
    """Return the bytes of a file from its start again, if it is seekable."""
    if not handle.seekable():
        return raw
    handle.seek(0)
    return Raw(handle)


def _moved(raw: Raw, handle: BinaryIO, start: int, good: Callable[[Raw], bool]) -> Raw:
    if start == 0 or not handle.seekable():
        return raw
    moved = Raw(handle, start)
    return moved if good(moved) else _rewound(raw, handle)


_START_BYTES = 20_000


def record_at(handle: BinaryIO, offset: int) -> io.BufferedReader | None:
    """Return the decompressed bytes from the record at an offset to the end of its members.

    Closing it closes the file. None if the offset has no record; the file then stays open.
    """
    members = open_members(handle, offset)
    return io.BufferedReader(_RecordStream(members, handle)) if _reach(members, offset) else None


def is_damaged(record: io.BufferedReader) -> bool:
    """Return whether damage was found in the data of a record read so far.

    Reads return the bytes salvaged from such data anyway.
    """
    return isinstance(record.raw, _RecordStream) and record.raw.is_damaged()


def _reach(members: Members, offset: int) -> bool:
    """Advance to the record at an offset; False if it is missing.

    The offset is that of the member; the offsets of additional records in a member continue in
    inflated bytes, as in the import (`nwx.warc.scanner`).
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
    """Advance within a member to a position in inflated bytes; False if it ends before."""
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
    """The rest of a member, and of those that continue it, as a file."""

    def __init__(self, members: Members, handle: BinaryIO) -> None:
        self._members = members
        self._handle = handle
        self._ended = self._damaged = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer; 0 at the end of the members."""
        members = self._members
        while not self._ended and members.pos >= len(members.data) and not members.more():
            self._join()
        if self._ended:
            return 0
        piece = members.data[members.pos : members.pos + len(buffer)]
        buffer[: len(piece)] = piece
        members.pos += len(piece)
        return len(piece)

    def _join(self) -> None:
        """Advance to the next member if it continues this one, as in the import; or end."""
        members = self._members
        self._damaged = members.broken
        is_last = not members.goes_on() or not members.next()
        self._ended = is_last or RECORD_START.match(members.data) is not None

    def is_damaged(self) -> bool:
        """Return whether a member did not end properly."""
        return self._damaged if self._ended else self._members.broken

    def close(self) -> None:
        self._handle.close()
        super().close()

"""zstd files as frames, with or without a dictionary in front (WARC-zstd 1.0)."""

import re
import struct

import zstandard

from nwx.warc.gzip_members import RECORD_START, Members, search_member
from nwx.warc.stored_bytes import BLOCK_BYTES, Raw, RecordFault

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.S)

_DICTIONARY = b"\x5d\x2a\x4d\x18"
_DICTIONARY_MAGIC = b"\x37\xa4\x30\xec"
_MOST_HEAD_BYTES = 18 + 3
_MOST_DICTIONARY_BYTES = 1 << 26
_MOST_WINDOW_BYTES = 1 << 27


class ZstdMembers(Members):
    """A file of zstd frames, with or without a dictionary in front (WARC-zstd 1.0).

    Frames are fed to the decoder block by block, of which none inflates to
    more than 128 KiB.
    """

    __slots__ = ("_blocks_left", "_checksum", "_decoder", "_dictionary")

    coding = "zstd"

    def __init__(self, raw: Raw, dictionary: bytes = b"") -> None:
        super().__init__(raw)
        self._dictionary = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        self._decoder = self._new_decoder()
        self._blocks_left = self._checksum = False

    def next(self) -> bool:
        self._drain()
        raw = self.raw
        while not self.broken and SKIPPABLE.match(raw.peek(4)) and len(raw.peek(8)) == 8:
            raw.skip(8 + struct.unpack("<I", raw.peek(8)[4:])[0])
        if (self.broken or raw.peek(4) != ZSTD_MAGIC) and not self._found():
            return False
        self._begin(raw.offset)
        self._decoder = self._new_decoder()
        self.data = self._first_piece()
        return True

    def _new_decoder(self) -> "zstandard.ZstdDecompressionObj":
        return zstandard.ZstdDecompressor(
            dict_data=self._dictionary, max_window_size=_MOST_WINDOW_BYTES
        ).decompressobj()

    def _found(self) -> bool:
        raw = self.raw
        if not self.broken:
            start = raw.offset
            if not raw.skip_zeros():
                return False
            self.faults.append(RecordFault(start, "zstd", "bytes that are no zstd frame"))
        return search_member(raw, ZSTD_MAGIC, self.starts_record)

    def starts_record(self, raw: Raw) -> bool:
        """Whether a frame begins at the next byte, and in it a record."""
        start = raw.peek(_MOST_HEAD_BYTES)
        if not start.startswith(ZSTD_MAGIC):
            return False
        size, _ = _frame_head(start)
        block = int.from_bytes(start[size : size + 3], "little")
        size += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
        try:
            inflated = self._new_decoder().decompress(raw.peek(min(size, BLOCK_BYTES)))
        except zstandard.ZstdError:
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
        """Return the next block of the frame with its head, the checksum after the last."""
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
        except zstandard.ZstdError as error:
            self._break(f"the zstd frame is damaged ({error})")
            self.end = self.start  # where it ends is not to be known
            return b""
        if not self._blocks_left and not self.ended:
            self._finish()
        return piece


def _frame_head(start: bytes) -> tuple[int, bool]:
    """Return the size of a frame's head (RFC 8878, 3.1.1.1), and if a checksum ends it."""
    descriptor = start[4] if len(start) > 4 else 0
    single = descriptor >> 5 & 1
    content = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    size = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3] + content
    return size, bool(descriptor >> 2 & 1)


def has_dictionary(front: bytes) -> bool:
    """Return whether a dictionary lies where one does in a file that begins with it."""
    return front[8:12] in (ZSTD_MAGIC, _DICTIONARY_MAGIC)


def read_dictionary(raw: Raw) -> bytes:
    """Return the dictionary at the start of a file, b"" where there is none.

    The magic in front of it may be damaged.
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
        return zstandard.ZstdDecompressor().decompress(
            stored, max_output_size=_MOST_DICTIONARY_BYTES
        )
    except zstandard.ZstdError:
        return b""

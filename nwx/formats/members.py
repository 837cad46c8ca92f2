"""Stored archive files as members: gzip members, zstd frames, or one plain body.

A member is read through a window, `data[pos:]`, that `more` moves on. The
window never grows past a few pieces, however long a member or hostile its
compression is.
"""

import re
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

import zstandard
from isal import igzip_lib

from nwx.formats.coding import INFLATE_ERRORS, salvage

BLOCK_BYTES = 1 << 18
PIECE_BYTES = 1 << 20
READ_FAILURES = (OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""What reading a stored file, also one inside a zip, is known to raise."""

_BACK_ALLOWANCE = 1 << 26
_BACK_FACTOR = 4
_FIRST_SLICE = 1 << 14
_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.S)
_DICTIONARY = b"\x5d\x2a\x4d\x18"
_DICTIONARY_MAGIC = b"\x37\xa4\x30\xec"
_MOST_DICTIONARY_BYTES = 1 << 26
_MOST_WINDOW_BYTES = 1 << 27

# How a record begins; what is found in damaged files has to look like this.
RECORD_START = re.compile(
    rb"WARC/\d\.\d+[ \t]*\r?\n|"
    rb"[a-zA-Z][a-zA-Z0-9+.-]*:[^\r\n]{0,16384} [\w.:-]+ \d{8,20} [^\r\n]{0,200}[ ]-?\w+\r?\n"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What was wrong with stored bytes, and where."""

    offset: int
    kind: str
    message: str


class Raw:
    """Stored bytes, read forward, with their offsets.

    Where reading fails, the bytes end, and `failure` says why.
    """

    __slots__ = ("_handle", "base", "data", "failure", "pos")

    def __init__(self, handle: BinaryIO, start: int = 0) -> None:
        self._handle = handle
        self.data = b""
        self.pos = 0
        self.base = 0
        self.failure = ""
        if start:
            handle.seek(start)
            self.base = start

    @property
    def offset(self) -> int:
        """The offset of the next byte."""
        return self.base + self.pos

    def fill(self) -> bool:
        """Make more bytes available after those at hand; False at the end of the file."""
        try:
            block = self._handle.read(BLOCK_BYTES)
        except READ_FAILURES as error:
            self.failure = str(error) or type(error).__name__
            return False
        if not block:
            return False
        self.base += self.pos
        self.data = self.data[self.pos :] + block
        self.pos = 0
        return True

    def peek(self, count: int) -> bytes:
        """Return the next bytes, fewer only at the end of the file, and stay."""
        while len(self.data) - self.pos < count and self.fill():
            pass
        return self.data[self.pos : self.pos + count]

    def take(self, count: int) -> bytes:
        """Return up to `count` next bytes, b"" only at the end of the file."""
        return bytes(self.view(count))

    def view(self, count: int) -> memoryview:
        """Return up to `count` next bytes without copying, none only at the end of the file."""
        if self.pos >= len(self.data):
            self.fill()
        taken = memoryview(self.data)[self.pos : self.pos + count]
        self.pos += len(taken)
        return taken

    def skip(self, count: int) -> None:
        """Go forward, up to the end of the file."""
        while count > 0 and (taken := len(self.take(count))):
            count -= taken


class Members(ABC):
    """The members of a stored file, one after the other.

    `start` and `end` are stored offsets of the current member, `end` known
    once it has `ended`. `coding` is "" where they are not compressed.
    `inflated` counts the bytes of the member before `data[0]`. `broken`
    says that its end was not reached in good order.
    `faults` collects what was wrong.
    """

    __slots__ = (
        "_gone_back",
        "broken",
        "data",
        "end",
        "ended",
        "faults",
        "inflated",
        "pos",
        "raw",
        "start",
    )

    coding = ""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.data = b""
        self.pos = 0
        self.inflated = 0
        self.start = self.end = raw.offset
        self.ended = True
        self.broken = False
        self.faults: list[Fault] = []
        self._gone_back = 0

    @abstractmethod
    def next(self) -> bool:
        """Go to the next member, over the rest of this one; False at the end of the file."""

    @abstractmethod
    def _piece(self) -> bytes:
        """Return the next bytes of the member, b"" only once it has ended."""

    def more(self) -> bool:
        """Add bytes to the window and drop those before `pos`; False at the member's end."""
        piece = b"" if self.ended else self._piece()
        if not piece:
            return False
        self.inflated += self.pos
        self.data = self.data[self.pos :] + piece if self.pos < len(self.data) else piece
        self.pos = 0
        return True

    def _begin(self, start: int) -> None:
        self.start = start
        self.data = b""
        self.pos = self.inflated = 0
        self.ended = self.broken = False

    def _finish(self, fault: Fault | None = None) -> None:
        self.ended = True
        self.end = self.raw.base + self.raw.pos
        if fault is not None:
            self.broken = True
            self.faults.append(fault)

    def _break(self, message: str) -> None:
        """End a damaged member, and go back to where a good one may begin inside.

        How far is bounded by what was read, so that a file of members
        within members takes no more than linear time.
        """
        raw = self.raw
        self._finish(Fault(self.start, self.coding, message))
        back = raw.pos - max(0, self.start + 1 - raw.base)
        if self._gone_back + back <= _BACK_ALLOWANCE + _BACK_FACTOR * raw.offset:
            self._gone_back += back
            raw.pos -= back

    def _drain(self) -> None:
        while not self.ended:
            self._piece()


class PlainMembers(Members):
    """A file without compression: one member."""

    __slots__ = ("_begun",)

    def __init__(self, raw: Raw) -> None:
        super().__init__(raw)
        self._begun = False

    def next(self) -> bool:
        if self._begun:
            return False
        self._begun = True
        self._begin(0)
        self.inflated = self.raw.offset
        return self.more()

    def _piece(self) -> bytes:
        piece = self.raw.take(BLOCK_BYTES)
        if not piece:
            self._finish()
        return piece


class GzipMembers(Members):
    """A file of gzip members; what lies damaged between good ones is passed over."""

    __slots__ = ("_decoder", "_taken")

    coding = "gzip"

    def __init__(self, raw: Raw) -> None:
        super().__init__(raw)
        self._decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        self._taken = 0

    def next(self) -> bool:
        if not self.ended:
            self._drain()
        raw = self.raw
        if raw.data[raw.pos : raw.pos + 3] != _GZIP and not self._found():
            return False
        self._begin(raw.base + raw.pos)
        self._decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        self._taken = 0
        self.data = self._piece()
        return True

    def _found(self) -> bool:
        """Go to where the next member begins, over anything that is none."""
        raw = self.raw
        if not self.broken and raw.peek(3) == _GZIP:
            return True
        if not self.broken and not _skip_zeros(raw):
            return False
        if not self.broken:
            self.faults.append(Fault(raw.offset, "gzip", "bytes that are no gzip member"))
        return _search(raw, _GZIP, _starts_gzip_record)

    def _piece(self) -> bytes:
        decoder = self._decoder
        while True:
            taken: bytes | memoryview = b""
            if decoder.needs_input:
                # what the decoder leaves over it copies: so ask for no more
                # than the member is likely to have
                taken = self.raw.view(max(_FIRST_SLICE, self._taken))
                if not taken:
                    return self._cut_off()
            try:
                piece = decoder.decompress(taken, PIECE_BYTES)
            except INFLATE_ERRORS as error:
                return self._damaged(taken, str(error))
            self._taken += len(taken)
            if decoder.eof:
                self.raw.pos -= len(decoder.unused_data)
                self._finish()
                return piece
            if piece:
                return piece

    def _cut_off(self) -> bytes:
        self._break("the gzip member is cut off by the end of the file")
        return b""

    def _damaged(self, taken: bytes | memoryview, error: str) -> bytes:
        """Return what can be saved of a member that breaks early."""
        saved = b"" if self._taken else salvage(bytes(taken), 31, PIECE_BYTES)
        self._break(f"the gzip member is damaged ({error.strip() or 'wrong data'})")
        self.end = self.start  # where it ends is not to be known
        return saved


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
        while not self.broken and _SKIPPABLE.match(raw.peek(4)) and len(raw.peek(8)) == 8:
            raw.skip(8 + struct.unpack("<I", raw.peek(8)[4:])[0])
        if (self.broken or raw.peek(4) != _ZSTD) and not self._found():
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
            if not _skip_zeros(raw):
                return False
            self.faults.append(Fault(raw.offset, "zstd", "bytes that are no zstd frame"))
        return _search(raw, _ZSTD, self.starts_record)

    def starts_record(self, start: bytes) -> bool:
        """Whether a frame begins here, and in it a record."""
        size, _ = _frame_head(start)
        block = int.from_bytes(start[size : size + 3], "little")
        size += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
        try:
            inflated = self._new_decoder().decompress(start[:size])
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


def open_members(handle: BinaryIO, start: int = 0) -> Members:
    """Return the members of a file, whatever its compression.

    They begin at `start` if that is a place where one can begin; else at 0,
    which the caller has to expect.
    """
    raw = Raw(handle)
    magic = raw.peek(4)
    if magic[:2] == _GZIP[:2]:
        return GzipMembers(_moved(raw, handle, start, _starts_gzip_record))
    if magic == _ZSTD or _SKIPPABLE.match(magic):
        members = ZstdMembers(raw, _read_dictionary(raw))
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


def _skip_zeros(raw: Raw) -> bool:
    """Go over the zeros that fill up files on tapes; False at the end of the file."""
    while True:
        rest = raw.data[raw.pos :]
        raw.pos += len(rest) - len(rest.lstrip(b"\0"))
        if raw.pos < len(raw.data):
            return True
        if not raw.fill():
            return False


def _search(raw: Raw, magic: bytes, good: Callable[[bytes], bool]) -> bool:
    """Go to the next place that has the magic and that a look inside confirms."""
    while True:
        found = raw.data.find(magic, raw.pos)
        if found < 0:
            raw.pos = max(raw.pos, len(raw.data) - len(magic) + 1)
            if not raw.fill():
                return False
            continue
        raw.pos = found
        if good(raw.peek(BLOCK_BYTES if magic == _ZSTD else _FIRST_SLICE)):
            return True
        raw.pos += 1


def _starts_gzip_record(start: bytes) -> bool:
    if len(start) < 18 or not start.startswith(_GZIP) or start[3] & 0xE0:
        return False
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    try:
        inflated = decoder.decompress(start, 1 << 15)
    except INFLATE_ERRORS:
        inflated = salvage(start, 31, 1 << 15)
    return RECORD_START.match(inflated) is not None


def _frame_head(start: bytes) -> tuple[int, bool]:
    """Return the size of a frame's head (RFC 8878, 3.1.1.1), and if a checksum ends it."""
    descriptor = start[4] if len(start) > 4 else 0
    single = descriptor >> 5 & 1
    content = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    size = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3] + content
    return size, bool(descriptor >> 2 & 1)


def _read_dictionary(raw: Raw) -> bytes:
    """Return the dictionary at the start of a file, b"" where there is none."""
    head = raw.peek(8)
    if head[:4] != _DICTIONARY or len(head) < 8:
        return b""
    size = struct.unpack("<I", head[4:])[0]
    if size > _MOST_DICTIONARY_BYTES:
        return b""
    stored = raw.peek(8 + size)[8:]
    if stored[:4] != _ZSTD:
        return stored if stored[:4] == _DICTIONARY_MAGIC else b""
    try:
        return zstandard.ZstdDecompressor().decompress(
            stored, max_output_size=_MOST_DICTIONARY_BYTES
        )
    except zstandard.ZstdError:
        return b""

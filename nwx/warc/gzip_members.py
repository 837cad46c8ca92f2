"""Members of archive files: gzip members, zstd frames (`frames`), or one plain body.

A member is read through a window, `data[pos:]`, that `more` advances. The window never exceeds a
few pieces, however long the member or hostile its compression.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from struct import Struct

from deflate import DeflateError, gzip_decompress
from isal.igzip_lib import DECOMP_GZIP as _GZIP
from isal.igzip_lib import IgzipDecompressor as _Decompressor
from isal.isal_zlib import crc32

from nwx.values.codings import INFLATE_ERRORS, salvage
from nwx.warc.stored_bytes import BLOCK_BYTES, Raw, RecordFault

# isal allocates this size at once; it must be below the size that the allocator returns to the
# system each time (`nwx.bulk.resources`)
_PIECE_BYTES = 1 << 18
_SALVAGED_BYTES = 1 << 20
_PROBE_BYTES = 1 << 14

_LEAST_MEMBER_BYTES = 18  # head and trailer
_WHOLE_BYTES = 1 << 20  # of a member that is inflated in one call
_UNSURE_FLAGS = 0xE2  # the head's checksum, which libdeflate does not check, and reserved ones
_TRAILER = Struct("<II")

_BACK_ALLOWANCE = 1 << 26
_BACK_FACTOR = 4
_FIRST_SLICE = 1 << 14
GZIP_MAGIC = b"\x1f\x8b\x08"
_search_magic = re.compile(re.escape(GZIP_MAGIC)).search  # twice as fast as `find`

# The start of a record, as required in damaged files.
RECORD_START = re.compile(
    rb"WARC/\d\.\d+[ \t]*\r?\n|"
    rb"[a-zA-Z][a-zA-Z0-9+.-]*:[^\r\n]{0,16384} "
    rb"(?:[\w.:-]+ (?:\d{8,20}[a-zA-Z]{0,10}|[\da-f]{32,40})|\d{14} [\d.]{7,15})"
    rb" [^\r\n]{0,200}[ ]-?\w+\r?\n"
)
# the same, as far as the first bytes show it
_FIRST_BYTES = 64
_MAY_START = re.compile(rb"[a-zA-Z][a-zA-Z0-9+.-]*(?::[^\r\n]*)?\Z")


class Members(ABC):
    """The members of a stored file, in order.

    `start` and `end` are stored offsets of the current member, `end` known once it has `ended`.
    `coding` is "" if uncompressed. `inflated` counts the bytes of the member before `data[0]`.
    `broken`: the member did not end properly. `faults` collects all faults.
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
        self.faults: list[RecordFault] = []
        self._gone_back = 0

    @abstractmethod
    def next(self) -> bool:
        """Advance to the next member, skipping the rest of this one; False at the end of file."""

    def next_whole(self) -> bytearray | None:
        """Advance to the next member and return all of it; None if `next` must be called instead.

        The caller may make it the window with `take`.
        """
        return None

    def take(self, whole: bytearray) -> None:
        """Use the result of `next_whole` as the window."""
        self.data = bytes(whole)

    def goes_on(self) -> bool:
        """Return whether a member that may continue this one, which has ended, follows directly."""
        return False

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

    def _finish(self, fault: RecordFault | None = None) -> None:
        self.ended = True
        self.end = self.raw.base + self.raw.pos
        if fault is not None:
            self.broken = True
            self.faults.append(fault)

    def _break(self, message: str) -> None:
        """End a damaged member, and go back to search for good members inside it.

        The total distance is bounded by the bytes read, so that nested members take linear time.
        """
        raw = self.raw
        self._finish(RecordFault(self.start, self.coding, message))
        back = raw.pos - max(0, self.start + 1 - raw.base)
        if self._gone_back + back <= _BACK_ALLOWANCE + _BACK_FACTOR * raw.offset:
            self._gone_back += back
            raw.pos -= back

    def skip(self) -> None:
        """Skip the rest of the member."""
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
    """The members of a gzip file; damage between good members is skipped."""

    __slots__ = ("_decoder", "_taken")

    coding = "gzip"

    def __init__(self, raw: Raw) -> None:
        super().__init__(raw)
        self._decoder = _Decompressor(flag=_GZIP)
        self._taken = 0

    def next(self) -> bool:
        if not self.ended:
            self.skip()
        raw = self.raw
        if not raw.data.startswith(GZIP_MAGIC, raw.pos) and not self._found():
            return False
        self._begin(raw.base + raw.pos)
        self._decoder = _Decompressor(flag=_GZIP)
        self._taken = 0
        self.data = self._piece()
        return True

    def next_whole(self) -> bytearray | None:
        """Inflate the next member in one call and return it; None if `next` must be called.

        It is complete if it ends directly before the next magic number. libdeflate fails on a
        truncated member, so a magic number inside a member is not taken for its end. If other bytes
        lie between two members, the bytes before the magic number are not the first one's trailer,
        or repeat it.
        """
        raw = self.raw
        if len(raw.data) - raw.pos < len(GZIP_MAGIC):
            raw.fill()
        if not (self.ended and raw.data.startswith(GZIP_MAGIC, raw.pos)):
            return None
        end = self._next_magic()
        data, start = raw.data, raw.pos
        if end - start < _LEAST_MEMBER_BYTES or data[start + 3] & _UNSURE_FLAGS:
            return None
        crc, size = _TRAILER.unpack_from(data, end - _TRAILER.size)
        if not 0 < size <= _WHOLE_BYTES:
            return None
        try:
            whole = gzip_decompress(memoryview(data)[start:end], size)
        except DeflateError:
            return None
        if len(whole) != size or crc32(whole) != crc:
            return None
        if data.rfind(data[end - _TRAILER.size : end], start, end - 1) >= 0:
            return None
        self.start, self.end = raw.base + start, raw.base + end
        raw.pos = end
        self.data, self.pos, self.inflated, self.broken = b"", 0, 0, False
        return whole

    def goes_on(self) -> bool:
        raw = self.raw
        return not self.broken and raw.peek(3) == GZIP_MAGIC and not starts_gzip_record(raw)

    def _next_magic(self) -> int:
        """Return the position of the next magic number, or of the end of file if near, else -1."""
        raw = self.raw
        found = _search_magic(raw.data, raw.pos + _LEAST_MEMBER_BYTES)
        rest = len(raw.data) - raw.pos
        if found is None and rest <= BLOCK_BYTES:
            if not raw.fill():
                return len(raw.data)
            found = _search_magic(raw.data, max(rest - len(GZIP_MAGIC), _LEAST_MEMBER_BYTES))
        return -1 if found is None else found.start()

    def _found(self) -> bool:
        """Advance to the start of the next member, skipping other bytes."""
        raw = self.raw
        if not self.broken:
            start = raw.offset
            if raw.peek(3) == GZIP_MAGIC:
                return True
            if not raw.skip_zeros():
                return False
            self.faults.append(RecordFault(start, "gzip", "bytes that are not a gzip member"))
        return search_member(raw, GZIP_MAGIC, starts_gzip_record)

    def _piece(self) -> bytes:
        decoder = self._decoder
        while True:
            taken: bytes | memoryview = b""
            if decoder.needs_input:
                # the decoder copies unused input, so pass no more than the
                # member is likely to have
                taken = self.raw.view(max(_FIRST_SLICE, self._taken))
                if not taken:
                    return self._cut_off()
            try:
                piece = decoder.decompress(taken, _PIECE_BYTES)
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
        """Return the data that can be salvaged from a damaged member."""
        saved = b"" if self._taken else salvage(bytes(taken), 31, _SALVAGED_BYTES)
        self._break(f"the gzip member is damaged ({error.strip() or 'wrong data'})")
        self.end = self.start  # its end is unknown
        return saved


def search_member(raw: Raw, magic: bytes, good: Callable[[Raw], bool]) -> bool:
    """Advance to the next magic number that `good` confirms; False at the end of the file."""
    while True:
        found = raw.data.find(magic, raw.pos)
        if found < 0:
            raw.pos = max(raw.pos, len(raw.data) - len(magic) + 1)
            if not raw.fill():
                return False
            continue
        raw.pos = found
        if good(raw):
            return True
        raw.pos += 1


def starts_gzip_record(raw: Raw) -> bool:
    """Return whether a gzip member with a record begins at the next byte.

    Inflates only the bytes needed to decide: hostile files have candidates at every other byte.
    """
    start = raw.peek(_PROBE_BYTES)
    if len(start) < 18 or not start.startswith(GZIP_MAGIC) or start[3] & 0xE0:
        return False
    decoder = _Decompressor(flag=_GZIP)
    try:
        inflated = decoder.decompress(start, _FIRST_BYTES)
    except INFLATE_ERRORS:
        return False
    if RECORD_START.match(inflated):
        return True
    if not _MAY_START.match(inflated):
        return False
    return RECORD_START.match(salvage(start, 31, 2 * _PROBE_BYTES)) is not None

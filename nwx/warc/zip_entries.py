"""Entries of ZIP files, which may be damaged.

Python's `zipfile` reads the directory, but returns nothing of an entry with one wrong byte, reads
the directory again for every entry, and fails on a file whose directory is cut off. The contents of
an entry have their own checks.
"""

import io
import re
import struct
import zipfile
import zlib
from itertools import pairwise
from typing import Any, BinaryIO, cast

from nwx.data_classes import dataclass
from nwx.errors import ErrorText, FormatError
from nwx.warc.stored_bytes import Raw

_HEAD = struct.Struct("<4s5H3I2H")
_HEAD_MAGIC, _DESCRIPTOR_MAGIC = b"PK\x03\x04", b"PK\x07\x08"
_NEXT = re.compile(b"PK(?:\x03\x04|\x01\x02)")
_DESCRIPTOR_SIZES = (16, 24)
_WIDE = struct.Struct("<2H2Q")
_IN_WIDE_FIELD = 0xFFFFFFFF
_SIZES_FOLLOW, _UTF8 = 0x08, 0x800
_MOST_NAME_BYTES = 1 << 12
_MOST_RATIO = 1100  # deflate reaches 1032
_MOST_RECOVERED = 100_000
_STEP = 1 << 16
STORED = zipfile.ZIP_STORED
METHODS = (STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """An entry of a ZIP file: its location and its fields in the directory.

    `offset` is the offset of its head, `end` the latest offset of the next item. `bytes` (unpacked)
    and `crc` are None if nothing declares them. `digest` is the digest declared by the package, in
    normal form.
    """

    name: str
    offset: int
    end: int
    stored_bytes: int
    bytes: int | None
    method: int
    crc: int | None
    is_encrypted: bool = False
    digest: str = ""


def read_entries(handle: BinaryIO) -> list[ZipEntry]:
    """Return the entries of a ZIP file in the order of its directory.

    Raises FormatError if it has no readable directory.
    """
    try:
        with zipfile.ZipFile(handle) as archive:
            found = archive.infolist()
            directory = archive.start_dir
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise FormatError.translated(
            "it is not a readable ZIP file: %(reason)s", reason=error
        ) from error
    ends = _ends([info.header_offset for info in found], directory)
    return [_entry(info, ends[info.header_offset]) for info in found]


def _ends(offsets: list[int], directory: int) -> dict[int, int]:
    ordered = sorted({*offsets, directory})
    following = dict(pairwise(ordered))
    return {offset: following.get(offset, directory) for offset in offsets}


def _entry(info: zipfile.ZipInfo, end: int) -> ZipEntry:
    return ZipEntry(
        info.filename,
        info.header_offset,
        end,
        info.compress_size,
        info.file_size,
        info.compress_type,
        info.CRC,
        bool(info.flag_bits & 1),
    )


def recovered_entries(handle: BinaryIO) -> list[ZipEntry]:
    """Return the entries found by their local headers, for a file without its directory."""
    handle.seek(0)
    raw = Raw(handle)
    found: list[ZipEntry] = []
    while len(found) < _MOST_RECOVERED and _to_next(raw, _HEAD_MAGIC):
        entry = _recovered(raw)
        if entry is None:
            raw.pos += 1
            continue
        found.append(entry)
    return found


def _to_next(raw: Raw, magic: bytes) -> bool:
    """Advance to the next magic number; False at the end of the file."""
    while (at := raw.data.find(magic, raw.pos)) < 0:
        raw.pos = max(raw.pos, len(raw.data) - len(magic) + 1)
        if not raw.fill():
            return False
    raw.pos = at
    return True


def _recovered(raw: Raw) -> ZipEntry | None:
    """Read the entry whose head is at the next byte; None if it is invalid."""
    offset, front = raw.offset, raw.peek(_HEAD.size)
    if len(front) < _HEAD.size:
        return None
    _, _, flags, method, _, _, crc, stored, size, name_size, extra_size = _HEAD.unpack(front)
    if method not in METHODS or not 0 < name_size <= _MOST_NAME_BYTES:
        return None
    named = raw.peek(_HEAD.size + name_size + extra_size)[_HEAD.size :]
    name = named[:name_size].decode("utf-8" if flags & _UTF8 else "cp437", "replace")
    if _IN_WIDE_FIELD in (stored, size):
        size, stored = _wide_sizes(named[name_size:], size, stored)
    raw.skip(_HEAD.size + name_size + extra_size)
    start = raw.offset
    if flags & _SIZES_FOLLOW and not stored:
        return _up_to_next(raw, name, offset, method)
    raw.skip(stored)
    there = raw.offset - start
    return ZipEntry(name, offset, raw.offset, there, size, method, crc if there == stored else None)


def _wide_sizes(extra: bytes, size: int, stored: int) -> tuple[int, int]:
    """Return the sizes of an entry from its ZIP64 extra field, unchanged without one."""
    at = extra.find(b"\x01\x00\x10\x00")
    if at < 0 or len(extra) < at + _WIDE.size:
        return size, stored
    _, _, size, stored = _WIDE.unpack_from(extra, at)
    return size, stored


def _up_to_next(raw: Raw, name: str, offset: int, method: int) -> ZipEntry:
    """Read an entry whose sizes follow its data, up to the next ZIP header."""
    start, last, found, more = raw.offset, b"", None, True
    while more and not found:
        found = _NEXT.search(raw.data, raw.pos)
        stop = found.start() if found else max(raw.pos, len(raw.data) - 3)
        last += raw.take(stop - raw.pos)[-max(_DESCRIPTOR_SIZES) :]
        more = found is not None or raw.fill()
    if not more:
        last += raw.take(3)
    end = raw.offset
    stored, crc = end - start, None
    for length in _DESCRIPTOR_SIZES:
        tail = last[-length:]
        if len(tail) == length and tail.startswith(_DESCRIPTOR_MAGIC):
            stored, crc = stored - length, int.from_bytes(tail[4:8], "little")
            break
    size = stored if method == STORED else None
    return ZipEntry(name, offset, end, stored, size, method, crc)


def is_within(entry: ZipEntry) -> bool:
    """Return whether an entry lies within its file."""
    return 0 <= entry.offset < entry.end


def is_possible(entry: ZipEntry) -> bool:
    """Return whether the stored bytes can unpack to the declared size."""
    return (entry.bytes or 0) <= _MOST_RATIO * entry.stored_bytes + 64


def open_entry(handle: BinaryIO, entry: ZipEntry, *, closes: bool = True) -> BinaryIO:
    """Open the content of an entry, as far as it exists; closing it `closes` the handle.

    A damaged head of the entry is skipped. Reading damaged compressed data raises FormatError after
    the last recoverable byte.
    """
    handle.seek(entry.offset)
    front = handle.read(_HEAD.size)
    skipped = len(entry.name.encode())
    if len(front) == _HEAD.size and front.startswith(_HEAD_MAGIC):
        *_, name_size, extra_size = _HEAD.unpack(front)
        if entry.offset + _HEAD.size + name_size + extra_size + entry.stored_bytes <= entry.end:
            skipped = name_size + extra_size
    start = entry.offset + _HEAD.size + skipped
    stored = _Window(handle, start, entry.stored_bytes, closes=closes)
    if entry.method == STORED:
        return cast("BinaryIO", stored)
    most = entry.bytes if entry.bytes is not None else _MOST_RATIO * entry.stored_bytes
    return cast("BinaryIO", _Inflated(stored, most, exactly=entry.bytes is not None))


def window(handle: BinaryIO, start: int, length: int) -> BinaryIO:
    """Return a range of a file as a file; closing it closes both."""
    return cast("BinaryIO", _Window(handle, start, length, closes=True))


class _Reading(io.RawIOBase):
    """A readable stream with a movable position."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)


class _Window(_Reading):
    """A range of a file as a file."""

    def __init__(self, handle: BinaryIO, start: int, length: int, *, closes: bool) -> None:
        self._handle, self._start, self._length = handle, start, length
        self._position, self._closes = 0, closes

    def seekable(self) -> bool:
        return self._handle.seekable()

    def read(self, size: int = -1, /) -> bytes:
        left = max(0, self._length - self._position)
        wanted = left if size < 0 else min(size, left)
        if not wanted:
            return b""
        self._handle.seek(self._start + self._position)
        found = self._handle.read(wanted)
        self._position += len(found)
        return found

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._position = max(0, offset + (0, self._position, self._length)[whence])
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if self._closes:
            self._handle.close()
        super().close()


class _Inflated(_Reading):
    """Deflated bytes, inflated, at most `most` of them; seeking back starts over."""

    def __init__(self, stored: _Window, most: int, *, exactly: bool) -> None:
        self._stored, self._most, self._exactly = stored, most, exactly
        self._begin()

    def _begin(self) -> None:
        self._stored.seek(0)
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self._position = 0
        self._failure = ""

    def seekable(self) -> bool:
        return self._stored.seekable()

    def read(self, size: int = -1, /) -> bytes:
        wanted = self._most - self._position if size < 0 else size
        pieces: list[bytes] = []
        while wanted and (piece := self._next(wanted, is_first=not pieces)):
            self._position += len(piece)
            wanted -= len(piece)
            pieces.append(piece)
        return b"".join(pieces)

    def _next(self, wanted: int, *, is_first: bool) -> bytes:
        """Return the next bytes; raises FormatError only if no bytes were read before it."""
        try:
            return self._piece(min(wanted, self._most - self._position))
        except FormatError:
            if is_first:
                raise
            return b""

    def _piece(self, wanted: int) -> bytes:
        while not self._failure:
            if self._inflater.eof:
                if self._exactly and self._position < self._most:
                    self._failure = f"it ends after {self._position} of {self._most} bytes"
                    break
                return b""
            given = self._inflater.unconsumed_tail or self._stored.read(_STEP)
            if not given:
                self._failure = "the compressed data are cut off"
                break
            if piece := self._inflate(given, max(1, wanted)):
                if wanted:
                    return piece
                self._failure = f"it unpacks to more than {self._most} bytes"
        raise FormatError(
            ErrorText("damaged in its zip file: %(failure)s", failure=self._failure),
            offset=self._position,
        )

    def _inflate(self, given: bytes, wanted: int) -> bytes:
        before = self._inflater.copy()
        try:
            return self._inflater.decompress(given, wanted)
        except zlib.error as error:
            self._failure = f"the compressed data are wrong ({error})"
        pieces: list[bytes] = []
        try:
            for at in range(len(given)):
                pieces.append(before.decompress(given[at : at + 1], wanted))
                wanted -= len(pieces[-1])
                if wanted <= 0:
                    break
        except zlib.error:
            pass
        return b"".join(pieces)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        target = max(0, offset + (0, self._position, self._most)[whence])
        if target < self._position:
            self._begin()
        while self._position < target and self.read(min(_STEP, target - self._position)):
            pass
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        self._stored.close()
        super().close()

"""The parts of an office file: entries of a zip file, whose directory and lengths are not trusted.

An entry is unpacked piece by piece, as far as its deflate stream goes and the
budget of the payload allows, whatever lengths are told. Where the directory
is missing or broken, as in a payload that was cut, the entries are found by
their own heads.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from nwx.extract.limits import MIB, ExtractPayload
from nwx.extract.office.magics import ZIP_MAGIC
from nwx.extract.office.problems import Stop

_HEAD = struct.Struct("<4s5H3I2H")
_DIRECTORY_MAGIC = b"PK\x01\x02"
_MOST_ENTRIES = 10_000
_STEP = 1 << 16
_MOST_UNPACKED = 1 << 18  # of a piece handed on
_STORED, _DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
_ENCRYPTED, _SIZES_FOLLOW = 0x01, 0x08
_BROKEN = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, struct.error),
    *(OSError, EOFError, ValueError, NotImplementedError, IndexError, OverflowError),
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where the bytes of an entry begin, and how many they are where it is stored unpacked."""

    start: int
    method: int
    size: int | None
    encrypted: bool


class Parts:
    """The parts of an office file by name; `problems` grows while they are read."""

    def __init__(self, payload: ExtractPayload, problems: list[str]) -> None:
        self._data = memoryview(payload.data)
        self._payload = payload
        self._left = payload.limits.unpacked_bytes
        self.problems = problems
        self._entries = self._listed(payload.data)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parts, in the order of the file."""
        return tuple(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a part, unpacked, piece by piece; nothing where there is none.

        Raises Stop where the payload has been given all the bytes or the time it may take.
        """
        entry = self._entries.get(name)
        if entry is None:
            return
        if entry.encrypted or entry.method not in (_STORED, _DEFLATED):
            reason = "is encrypted" if entry.encrypted else f"is packed by method {entry.method}"
            self.problems.append(f"office: {name} {reason}")
            return
        is_stored = entry.method == _STORED
        for piece in self._stored(entry) if is_stored else self._inflated(name, entry):
            self._left -= len(piece)
            if self._left < 0:
                limit = self._payload.limits.unpacked_bytes // MIB
                raise Stop(f"size: more than {limit} MiB unpacked, the rest was left out")
            self.check_time()
            yield piece

    def check_time(self) -> None:
        """Raise Stop where half of the time for the payload is over; the rest is for the text."""
        limits = self._payload.limits
        if self._payload.clock() > self._payload.deadline - limits.seconds / 2:
            raise Stop(f"time: more than {limits.seconds / 2:g} seconds, the rest was left out")

    def read(self, name: str, limit: int) -> bytes:
        """Return the first bytes of a part, b"" where there is none."""
        found = bytearray()
        for piece in self.pieces(name):
            found += piece
            if len(found) >= limit:
                break
        return bytes(found[:limit])

    def _stored(self, entry: _Entry) -> Iterator[bytes]:
        end = len(self._data) if entry.size is None else entry.start + entry.size
        for start in range(entry.start, min(end, len(self._data)), _STEP):
            yield bytes(self._data[start : min(start + _STEP, end)])

    def _inflated(self, name: str, entry: _Entry) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        position = entry.start
        try:
            while not unpacker.eof:
                packed = unpacker.unconsumed_tail
                if not packed:
                    packed = bytes(self._data[position : position + _STEP])
                    position += len(packed)
                if not packed:
                    self.problems.append(f"office: {name} is cut off")
                    return
                if piece := unpacker.decompress(packed, _MOST_UNPACKED):
                    yield piece
        except zlib.error as error:
            self.problems.append(f"office: {name} is broken: {error}")

    def _listed(self, data: bytes) -> dict[str, _Entry]:
        if data.count(_DIRECTORY_MAGIC) > _MOST_ENTRIES:
            self.problems.append(f"office: more than {_MOST_ENTRIES:,} entries, none was read")
            return {}
        try:
            with zipfile.ZipFile(BytesIO(data)) as file:
                infos = file.infolist()
                heads = ((info.filename, _entry(data, info.header_offset)) for info in infos)
                found = {name: entry for name, entry in heads if entry}
        except _BROKEN:
            found = {}
        if found:
            return found
        found = dict(_recovered(data))
        self.problems.append("office: the directory of the zip file is broken or cut off")
        return found


def _entry(data: bytes, offset: int) -> _Entry | None:
    """Return the entry whose head is at an offset, None where there is no head."""
    if not 0 <= offset <= len(data) - _HEAD.size:
        return None
    magic, _, flags, method, _, _, _, packed, _, name, extra = _HEAD.unpack_from(data, offset)
    if magic != ZIP_MAGIC:
        return None
    size = None if flags & _SIZES_FOLLOW and not packed else packed
    return _Entry(offset + _HEAD.size + name + extra, method, size, bool(flags & _ENCRYPTED))


def _recovered(data: bytes) -> Iterator[tuple[str, _Entry]]:
    """Yield entries by their heads, wherever they are."""
    position = data.find(ZIP_MAGIC)
    for _ in range(_MOST_ENTRIES):
        if position < 0:
            return
        entry = _entry(data, position)
        if entry is None:
            return
        length = int.from_bytes(data[position + 26 : position + 28], "little")
        name = data[position + _HEAD.size : position + _HEAD.size + length]
        yield name.decode("utf-8", "replace"), entry
        position = data.find(ZIP_MAGIC, position + 4)

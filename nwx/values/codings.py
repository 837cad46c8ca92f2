"""Decoding of transfer and content codings, within a size limit.

Bodies may be hostile: each decoder returns at most the requested size, so that a decompression bomb
costs no more than a normal body of that size.
"""

import hashlib
import io
import re
import zlib
from collections.abc import Callable
from typing import NamedTuple, cast

from fastwarc.stream_io import BrotliReader
from isal import igzip_lib, isal_zlib

from nwx.values.zstd import zstd

_CHUNK_HEAD = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]{0,4096})?\r?\n")
_CHUNK_END = re.compile(rb"\r?\n")
_LONGEST_HEAD = 8192
# the stubs of isal declare its exceptions as instances
INFLATE_ERRORS = cast(
    "tuple[type[Exception], ...]", (isal_zlib.error, igzip_lib.IsalError, zlib.error)
)
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_MAGICS = (b"\x1f\x8b", _ZSTD_MAGIC)
_ZSTD_WINDOW = {int(zstd.DecompressionParameter.window_log_max): 27}
_STEP = 4096


class Decoded(NamedTuple):
    """A decoded body; `cut` means that there is more, `problem` is a text, "" if none."""

    data: bytes
    cut: bool = False
    problem: str = ""


def dechunk(body: bytes | memoryview, limit: int) -> Decoded:
    """Return a chunked body without its chunking.

    A body that is not actually chunked is returned unchanged. If a chunk is invalid, all data
    before and after it is kept.
    """
    data = bytes(body)
    head = _CHUNK_HEAD.match(data)
    if head is None:
        return Decoded(data[:limit], len(data) > limit)
    pieces: list[bytes] = []
    total = position = 0
    while head is not None and total < limit:
        size = int(head[1], 16)
        piece = data[head.end() : head.end() + min(size, limit - total)]
        pieces.append(piece)
        total += len(piece)
        if size == 0 or len(piece) < size:
            return Decoded(b"".join(pieces), *_end_of_chunks(size, len(piece), total, limit))
        end = _CHUNK_END.match(data, head.end() + size)
        position = end.end() if end else head.end() + size
        head = _CHUNK_HEAD.match(data, position)
    rest = data[position : position + max(0, limit - total)]
    problem = "" if total >= limit else "a broken chunk"
    return Decoded(b"".join(pieces) + rest, total >= limit, problem)


class UnchunkedHash:
    """The digest of a chunked body of any length, without its chunking.

    A body that is not actually chunked is hashed unchanged; an invalid or truncated one has the
    digest b"".
    """

    def __init__(self, algorithm: str) -> None:
        self._hasher = hashlib.new(algorithm, usedforsecurity=False)
        self._waiting, self._left, self._size = b"", 0, -1
        self._is_plain = self._is_broken = False

    def update(self, data: bytes | memoryview) -> None:
        """Add the next bytes of the body."""
        held, place = self._waiting + data, 0
        while self._size and not (self._is_plain or self._is_broken) and place < len(held):
            piece = held[place : place + self._left]
            self._hasher.update(piece)
            self._left -= len(piece)
            place += len(piece)
            end = _CHUNK_END.match(held, place) if self._size > 0 else None
            start = end.end() if end else place
            if held.find(b"\n", start) < 0 and len(held) - start < _LONGEST_HEAD:
                break
            place = self._read_head(held, place, start)
        self._waiting = held[place:] if self._size and not self._is_broken else b""
        if self._is_plain:
            self._hasher.update(self._waiting)
            self._waiting = b""

    def _read_head(self, held: bytes, place: int, start: int) -> int:
        head = _CHUNK_HEAD.match(held, start)
        if head is None:
            self._is_plain, self._is_broken = self._size < 0, self._size > 0
            return place
        self._size = self._left = int(head[1], 16)
        return head.end()

    def digest(self) -> bytes:
        """Return the digest of the bytes added."""
        if self._size < 0 and not self._is_plain:
            self._hasher.update(self._waiting)
            self._waiting = b""
        return b"" if self._size > 0 else self._hasher.digest()


def _end_of_chunks(size: int, got: int, total: int, limit: int) -> tuple[bool, str]:
    if size == 0:
        return False, ""
    if total >= limit:
        return True, ""
    return False, f"the last chunk has {got} of {size} bytes"


def decode_content(coding: str, body: bytes | memoryview, limit: int) -> Decoded:
    """Return a body without its content coding (`gzip`, `deflate`, `br`, `zstd`).

    A body that is not actually encoded is returned unchanged.
    """
    decoder = _DECODERS.get(coding)
    if decoder is None:
        problem = f"the content coding {coding[:40]!r} is not known"
        return Decoded(bytes(body[:limit]), len(body) > limit, problem)
    decoded = decoder(body, limit + 1)
    if not decoded.data and decoded.problem and not bytes(body[:4]).startswith(_MAGICS):
        return Decoded(bytes(body[:limit]), len(body) > limit, "")
    if len(decoded.data) > limit:
        return Decoded(decoded.data[:limit], True, decoded.problem)
    return decoded


def _gzip(body: bytes | memoryview, limit: int) -> Decoded:
    if bytes(body[:2]) != b"\x1f\x8b":
        return Decoded(b"", False, "not gzip")
    pieces: list[bytes] = []
    left = limit
    rest = bytes(body)
    while left > 0 and rest[:2] == b"\x1f\x8b":
        piece, rest, problem = _inflate(rest, 31, left)
        pieces.append(piece)
        left -= len(piece)
        if problem:
            return Decoded(b"".join(pieces), False, problem)
    return Decoded(b"".join(pieces))


def _deflate(body: bytes | memoryview, limit: int) -> Decoded:
    """Inflate zlib data, or the raw deflate data that many servers send instead."""
    data = bytes(body)
    for window in (15, -15):
        piece, _, problem = _inflate(data, window, limit)
        if piece or not problem:
            break
    return Decoded(piece, False, problem)


def _inflate(data: bytes, window: int, limit: int) -> tuple[bytes, bytes, str]:
    """Return the inflated data, the bytes after the compressed data, and any problem."""
    inflater = isal_zlib.decompressobj(window)
    try:
        piece = inflater.decompress(data, limit)
    except INFLATE_ERRORS as error:
        return salvage(data, window, limit), b"", f"broken {_NAMES[window]} data: {error}"
    if not inflater.eof and len(piece) < limit:
        return piece, b"", f"{_NAMES[window]} data cut off"
    return piece, inflater.unused_data, ""


_NAMES = {31: "gzip", 15: "deflate", -15: "deflate"}


def salvage(data: bytes, window: int, limit: int) -> bytes:
    """Return the data that can be inflated before the first damage."""
    inflater = zlib.decompressobj(window)
    pieces: list[bytes] = []
    total = position = 0
    step = _STEP
    while position < len(data) and total < limit and not inflater.eof:
        before = inflater.copy() if step > 1 else None
        try:
            pieces.append(inflater.decompress(data[position : position + step], limit - total))
        except zlib.error:
            if before is None:
                break
            inflater, step = before, 1
            continue
        total += len(pieces[-1])
        position += step
    return b"".join(pieces)


def _brotli(body: bytes | memoryview, limit: int) -> Decoded:
    # FastWARC's reader, as the module `brotli` may come from one of two
    # packages, one of which cannot limit its output
    return _streamed(BrotliReader(io.BytesIO(body)).read, limit, "br")


def _zstd(body: bytes | memoryview, limit: int) -> Decoded:
    if bytes(body[:4]) != _ZSTD_MAGIC:
        return Decoded(b"", False, "not zstd")
    reader = zstd.ZstdFile(io.BytesIO(body), options=_ZSTD_WINDOW)
    return _streamed(reader.read, limit, "zstd")


def _streamed(read: Callable[[int], bytes], limit: int, name: str) -> Decoded:
    pieces: list[bytes] = []
    left = limit
    try:
        while left > 0 and (piece := read(min(left, 1 << 13))):
            pieces.append(piece)
            left -= len(piece)
    except EOFError:
        return Decoded(b"".join(pieces), False, f"{name} data cut off")
    except (OSError, zstd.ZstdError) as error:
        return Decoded(b"".join(pieces), False, f"broken {name} data: {error}")
    return Decoded(b"".join(pieces))


_DECODERS: dict[str, Callable[[bytes | memoryview, int], Decoded]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "brotli": _brotli,
    "zstd": _zstd,
}

"""The lines of stored blocks, inflated as far as they are asked for."""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from threading import Lock

from isal import igzip_lib

from nwx.cdx.files import MAX_LINE_BYTES
from nwx.cdx.zipnum_index import ZipNumBlock
from nwx.errors import FormatError
from nwx.values.codings import INFLATE_ERRORS

MOST_INFLATED_BYTES = 1 << 28
"""Blocks that inflate to more are bombs."""

_PIECE_BYTES = 1 << 16
_MOST_KEPT_BYTES = 4 << 20
_DECODER_BYTES = 100_000


def block_lines(
    data: bytes, start: bytes = b"", end: bytes | None = None, place: str = "a block"
) -> Iterator[bytes]:
    """Yield the lines between two keys of a stored block, inflated only as far as is needed.

    Raises FormatError on what is no gzip member, or torn, or too large.
    """
    return _between(_texts(data, place), start, end)


class BlockText:
    """A stored block; what was inflated of it is kept, and inflating goes on from there.

    Several threads may read it at once. `size` is the memory that it takes.
    Of a block that inflates to many megabytes, only the first are kept.
    """

    __slots__ = ("_data", "_error", "_kept", "_lock", "_more", "_place", "size")

    def __init__(self, data: bytes, place: str) -> None:
        self.size = _DECODER_BYTES + 2 * len(data)  # a decoder copies what it is given
        self._data = data
        self._place = place
        self._kept: list[bytes] = []
        self._more = _texts(data, place)
        self._error: FormatError | None = None
        self._lock = Lock()

    def lines(self, start: bytes = b"", end: bytes | None = None) -> Iterator[bytes]:
        """Yield the lines between two keys; raises as `block_lines`."""
        return _between(self._texts(), start, end)

    def _texts(self) -> Iterator[bytes]:
        number = 0
        while number < len(self._kept) or self._inflate(number):
            yield self._kept[number]
            number += 1
        if self.size > _MOST_KEPT_BYTES:
            yield from islice(_texts(self._data, self._place), number, None)

    def _inflate(self, number: int) -> bool:
        """Keep one more text; False where there is none, or enough is kept."""
        with self._lock:
            if number < len(self._kept):
                return True  # another thread was here meanwhile
            if self._error is not None:
                raise self._error
            if self.size > _MOST_KEPT_BYTES:
                return False
            try:
                text = next(self._more, None)
            except FormatError as error:
                self._error = error
                raise
            if text is None:
                return False
            self._kept.append(text)
            self.size += len(text)
            return True


class RecentBlocks:
    """The blocks that were read last, in so many bytes; several threads may ask at once."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._blocks: OrderedDict[tuple[str, int, int], BlockText] = OrderedDict()
        self._lock = Lock()

    def get(self, block: ZipNumBlock, read: Callable[[], BlockText]) -> BlockText:
        """Return a block, read where it is not here."""
        place = (block.part, block.offset, block.length)
        with self._lock:
            found = self._blocks.get(place)
        if found is None:
            found = read()
        with self._lock:
            self._blocks[place] = found
            self._blocks.move_to_end(place)
            # those that are here have grown since, as more of them was inflated
            while sum(each.size for each in self._blocks.values()) > self._most:
                self._blocks.popitem(last=False)
        return found


def _between(texts: Iterable[bytes], start: bytes, end: bytes | None) -> Iterator[bytes]:
    """Yield the lines between two keys of texts of whole lines."""
    for text in texts:
        last = text[text.rfind(b"\n") + 1 :]
        if last < start:
            continue
        lines = text.split(b"\n")
        begin = bisect_left(lines, start) if start else 0
        stop = len(lines) if end is None or last < end else bisect_left(lines, end)
        yield from lines[begin:stop]
        if stop < len(lines):
            return


def _texts(data: bytes, place: str) -> Iterator[bytes]:
    """Yield what a block holds as texts of whole lines, without the newline behind each."""
    rest = b""
    for piece in _inflated(data, place):
        text = rest + piece if rest else piece
        cut = text.rfind(b"\n")
        rest = text[cut + 1 :]
        if len(rest) > MAX_LINE_BYTES:
            raise FormatError(f"{place}: a line of more than {MAX_LINE_BYTES} bytes")
        if cut >= 0:
            yield text[:cut]
    if rest:
        yield rest


def _inflated(data: bytes, place: str) -> Iterator[bytes]:
    """Yield what a stored block holds, piece by piece; raises FormatError where it is damaged."""
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    size, given = 0, data
    while not decoder.eof:
        try:
            piece = decoder.decompress(given, _PIECE_BYTES)
        except INFLATE_ERRORS as error:
            raise FormatError(f"{place}: the gzip member is damaged ({error})") from error
        given = b""
        size += len(piece)
        if size > MOST_INFLATED_BYTES:
            raise FormatError(f"{place}: it inflates to more than {MOST_INFLATED_BYTES} bytes")
        if piece:
            yield piece
        elif not decoder.eof and decoder.needs_input:
            raise FormatError(
                f"{place}: the gzip member is cut off; the index tells a wrong length"
            )

"""Blocks of a ZipNum cluster: their index, their lines, and recovery of blocks without an index."""

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from threading import Lock

from isal import igzip_lib

from nwx.bulk.sorted_file import PlacedLine, SortedFile
from nwx.cdx.files import MAX_LINE_BYTES, ZipNumBlock, parse_index_line, parse_meta
from nwx.errors import FormatError
from nwx.values.codings import INFLATE_ERRORS
from nwx.zipnum.remote_bytes import LocalFile, StoredBytes

MOST_INFLATED_BYTES = 1 << 28
"""The maximum inflated size of a block; larger ones are decompression bombs."""

_PIECE_BYTES = 1 << 16
_MOST_KEPT_BYTES = 4 << 20
_DECODER_BYTES = 100_000
_LISTED_BYTES = 1 << 20
"""The maximum size of an index kept in memory; a larger one is searched in its file."""


def block_lines(
    data: bytes, start: bytes = b"", end: bytes | None = None, place: str = "a block"
) -> Iterator[bytes]:
    """Yield the lines between two keys of a stored block, inflating only as needed.

    Raises FormatError on data that are not gzip, damaged, or too large.
    """
    return _between(_texts(data, place), start, end)


class BlockText:
    """A stored block, inflated step by step; inflated text is kept.

    Thread-safe. `size` is the memory used, in bytes. Of a block that inflates to many megabytes,
    only the first megabytes are kept.
    """

    __slots__ = ("_data", "_error", "_kept", "_lock", "_more", "_place", "size")

    def __init__(self, data: bytes, place: str) -> None:
        self.size = _DECODER_BYTES + 2 * len(data)  # a decoder copies its input
        self._data = data
        self._place = place
        self._kept: list[bytes] = []
        self._more = _texts(data, place)
        self._error: FormatError | None = None
        self._lock = Lock()

    def lines(self, start: bytes = b"", end: bytes | None = None) -> Iterator[bytes]:
        """Yield the lines between two keys; raises FormatError as `block_lines` does."""
        return _between(self._texts(), start, end)

    def complete(self) -> None:
        """Inflate the rest: as text, the block takes no more memory than with its decoder."""
        with suppress(FormatError):  # raised again when this position is read
            while self._data and self._inflate(len(self._kept)):
                pass

    def _texts(self) -> Iterator[bytes]:
        number = 0
        while number < len(self._kept) or self._inflate(number):
            yield self._kept[number]
            number += 1
        if self.size > _MOST_KEPT_BYTES:
            yield from islice(_texts(self._data, self._place), number, None)

    def _inflate(self, number: int) -> bool:
        """Inflate and keep one more text; False at the end, or if enough is kept."""
        with self._lock:
            if number < len(self._kept):
                return True  # another thread has inflated it
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
                self._drop_decoder()
                return False
            self._kept.append(text)
            self.size += len(text)
            return True

    def _drop_decoder(self) -> None:
        """Free the decoder and the stored data, once all text is kept."""
        if self._data:
            self.size -= _DECODER_BYTES + 2 * len(self._data)
            self._data, self._more = b"", iter(())


_SIZE = attrgetter("size")


class RecentBlocks:
    """A cache of the most recently read blocks, bounded in bytes; thread-safe."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._blocks: OrderedDict[tuple[str, int, int], BlockText] = OrderedDict()
        self._lock = Lock()

    def get(self, block: ZipNumBlock, read: Callable[[], BlockText]) -> BlockText:
        """Return a block from the cache, or with `read` if it is not cached."""
        place = (block.part, block.offset, block.length)
        with self._lock:
            found = self._blocks.get(place)
            if found is not None:
                self._blocks.move_to_end(place)
        if found is not None:
            found.complete()
            return found
        found = read()
        with self._lock:
            self._blocks[place] = found
            self._blocks.move_to_end(place)
            # cached blocks grow as more of them is inflated
            while sum(map(_SIZE, self._blocks.values())) > self._most:
                self._blocks.popitem(last=False)
        return found


def _between(texts: Iterable[bytes], start: bytes, end: bytes | None) -> Iterator[bytes]:
    """Yield the lines between two keys in texts of whole lines."""
    for text in texts:
        last = text[text.rfind(b"\n") + 1 :]
        if last < start:
            continue
        begin = _first_not_before(text, start) if start else 0
        stop = len(text) if end is None or last < end else _first_not_before(text, end, begin)
        if begin < stop:
            yield from text[begin:stop].removesuffix(b"\n").split(b"\n")
        if stop < len(text):
            return


def _first_not_before(text: bytes, key: bytes, low: int = 0) -> int:
    """Return the start of the first line not before a key; search from the line that starts at low.

    The result is the length of the text if all lines are before it.
    """
    high = len(text)
    while low < high:
        middle = (low + high) // 2
        begin = text.rfind(b"\n", low, middle) + 1 or low
        end = text.find(b"\n", middle)
        end = len(text) if end < 0 else end
        if text[begin:end] < key:
            low = end + 1
        else:
            high = begin
    return min(low, len(text))


def _texts(data: bytes, place: str) -> Iterator[bytes]:
    """Yield the contents of a block as texts of whole lines, without the final newlines."""
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
    """Yield the inflated pieces of a stored block; raises FormatError if it is damaged."""
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
            raise FormatError(f"{place}: the gzip member is cut off; the index has a wrong length")


class BlockIndex:
    """The lines of an `.idx` file, in the classic or the WACZ form.

    `part` is the file that a `!meta` line names, "" in the classic form. Raises FormatError if the
    first line has neither form.
    """

    def __init__(self, stored: StoredBytes) -> None:
        self.name = stored.name
        self._is_small = isinstance(stored, LocalFile) and stored.size <= _LISTED_BYTES
        self._file = SortedFile(stored.name, stored.read, stored.size)
        first = self._file.line_at(0)
        self.part = (parse_meta(first.line) if first else "") or ""
        if first and self.part:
            self._file.begin = first.offset + len(first.line) + 1

    def blocks(self, start: bytes = b"", end: bytes | None = None) -> Iterator[ZipNumBlock]:
        """Yield the blocks that can have lines from `start` up to but excluding `end`, in order."""
        for block in self._listed_from(start) if self._is_small else self._searched_from(start):
            if end is not None and block.key >= end:
                return
            yield block

    def _searched_from(self, start: bytes) -> Iterator[ZipNumBlock]:
        # A block with the key of `start` may begin after it, as its line continues after the key.
        offset = self._file.last_before(partial(_begins_before, start)) if start else None
        for at, line in self.lines(offset):
            yield self.parse(line, at)

    def _listed_from(self, start: bytes) -> Iterator[ZipNumBlock]:
        """Return the same as `_searched_from`, from memory, in a third of the time."""
        keys, found = self._listed
        place = bisect_left(keys, start)
        while place and start.startswith(keys[place - 1]):
            place -= 1
        for number in range(max(place - 1, 0), len(keys)):
            one = found[number]
            if isinstance(one, PlacedLine):
                one = found[number] = self.parse(one.line, one.offset)
            yield one

    @cached_property
    def _listed(self) -> tuple[list[bytes], list[PlacedLine | ZipNumBlock]]:
        """The keys of all index lines, and the lines, replaced by blocks once parsed."""
        lines = list(self.lines())
        return [_sorted_by(line) for _, line in lines], list(lines)

    def lines(self, offset: int | None = None) -> Iterator[PlacedLine]:
        """Yield each non-empty line with its offset, from the line that begins at `offset`."""
        return self._file.lines(offset)

    def parse(self, line: bytes, offset: int) -> ZipNumBlock:
        """Return the block of a line; raises FormatError with file and offset."""
        try:
            return parse_index_line(line, self.part)
        except FormatError as error:
            raise FormatError(f"{self.name} at {offset}: {error}", self.name, offset) from error


def _sorted_by(line: bytes) -> bytes:
    """Return the key of an index line, with the blank that follows it in CDX lines."""
    tab = line.find(b"\t")
    return line[: tab if tab >= 0 else line.find(b" {")] + b" "


def _begins_before(start: bytes, line: bytes) -> bool:
    """Return whether the block of an index line certainly begins before `start`."""
    key = _sorted_by(line)
    return key < start[: len(key)]


_MAGIC = b"\x1f\x8b\x08"
_READ_BYTES = 1 << 18
_SEARCHED_BYTES = 1 << 20
_LOOK_BYTES, _LOOK_INFLATED = 1 << 12, 1 << 11
_LINE_START = re.compile(rb"[^ \n]+ [0-9]{4,14} ")


@dataclass(frozen=True, slots=True)
class Member:
    """A gzip member: its location and content; if damaged, the inflatable part and the fault."""

    offset: int
    length: int
    content: bytes
    fault: str = ""


def members(stored: StoredBytes) -> Iterator[Member]:
    """Yield the members of a file in order; other bytes are yielded as damaged members."""
    offset = 0
    while offset < stored.size:
        found = _member(stored, offset)
        if found.fault:
            length = _next(stored, offset + 1) - offset
            found = Member(offset, length, found.content, found.fault)
        yield found
        offset += found.length


def holds_lines(path: Path) -> bool:
    """Return whether a file begins with a gzip member of CDX lines."""
    stored = LocalFile(path)
    try:
        return _holds_lines(stored.read(0, _LOOK_BYTES))
    finally:
        stored.close()


def member_size(data: bytes) -> int:
    """Return the length in bytes of the complete gzip member at the start of `data`."""
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    given = data
    while not decoder.eof:
        decoder.decompress(given, _SEARCHED_BYTES)
        given = b""
    return len(data) - len(decoder.unused_data)


def _member(stored: StoredBytes, offset: int) -> Member:
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    content = bytearray()
    at, given, fault = offset, b"", ""
    while not decoder.eof and not fault:
        if decoder.needs_input:
            given = stored.read(at, _READ_BYTES)
            at += len(given)
            fault = "" if given else "the gzip member is cut off"
        try:
            content += decoder.decompress(given, _SEARCHED_BYTES)
        except INFLATE_ERRORS as error:
            fault = f"the gzip member is damaged ({error})"
        given = b""
        if len(content) > MOST_INFLATED_BYTES:
            content.clear()
            fault = f"it inflates to more than {MOST_INFLATED_BYTES} bytes"
    length = at - offset - (0 if fault else len(decoder.unused_data))
    return Member(offset, length, bytes(content), fault)


def _next(stored: StoredBytes, offset: int) -> int:
    """Return the start of the next member with CDX lines, or the end of the file."""
    while window := stored.read(offset, _READ_BYTES + len(_MAGIC)):
        place = window.find(_MAGIC)
        while place >= 0:
            if _holds_lines(stored.read(offset + place, _LOOK_BYTES)):
                return offset + place
            place = window.find(_MAGIC, place + 1)
        offset += _READ_BYTES
    return stored.size


def _holds_lines(start: bytes) -> bool:
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    try:
        return _LINE_START.match(decoder.decompress(start, _LOOK_INFLATED)) is not None
    except INFLATE_ERRORS:
        return False

"""The blocks of an index, found by binary search over its lines as they are stored."""

from collections.abc import Iterator

from nwx.cdx.files import MAX_LINE_BYTES
from nwx.cdx.zipnum_index import ZipNumBlock, parse_index_line, parse_meta
from nwx.errors import FormatError
from nwx.zipnum.remote_bytes import StoredBytes

_WINDOW_BYTES = 1 << 13
_STREAM_BYTES = 1 << 18


class BlockIndex:
    """The lines of an `.idx` file, in either form.

    `part` is the file that a `!meta` line names, "" in the classic form.
    Raises FormatError where the first line is of neither.
    """

    def __init__(self, stored: StoredBytes) -> None:
        self.name = stored.name
        self._stored = stored
        first = self._line(0)
        part = parse_meta(first) if first else ""
        self.part = part or ""
        self._begin = len(first) + 1 if part else 0

    def blocks(self, start: bytes = b"", end: bytes | None = None) -> Iterator[ZipNumBlock]:
        """Yield the blocks that can hold lines from `start` up to but without `end`, in order."""
        offset = self._search(start) if start else self._begin
        for at, line in self.lines(offset):
            block = self.parse(line, at)
            if end is not None and block.key >= end:
                return
            yield block

    def lines(self, offset: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield each line with its offset, from one that begins at `offset`; empty ones not."""
        at = self._begin if offset is None else offset
        rest = b""
        while content := self._stored.read(at + len(rest), _STREAM_BYTES):
            *whole, rest = (rest + content).split(b"\n")
            for line in whole:
                if line:
                    yield at, line
                at += len(line) + 1
            if len(rest) > MAX_LINE_BYTES:
                raise self._too_long(at)
        if rest:
            yield at, rest

    def parse(self, line: bytes, offset: int) -> ZipNumBlock:
        """Return the block of a line; raises FormatError with the place."""
        try:
            return parse_index_line(line, self.part)
        except FormatError as error:
            raise FormatError(f"{self.name} at {offset}: {error}", self.name, offset) from error

    def _search(self, start: bytes) -> int:
        """Return the offset of the last line whose block begins before `start`.

        The first block where there is none. A block whose key is that of
        `start` may begin behind it, by what follows the key.
        """
        low, high = self._begin, self._stored.size  # the line at `low` is before, or the first
        while True:
            middle = self._line_start((low + high) // 2)
            if middle >= high:
                return self._scan(low, high, start)
            if self._before(self._line(middle), start):
                low = middle
            else:
                high = middle

    def _scan(self, low: int, high: int, start: bytes) -> int:
        """Return the last line that is before `start` of those from `low` up to `high`."""
        found = at = low
        while at < high:
            line = self._line(at)
            if not self._before(line, start):
                break
            found = at
            at += len(line) + 1
        return found

    @staticmethod
    def _before(line: bytes, start: bytes) -> bool:
        """Return whether the block of an index line surely begins before `start`."""
        tab = line.find(b"\t")
        key = line[: tab if tab >= 0 else line.find(b" {")] + b" "
        return key < start[: len(key)]

    def _line_start(self, middle: int) -> int:
        """Return where the first line that begins behind an offset does; the size for none."""
        offset = middle
        while window := self._stored.read(offset, _WINDOW_BYTES):
            newline = window.find(b"\n")
            if newline >= 0:
                return offset + newline + 1
            offset += len(window)
            if offset - middle > MAX_LINE_BYTES:
                raise self._too_long(middle)
        return self._stored.size

    def _line(self, offset: int) -> bytes:
        window = self._stored.read(offset, 512)
        newline = window.find(b"\n")
        while newline < 0 and len(window) <= MAX_LINE_BYTES:
            more = self._stored.read(offset + len(window), _WINDOW_BYTES)
            if not more:
                return window
            window += more
            newline = window.find(b"\n")
        if newline < 0:
            raise self._too_long(offset)
        return window[:newline]

    def _too_long(self, offset: int) -> FormatError:
        message = f"{self.name} at {offset}: a line of more than {MAX_LINE_BYTES} bytes"
        return FormatError(message, self.name, offset)

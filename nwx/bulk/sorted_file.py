"""Binary search in a file of sorted lines, wherever its bytes are."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from nwx.errors import FormatError

MAX_SORTED_LINE_BYTES = 1 << 20
"""Longer lines are no lines of a sorted file."""

_PROBE_BYTES = 1 << 10
_MOST_BYTES = 1 << 18


class PlacedLine(NamedTuple):
    """A line without its newline, and the offset of its first byte."""

    offset: int
    line: bytes


class SortedFile:
    """Sorted lines in bytes that `read(offset, length)` returns; empty lines are passed over.

    `begin` is the offset of the first line that counts. Several threads may
    use it at once where they may use `read`. Each method raises FormatError
    at a line that is too long, with `name` and the offset.
    """

    def __init__(
        self, name: str, read: Callable[[int, int], bytes], size: int, begin: int = 0
    ) -> None:
        self.size = size
        self.begin = begin
        self._name = name
        self._read = read

    def lines(self, offset: int | None = None) -> Iterator[PlacedLine]:
        """Yield the lines from one that begins at `offset`, or from the first on."""
        return filter(_has_line, self._split(self.begin if offset is None else offset))

    def line_at(self, offset: int) -> PlacedLine | None:
        """Return the first line that begins at or behind an offset, None where there is none."""
        if offset <= self.begin:
            return next(self.lines(), None)
        lines = self._split(offset - 1)
        next(lines, None)  # the end of the line before
        return next(filter(_has_line, lines), None)

    def first_not_before(self, is_before: Callable[[bytes], bool]) -> int:
        """Return the offset of the first line that is not before what is looked for.

        The lines for which `is_before` is true come before all others. The
        size of the file where there are no others.
        """
        for offset, line in self.lines(self._near(is_before)):
            if not is_before(line):
                return offset
        return self.size

    def last_before(self, is_before: Callable[[bytes], bool]) -> int:
        """Return the offset of the last line that is before what is looked for.

        That of the first line where none is.
        """
        found = self._near(is_before)
        for offset, line in self.lines(found):
            if not is_before(line):
                break
            found = offset
        return found

    def _near(self, is_before: Callable[[bytes], bool]) -> int:
        """Return where a line begins that is before what is looked for, and near it, or `begin`."""
        low, high = self.begin, self.size  # no line that begins at `high` or behind it is before
        while high - low > _PROBE_BYTES:
            middle = (low + high) // 2
            found = self.line_at(middle)
            if found is not None and found.offset < high and is_before(found.line):
                low = found.offset
            else:
                high = middle
        return low

    def _split(self, offset: int) -> Iterator[PlacedLine]:
        """Yield what stands between newlines from an offset on; more and more is read at once."""
        at, rest, length = offset, b"", _PROBE_BYTES
        while data := self._read(offset, min(length, self.size - offset)):
            offset += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield PlacedLine(at, line)
                at += len(line) + 1
            if len(rest) > MAX_SORTED_LINE_BYTES:
                message = f"{self._name} at {at}: a line of more than {MAX_SORTED_LINE_BYTES} bytes"
                raise FormatError(message, self._name, at)
            length = min(length * 4, _MOST_BYTES)
        if rest:
            yield PlacedLine(at, rest)


def _has_line(placed: PlacedLine) -> bool:
    return bool(placed.line)

"""Binary search in a file of sorted lines, local or remote, and merging of sorted lines."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from operator import eq
from typing import NamedTuple

from nwx.errors import FormatError

MAX_SORTED_LINE_BYTES = 1 << 20
"""The maximum length of a line in a sorted file."""

_PROBE_BYTES = 1 << 10
_PROBES_KEPT = 4_096
"""The number of cached probes: all searches share their first steps."""

_MOST_BYTES = 1 << 18


class PlacedLine(NamedTuple):
    """A line without its newline, and the offset of its first byte."""

    offset: int
    line: bytes


class SortedFile:
    """Sorted lines in bytes read by `read(offset, length)`; empty lines are skipped.

    The bytes must not change. `begin` is the offset of the first line to use. Thread-safe if `read`
    is. All methods raise FormatError, with `name` and the offset, on a line that is too long.
    """

    def __init__(
        self, name: str, read: Callable[[int, int], bytes], size: int, begin: int = 0
    ) -> None:
        self.size = size
        self.begin = begin
        self._name = name
        self._read = read
        self._probes: dict[int, PlacedLine | None] = {}

    def lines(self, offset: int | None = None) -> Iterator[PlacedLine]:
        """Yield the lines from the one that begins at `offset`, or from the first."""
        return filter(_has_line, self._split(self.begin if offset is None else offset))

    def line_at(self, offset: int) -> PlacedLine | None:
        """Return the first line that begins at or after an offset, None if there is none."""
        if offset <= self.begin:
            return next(self.lines(), None)
        lines = self._split(offset - 1)
        next(lines, None)  # the end of the line before
        return next(filter(_has_line, lines), None)

    def first_not_before(self, is_before: Callable[[bytes], bool]) -> int:
        """Return the offset of the first line that is not before the target.

        The lines for which `is_before` is true must precede all others. If there are no others, the
        result is the size of the file.
        """
        return next((offset for offset, _ in self.lines_not_before(is_before)), self.size)

    def lines_not_before(self, is_before: Callable[[bytes], bool]) -> Iterator[PlacedLine]:
        """Yield the lines from the first that is not before the target."""
        lines = self.lines(self._near(is_before))
        return dropwhile(lambda placed: is_before(placed.line), lines)

    def last_before(self, is_before: Callable[[bytes], bool]) -> int:
        """Return the offset of the last line before the target; of the first line if none is."""
        found = self._near(is_before)
        for offset, line in self.lines(found):
            if not is_before(line):
                break
            found = offset
        return found

    def _near(self, is_before: Callable[[bytes], bool]) -> int:
        """Return the offset of a line shortly before the target, or `begin`."""
        low, high = self.begin, self.size  # no line that begins at or after `high` is before it
        while high - low > _PROBE_BYTES:
            middle = (low + high) // 2
            found = self._probed(middle)
            if found is not None and found.offset < high and is_before(found.line):
                low = found.offset
            else:
                high = middle
        return low

    def _probed(self, offset: int) -> PlacedLine | None:
        """Return the result of `line_at`, cached for the first offsets."""
        try:
            return self._probes[offset]
        except KeyError:
            found = self.line_at(offset)
        if len(self._probes) < _PROBES_KEPT and (found is None or len(found.line) < _PROBE_BYTES):
            self._probes[offset] = found
        return found

    def _split(self, offset: int) -> Iterator[PlacedLine]:
        """Yield the lines from an offset, including empty ones, by reads of increasing size."""
        at, rest, length = offset, b"", _PROBE_BYTES
        while data := self._read(offset, min(length, max(self.size - offset, 0))):
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


LineBatch = list[bytes]


@dataclass(slots=True)
class _Head:
    """The buffered lines of one source, unread from `place`."""

    batches: Iterator[LineBatch]
    lines: LineBatch = field(default_factory=list)
    place: int = 0

    def refill(self) -> bool:
        """Buffer more lines if at most half are left; False if no line is left."""
        while 2 * (len(self.lines) - self.place) <= len(self.lines):
            more = next(self.batches, None)
            if more is None:
                break
            self.lines = [*self.lines[self.place :], *more] if self.lines else more
            self.place = 0
        return self.place < len(self.lines)

    def take(self, last: bytes) -> LineBatch:
        """Return the lines up to and including `last`."""
        begin = self.place
        self.place = bisect_right(self.lines, last, begin)
        return self.lines[begin : self.place]


def merged_lines(sources: Iterable[Iterator[LineBatch]]) -> Iterator[LineBatch]:
    """Yield all lines of sorted sources in sorted order.

    Holds two batches of each source at a time. Each batch of the result ends at the last line that
    no unread line of a source can precede.
    """
    heads = [head for head in map(_Head, sources) if head.refill()]
    while len(heads) > 1:
        last = min(head.lines[-1] for head in heads)
        pieces = [piece for head in heads if (piece := head.take(last))]
        batch = pieces[0]
        if len(pieces) > 1:
            batch = [line for piece in pieces for line in piece]
            batch.sort()  # detects the sorted pieces and merges them
        yield batch
        heads = [head for head in heads if head.refill()]
    for head in heads:
        yield head.lines[head.place :]
        yield from head.batches


class Distinct:
    """Iterates over batches without lines equal to the one before; `repeated` counts those."""

    def __init__(self, batches: Iterable[LineBatch]) -> None:
        self._batches = batches
        self.repeated = 0

    def __iter__(self) -> Iterator[LineBatch]:
        before = None
        for batch in self._batches:
            lines = batch
            if lines and (lines[0] == before or any(map(eq, lines, lines[1:]))):
                lines = _without_repeated(lines, before)
                self.repeated += len(batch) - len(lines)
            if lines:
                before = lines[-1]
                yield lines


def _without_repeated(lines: Sequence[bytes], before: bytes | None) -> LineBatch:
    kept = []
    for line in lines:
        if line != before:
            kept.append(line)
        before = line
    return kept

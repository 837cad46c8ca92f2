"""Sorted lines from many places become one stream of sorted lines, batch by batch."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import eq

LineBatch = list[bytes]


@dataclass(slots=True)
class _Head:
    """The lines of one source that are at hand, from `place` on."""

    batches: Iterator[LineBatch]
    lines: LineBatch = field(default_factory=list)
    place: int = 0

    def refill(self) -> bool:
        """Have more lines at hand where fewer than half are left; False at the end of all."""
        while 2 * (len(self.lines) - self.place) <= len(self.lines):
            more = next(self.batches, None)
            if more is None:
                break
            self.lines = [*self.lines[self.place :], *more] if self.lines else more
            self.place = 0
        return self.place < len(self.lines)

    def take(self, last: bytes) -> LineBatch:
        """Return the lines up to and with `last`."""
        begin = self.place
        self.place = bisect_right(self.lines, last, begin)
        return self.lines[begin : self.place]


def merged_lines(sources: Iterable[Iterator[LineBatch]]) -> Iterator[LineBatch]:
    """Yield all lines of sources that are each in order, in order.

    At any time two batches of each source are held. A batch of the result
    reaches as far as the lines at hand of all sources do.
    """
    heads = [head for head in map(_Head, sources) if head.refill()]
    while len(heads) > 1:
        last = min(head.lines[-1] for head in heads)
        pieces = [piece for head in heads if (piece := head.take(last))]
        batch = pieces[0]
        if len(pieces) > 1:
            batch = [line for piece in pieces for line in piece]
            batch.sort()  # finds the sorted pieces, and merges them
        yield batch
        heads = [head for head in heads if head.refill()]
    for head in heads:
        yield head.lines[head.place :]
        yield from head.batches


class Distinct:
    """Batches without the lines that repeat the one before; `repeated` counts those."""

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

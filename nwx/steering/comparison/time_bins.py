"""Counts along time in bounded memory: the more there is, the coarser the periods."""

from collections.abc import Iterator

MOST_BINS = 4_000

_PRECISIONS = (14, 12, 10, 8, 6, 4)
"""Digits of a timestamp: seconds, minutes, hours, days, months, years."""


class TimeBins:
    """Pages and how many of them are relevant, by period.

    Periods are seconds at first, and become minutes, hours, days, months
    and years when there are more than `most`.
    """

    def __init__(self, most: int = MOST_BINS) -> None:
        self._most = most
        self._precisions = list(_PRECISIONS)
        self._bins: dict[str, tuple[int, int]] = {}

    def add(self, timestamp: str, relevant: bool) -> None:
        """Count a page of a timestamp of 14 digits."""
        self._count(timestamp, 1, int(relevant))
        while len(self._bins) > self._most and len(self._precisions) > 1:
            self._coarsen()

    def periods(self, most: int) -> Iterator[tuple[str, int, int]]:
        """Yield at most so many periods in order: the period, its pages, and its relevant pages.

        A period is as many digits of a timestamp as all of them have.
        """
        while len(self._bins) > most and len(self._precisions) > 1:
            self._coarsen()
        for period, (pages, relevant) in sorted(self._bins.items()):
            yield period, pages, relevant

    def _count(self, timestamp: str, pages: int, relevant: int) -> None:
        period = timestamp[: self._precisions[0]]
        known = self._bins.get(period, (0, 0))
        self._bins[period] = known[0] + pages, known[1] + relevant

    def _coarsen(self) -> None:
        del self._precisions[0]
        finer, self._bins = self._bins, {}
        for period, counts in finer.items():
            self._count(period, *counts)

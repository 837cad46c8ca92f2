"""All dates of the documents of which a search server has more than the one of their entry."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from nwx.engine.search_server.documents.conditions import DateCondition
from nwx.engine.search_server.further_dates.rows import Chosen, DateRows, Numbers
from nwx.query.hidden import HiddenSpan
from nwx.query.periods import Period

DatedCounts = tuple[Counter[str], Counter[str]]
"""Captures by period, and documents that have any in it."""

_PERIODS = 10**6  # a period has six digits at most


class FurtherDates:
    """Documents, by their numbers in order, with all their dates."""

    def __init__(self, numbers: Numbers, rows: DateRows) -> None:
        self.numbers = numbers
        self._rows = rows

    def periods(
        self,
        among: Sequence[int],
        period: Period,
        condition: DateCondition,
        hidden: Sequence[HiddenSpan] = (),
    ) -> DatedCounts:
        """Count the dates of some documents that meet a condition and lie in no hidden span."""
        rows = self._rows
        chosen = self._of(among)[rows.places] & rows.that_meet(condition)
        if hidden:
            chosen &= ~rows.within(hidden)
        periods = rows.periods(period)[chosen]
        pairs = np.unique(rows.places[chosen] * _PERIODS + periods)
        return _counted(periods, period), _counted(pairs % _PERIODS, period)

    def _of(self, among: Sequence[int]) -> Chosen:
        """Tell of each document whether it is one of some numbers."""
        return np.isin(self.numbers, np.array(among, dtype=np.int64))


def _counted(periods: Numbers, period: Period) -> Counter[str]:
    values, counts = np.unique(periods, return_counts=True)
    pairs = zip(values.tolist(), counts.tolist(), strict=True)
    return Counter({f"{value:0{period.digits}}": count for value, count in pairs})


class DatesCollector:
    """What makes the table of entries of dates indices; several may be about one document."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._columns: list[Numbers] = []

    def add(self, entries: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add entries: the number of a document, and its dates as `<collection>/<timestamp>`."""
        rows: list[tuple[int, int, int]] = []
        for number, seen in entries:
            for one in seen:
                name, _, time = one.rpartition("/")
                code = self._codes.setdefault(name, len(self._codes))
                rows.append((number, int(time), code))
        self._columns.append(np.array(rows, dtype=np.int64).reshape(-1, 3).T)

    def numbers(self) -> frozenset[int]:
        """Return the documents that were added until now."""
        return frozenset(number for some in self._columns for number in some[0].tolist())

    def table(self) -> FurtherDates:
        """Return what was added; what was added twice is there once."""
        none = np.empty((3, 0), dtype=np.int64)
        columns = np.concatenate([none, *self._columns], axis=1)
        columns = columns[:, np.lexsort(columns[::-1])]
        new = np.ones(columns.shape[1], dtype=bool)
        new[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
        numbers, places = np.unique(columns[0, new], return_inverse=True)
        rows = DateRows(places, columns[1, new], columns[2, new], self._codes)
        return FurtherDates(numbers, rows)

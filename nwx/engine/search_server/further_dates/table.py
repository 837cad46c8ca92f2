"""All dates of the documents of which a search server has more than the one of their entry."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from nwx.engine.search_server.documents.conditions import DateCondition
from nwx.engine.search_server.further_dates.rows import Chosen, DateRows, Numbers
from nwx.query.hidden import HiddenSpan, SeenDate
from nwx.query.periods import Period

DatedCounts = tuple[Counter[str], Counter[str]]
"""Captures by period, and documents that have any in it."""

_PERIODS = 10**6  # a period has six digits at most


class FurtherDates:
    """Documents, by their numbers in order, with all their dates and those of their entries.

    `rows` are in the order of documents and dates; `own` has a row for each
    document: the date of its entry.
    """

    def __init__(self, numbers: Numbers, rows: DateRows, own: DateRows) -> None:
        self.numbers = numbers
        self._rows, self._own = rows, own
        self.included = msgspec.Raw(msgspec.json.encode(numbers.tolist()))

    def beyond_own(
        self,
        among: Sequence[int],
        period: Period,
        condition: DateCondition,
        hidden: Sequence[HiddenSpan] = (),
    ) -> DatedCounts:
        """Count the dates of some documents by period, each without the date of its entry.

        Those count that meet a condition and lie in no hidden span. A
        document is counted in the periods where the date of its entry does not
        let it count already; documents that are not in the table are passed over.
        """
        some = np.isin(self.numbers, np.array(among, dtype=np.int64))
        (places, periods), (_, own) = (
            _counting(rows, some, period, condition, hidden) for rows in (self._rows, self._own)
        )
        captures = _counted(periods, period)
        documents = _counted(periods[_changes(places) | _changes(periods)], period)
        known = _counted(own, period)
        captures.subtract(known)
        documents.subtract(known)
        return captures, documents


def _counting(
    rows: DateRows,
    some: Chosen,
    period: Period,
    condition: DateCondition,
    hidden: Sequence[HiddenSpan],
) -> tuple[Numbers, Numbers]:
    """Return the places and periods of the rows that count."""
    chosen = some[rows.places] & rows.that_meet(condition)
    if hidden:
        chosen &= ~rows.within(hidden)
    return rows.places[chosen], rows.periods(period)[chosen]


def _changes(values: Numbers) -> Chosen:
    """Tell of each value whether it is another than that before."""
    found = np.ones(len(values), dtype=bool)
    found[1:] = values[1:] != values[:-1]
    return found


def _counted(periods: Numbers, period: Period) -> Counter[str]:
    first = int(periods.min(initial=_PERIODS))
    counts = enumerate(np.bincount(periods - first).tolist(), first)
    return Counter({f"{value:0{period.digits}}": count for value, count in counts if count})


class DatesCollector:
    """What makes the table of entries of dates indices; several may be about one document."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._dates: list[Numbers] = []
        self._own: list[Numbers] = []

    def add(self, entries: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add entries: the number of a document, and its dates as `<collection>/<timestamp>`."""
        rows: list[tuple[int, int, int]] = []
        for number, seen in entries:
            for one in seen:
                name, _, time = one.rpartition("/")
                rows.append((number, int(time), self._code(name)))
        self._dates.append(_columns(rows))

    def add_own(self, documents: Iterable[tuple[int, SeenDate]]) -> None:
        """Add documents: their numbers, and the dates of their entries."""
        rows = [(number, int(time), self._code(name)) for number, (time, name) in documents]
        self._own.append(_columns(rows))

    def _code(self, collection: str) -> int:
        return self._codes.setdefault(collection, len(self._codes))

    def numbers(self) -> frozenset[int]:
        """Return the numbers that were added until now with dates."""
        return frozenset(number for some in self._dates for number in some[0].tolist())

    def table(self) -> FurtherDates:
        """Return the documents with their dates, of which the same ones are there once."""
        own, dates = _sorted(self._own), _sorted([*self._dates, *self._own])
        dates = dates[:, np.isin(dates[0], own[0])]
        numbers, places = np.unique(dates[0], return_inverse=True)
        return FurtherDates(
            numbers,
            DateRows(places, dates[1], dates[2], self._codes),
            DateRows(np.searchsorted(numbers, own[0]), own[1], own[2], self._codes),
        )


def _columns(rows: Sequence[tuple[int, int, int]]) -> Numbers:
    return np.array(rows, dtype=np.int64).reshape(-1, 3).T


def _sorted(parts: Sequence[Numbers]) -> Numbers:
    """Return the rows of tables in order, each once."""
    columns = np.concatenate([_columns([]), *parts], axis=1)
    columns = columns[:, np.lexsort(columns[::-1])]
    found: Numbers = columns[:, _changes(columns[0]) | _changes(columns[1]) | _changes(columns[2])]
    return found

"""Dates of documents that are only in dates indices, not in the documents' entries."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from cachetools import TTLCache

from nwx.bulk.arrays import is_new
from nwx.engine.document_dates import Chosen, DateNumbers, DateRows
from nwx.engine.document_index import current_work
from nwx.engine.search_server import schema
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.pages import Search, search_each, search_page, walk, within
from nwx.engine.search_server.schema import NUMBER, Schema
from nwx.engine.search_server.server import Body, Server
from nwx.model import IndexName
from nwx.query.question import DateCondition, HiddenSpan, SeenDate
from nwx.values.timestamps import Period

DatedCounts = tuple[Counter[str], Counter[str]]
"""Captures by period, and documents with captures in it."""

_PERIODS = 10**6  # a period has six digits at most


class FurtherDates:
    """Documents, sorted by number, with all their dates and the dates of their entries.

    `rows` are sorted by document and date; `own` has one row for each document, with the date of
    its entry.
    """

    def __init__(self, numbers: DateNumbers, rows: DateRows, own: DateRows) -> None:
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
        """Count the dates of some documents by period, except the dates of their entries.

        Only dates that meet the condition and are not in a hidden span count. A document is counted
        only in periods in which the date of its entry does not already count; documents missing in
        the table are ignored.
        """
        some = np.isin(self.numbers, np.array(among, dtype=np.int64))
        (places, periods), (_, own) = (
            _counting(rows, some, period, condition, hidden) for rows in (self._rows, self._own)
        )
        captures = _counted(periods, period)
        documents = _counted(periods[is_new(places) | is_new(periods)], period)
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
) -> tuple[DateNumbers, DateNumbers]:
    """Return the places and periods of the rows that count."""
    chosen = some[rows.places] & rows.that_meet(condition)
    if hidden:
        chosen &= ~rows.within(hidden)
    return rows.places[chosen], rows.periods(period)[chosen]


def _counted(periods: DateNumbers, period: Period) -> Counter[str]:
    first = int(periods.min(initial=_PERIODS))
    counts = enumerate(np.bincount(periods - first).tolist(), first)
    return Counter({f"{value:0{period.digits}}": count for value, count in counts if count})


class DatesCollector:
    """Builds the table from entries of dates indices, possibly several per document."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._dates: list[DateNumbers] = []
        self._own: list[DateNumbers] = []

    def add(self, entries: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add entries, each a document's number and its dates as `<collection>/<timestamp>`."""
        rows: list[tuple[int, int, int]] = []
        for number, seen in entries:
            for one in seen:
                name, _, time = one.rpartition("/")
                rows.append((number, int(time), self._code(name)))
        self._dates.append(_columns(rows))

    def add_own(self, documents: Iterable[tuple[int, SeenDate]]) -> None:
        """Add documents, each with its number and the date of its entry."""
        rows = [(number, int(time), self._code(name)) for number, (time, name) in documents]
        self._own.append(_columns(rows))

    def _code(self, collection: str) -> int:
        return self._codes.setdefault(collection, len(self._codes))

    def numbers(self) -> frozenset[int]:
        """Return the numbers of the documents whose dates were added so far."""
        return frozenset(number for some in self._dates for number in some[0].tolist())

    def table(self) -> FurtherDates:
        """Return the documents with their dates, without duplicates."""
        own, dates = _sorted(self._own), _sorted([*self._dates, *self._own])
        dates = dates[:, np.isin(dates[0], own[0])]
        numbers, places = np.unique(dates[0], return_inverse=True)
        return FurtherDates(
            numbers,
            DateRows(places, dates[1], dates[2], self._codes),
            DateRows(np.searchsorted(numbers, own[0]), own[1], own[2], self._codes),
        )


def _columns(rows: Sequence[tuple[int, int, int]]) -> DateNumbers:
    return np.array(rows, dtype=np.int64).reshape(-1, 3).T


def _sorted(parts: Sequence[DateNumbers]) -> DateNumbers:
    """Return the sorted rows of tables, without duplicates."""
    columns = np.concatenate([_columns([]), *parts], axis=1)
    columns = columns[:, np.lexsort(columns[::-1])]
    found: DateNumbers = columns[:, is_new(columns[0]) | is_new(columns[1]) | is_new(columns[2])]
    return found


_MOST_DATES = 1_000_000
"""The most dates cached in memory, 24 bytes each."""

_LARGE_SECONDS = 300.0
"""How long it is remembered that there are too many dates to cache."""

_FIELDS: Body = {"_source": False, "stored_fields": "_none_", "docvalue_fields": [NUMBER, "seen"]}
_OWN: Body = _FIELDS | {"docvalue_fields": [NUMBER, "timestamp", "collection"]}
_SUMS: Body = {
    "sum": {"sum": {"field": "_seq_no"}},
    "max": {"max": {"field": "_seq_no"}},
    "dates": {"sum": {"field": "count"}},
}


@dataclass(frozen=True, slots=True)
class _State:
    """A state that changes when other entries have additional dates, or such entries change."""

    entries: tuple[int, ...]
    changes: tuple[tuple[str, float, float], ...]
    dates: int


class FurtherDatesReader:
    """Reads the additional dates of an archive's documents with a cache; threads may share it.

    Up to schema.MAX_IDS documents and a million dates are cached, and reread when one of them has
    changed, which a small search detects.
    """

    def __init__(self, server: Server, schema: Schema, dates: ServerDatesIndices) -> None:
        self._server = server
        self._main = schema.name(IndexName.DATES)
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = dates
        self._guard = threading.Lock()
        self._kept: tuple[_State, FurtherDates] | None = None
        self._too_many: TTLCache[str, bool] = TTLCache(1, _LARGE_SECONDS)

    def table(self, beside: Sequence[Search] = ()) -> tuple["FurtherDates | None", list[Body]]:
        """Return the current additional dates, and the answers to other searches.

        The dates are None if there are too many; then answers may be missing.
        """
        with self._guard:
            if self._main in self._too_many:
                return None, []
        indices = [*self._dates.further(), (self._documents, EVERYTHING)]
        answers = search_each(self._server, [*map(_state_search, indices), *beside])
        states, others = answers[: len(indices)], answers[len(indices) :]
        state = _state([index for index, _ in indices], states)
        with self._guard:
            kept = self._kept
            if sum(state.entries[:-1]) > schema.MAX_IDS or state.dates > _MOST_DATES:
                self._kept = None
                self._too_many[self._main] = True
                return None, others
        if kept and kept[0] == state:
            return kept[1], others
        table = self._read(indices[:-1])
        with self._guard:
            self._kept = state, table
        return table, others

    def _read(self, indices: Sequence[tuple[str, Query]]) -> FurtherDates:
        found, known = DatesCollector(), frozenset[int]()
        for index, further in indices:
            for page in walk(self._server, index, _FIELDS | {"query": further}, schema.PAGE):
                found.add(_entries(page))
            if index == self._main:
                known = found.numbers()
        every = sorted(found.numbers())
        for page in self._pages_of(self._main, [one for one in every if one not in known], _FIELDS):
            found.add(_entries(page))
        for page in self._pages_of(self._documents, every, _OWN):
            found.add_own(_own_dates(page))
        return found.table()

    def _pages_of(self, index: str, numbers: Sequence[int], fields: Body) -> Iterator[list[Body]]:
        """Yield the entries of documents in an index with at most one entry per document."""
        for begin in range(0, len(numbers), schema.PAGE):
            some = within(EVERYTHING, numbers[begin : begin + schema.PAGE])
            body = fields | {"query": some, "size": schema.PAGE, "sort": ["_doc"]}
            yield search_page(self._server, index, body)["hits"]["hits"]


def _state_search(one: tuple[str, Query]) -> Search:
    index, query = one
    return Search(index, {"query": query, "size": 0, "track_total_hits": True, "aggs": _SUMS})


def _own_dates(page: Sequence[Body]) -> Iterator[tuple[int, SeenDate]]:
    current_work().check()
    for fields in (hit["fields"] for hit in page):
        yield fields[NUMBER][0], (fields["timestamp"][0], fields.get("collection", [""])[0])


def _entries(page: Sequence[Body]) -> Iterator[tuple[int, Sequence[str]]]:
    current_work().check()
    for fields in (hit["fields"] for hit in page):
        yield fields[NUMBER][0], fields.get("seen", ())


def _state(indices: Sequence[str], answers: Sequence[Body]) -> _State:
    found = [one["aggregations"] for one in answers]
    return _State(
        tuple(one["hits"]["total"]["value"] for one in answers),
        tuple(
            (index, one["sum"]["value"] or 0.0, one["max"]["value"] or 0.0)
            for index, one in zip(indices, found, strict=True)
        ),
        int(sum(one["dates"]["value"] or 0 for one in found)),
    )

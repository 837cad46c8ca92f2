"""What reads the further dates of documents, and keeps them until others come."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cachetools import TTLCache

from nwx.engine.search_server import limits
from nwx.engine.search_server.dates.indices import ServerDatesIndices
from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.further_dates.table import DatesCollector, FurtherDates
from nwx.engine.search_server.pages import Search, search_each, search_page, walk, within
from nwx.engine.search_server.schema import NUMBER, Schema
from nwx.engine.search_server.server import Body, Server
from nwx.engine.work import current_work
from nwx.model import IndexName
from nwx.query.hidden import SeenDate

_MOST_DATES = 1_000_000
"""The most dates that are kept in memory: 24 bytes each."""

_LARGE_SECONDS = 300.0
"""So long it is not asked again whether there are too many."""

_FIELDS: Body = {"_source": False, "stored_fields": "_none_", "docvalue_fields": [NUMBER, "seen"]}
_OWN: Body = _FIELDS | {"docvalue_fields": [NUMBER, "timestamp", "collection"]}
_SUMS: Body = {
    "sum": {"sum": {"field": "_seq_no"}},
    "max": {"max": {"field": "_seq_no"}},
    "dates": {"sum": {"field": "count"}},
}


@dataclass(frozen=True, slots=True)
class _State:
    """What is another when other entries know further dates, or the same ones changed."""

    entries: tuple[int, ...]
    changes: tuple[tuple[str, float, float], ...]
    dates: int


class FurtherDatesReader:
    """What gives the further dates of an archive's documents; threads may share it.

    They are kept where there are few enough, limits.MAX_IDS documents and a
    million dates, and read again when one of them changed, which a small
    search tells.
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
        """Return the further dates as they are now, and the answers of other searches.

        None of too many; then there may be no answers.
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
            if sum(state.entries[:-1]) > limits.MAX_IDS or state.dates > _MOST_DATES:
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
            for page in walk(self._server, index, _FIELDS | {"query": further}, limits.PAGE):
                found.add(_entries(page))
            if index == self._main:
                known = found.numbers()
        every = sorted(found.numbers())
        for page in self._of(self._main, [one for one in every if one not in known], _FIELDS):
            found.add(_entries(page))
        for page in self._of(self._documents, every, _OWN):
            found.add_own(_own_dates(page))
        return found.table()

    def _of(self, index: str, numbers: Sequence[int], fields: Body) -> Iterator[list[Body]]:
        """Give the entries of documents in an index that has one of each at most."""
        for begin in range(0, len(numbers), limits.PAGE):
            some = within(EVERYTHING, numbers[begin : begin + limits.PAGE])
            body = fields | {"query": some, "size": limits.PAGE, "sort": ["_doc"]}
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

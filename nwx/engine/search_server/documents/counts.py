"""Facets of a result: aggregations, corrected by dates that are not stored in documents."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nwx.bulk.progress import batches
from nwx.engine.document_index import current_work
from nwx.engine.search_server import schema
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.documents.aggregations import DATED_FACETS, DATED_VALUES
from nwx.engine.search_server.documents.compile import Query
from nwx.engine.search_server.documents.date_entries import FIRST_ENTRIES, FIRST_OF_MANY
from nwx.engine.search_server.documents.hidden_parts import (
    NOTHING_HIDDEN,
    HiddenParts,
    numbers_queries,
)
from nwx.engine.search_server.documents.join import Join
from nwx.engine.search_server.pages import (
    count_hits,
    numbers,
    numbers_and,
    search_page,
    search_several,
    within,
)
from nwx.engine.search_server.schema import COLLECTIONS, NUMBER, YEARS, Schema
from nwx.engine.search_server.server import Body, Server
from nwx.model import FacetValue, IndexName
from nwx.query.question import DocumentQuery

_ALL_DATES = {"collection": COLLECTIONS, "year": YEARS}

_PARTS_AT_ONCE = 20

Counts = dict[str, Counter[str]]
_Part = tuple[str, str, Query]


class FacetCounts:
    """Reads the facets of a result."""

    def __init__(self, server: Server, schema: Schema, dates: ServerDatesIndices) -> None:
        self._server = server
        self._parallel = dates
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = schema.name(IndexName.DATES)

    def read(
        self,
        facets: Sequence[str],
        size: int,
        aggregations: Body,
        query: Query,
        total: int,
        hidden: HiddenParts = NOTHING_HIDDEN,
    ) -> Mapping[str, tuple[FacetValue, ...]]:
        """Return the facets counted by aggregations (`terms_of`).

        `query` matches the counted documents, `total` is their number. Years and collections use
        all visible dates of a document, but only its own date if both the documents of the result
        and the documents with several dates exceed schema.MAX_IDS. An attached index is ignored if
        both the documents of the result and the entries of that index exceed it.
        """
        counts = _read(facets, aggregations)
        dated = [facet for facet in facets if facet in DATED_FACETS]
        if dated and total:
            own, every = self._with_many_dates(dated, query, total)
            for facet in dated:
                counts[facet].subtract(own[facet])
                counts[facet].update(every[facet])
            for facet, values in self._of_others(dated, query).items():
                counts[facet].update(values)
            for facet, values in self._lost(dated, query, total, hidden).items():
                counts[facet].subtract(values)
        return {facet: _values(facet, counts[facet], size) for facet in facets}

    def _with_many_dates(
        self, facets: Sequence[str], query: Query, total: int
    ) -> tuple[Counts, Counts]:
        """Count the documents of a query with several dates: by own date, and by all dates."""
        own = {name: _values_of(DATED_FACETS[name]) for name in facets}
        every = {name: _values_of(_ALL_DATES[name]) for name in facets}
        many = self._dates, FIRST_OF_MANY  # these have the years and collections of all chunks
        if total <= count_hits(self._server, *many):
            found = self._counted((self._documents, query), many, every, own)
            return found[1], found[0]
        return self._counted(many, (self._documents, query), own, every)

    def _of_others(self, facets: Sequence[str], query: Query) -> Counts:
        """Count the values that documents have only in the additional indices."""
        pairs: dict[str, set[tuple[int, Any]]] = {facet: set() for facet in facets}
        for index in self._parallel.others():
            among = numbers(self._server, self._documents, query)
            query_there = FIRST_ENTRIES if among is None else within(FIRST_ENTRIES, among)
            there = numbers(self._server, index, query_there)
            if there is None:
                continue
            if among is None:
                there = numbers(self._server, self._documents, within(query, there)) or []
            for facet, found in self._pairs(index, there, facets).items():
                pairs[facet] |= found
        new = {number for found in pairs.values() for number, _ in found}
        for facet, known in self._pairs(self._dates, list(new), facets).items():
            pairs[facet] -= known
        return {
            facet: Counter(_label(facet, value) for _, value in found)
            for facet, found in pairs.items()
        }

    def _lost(self, facets: Sequence[str], query: Query, total: int, hidden: HiddenParts) -> Counts:
        """Count the values that documents of a query have only by hidden dates."""
        lost = [
            (facet, value, some)
            for facet in facets
            for value, some in hidden.dates.lost_values(facet)
        ]
        counts: Counts = {facet: Counter() for facet in facets}
        if not lost:
            return counts
        if total <= schema.SHORT_LIST:
            among = numbers(self._server, self._documents, query) or []
            for facet, value, some in lost:
                counts[facet][value] = int(np.isin(some, among).sum())
            return counts
        parts = [
            (facet, value, part)
            for facet, value, some in lost
            for part in numbers_queries(some.tolist())
        ]
        for chunk in batches(parts, _PARTS_AT_ONCE):
            for (facet, value, _), count in self._each(query, chunk):
                counts[facet][value] += count
        return counts

    def _each(self, query: Query, parts: Sequence[_Part]) -> Iterator[tuple[_Part, int]]:
        """Yield each part with the number of a query's documents that it matches."""
        filters = {"filters": {"filters": [part for _, _, part in parts]}}
        body = {"query": query, "size": 0, "aggs": {"parts": filters}}
        found = search_page(self._server, self._documents, body)["aggregations"]["parts"]
        for part, bucket in zip(parts, found["buckets"], strict=True):
            yield part, bucket["doc_count"]

    def _pairs(
        self, index: str, among: Sequence[int], facets: Sequence[str]
    ) -> dict[str, set[tuple[int, Any]]]:
        """Return pairs of document number and value in an index, by facet."""
        pairs: dict[str, set[tuple[int, Any]]] = {facet: set() for facet in facets}
        wanted = [NUMBER, *(_ALL_DATES[facet] for facet in facets)]
        for start in range(0, len(among), schema.PAGE):
            query = within(FIRST_ENTRIES, among[start : start + schema.PAGE])
            body = {"query": query, "size": schema.PAGE, "sort": ["_doc"], "_source": False}
            found = search_page(self._server, index, body | {"docvalue_fields": wanted})
            for fields in (hit["fields"] for hit in found["hits"]["hits"]):
                for facet in facets:
                    values = fields.get(_ALL_DATES[facet], ())
                    pairs[facet].update((fields[NUMBER][0], value) for value in values)
        return pairs

    def _counted(
        self, fewer: tuple[str, Query], more: tuple[str, Query], among: Body, again: Body
    ) -> tuple[Counts, Counts]:
        """Count documents on both sides: with `among` on the larger one, `again` on the smaller."""
        nothing = Counts({name: Counter() for name in among})
        some = numbers(self._server, *fewer)
        if not some:
            return nothing, nothing
        both, first = numbers_and(self._server, more[0], within(more[1], some), among)
        if not both:
            return nothing, nothing
        _, second = numbers_and(self._server, fewer[0], within(FIRST_ENTRIES, both), again)
        return _read(among, first), _read(again, second)


def _values_of(field: str) -> Body:
    return {"terms": {"field": field, "size": DATED_VALUES}}


def _read(facets: Iterable[str], aggregations: Body) -> Counts:
    return {
        facet: Counter(
            {
                _label(facet, bucket["key"]): bucket["doc_count"]
                for bucket in aggregations.get(facet, {}).get("buckets", ())
            }
        )
        for facet in facets
    }


def _label(facet: str, value: Any) -> str:
    return f"{value:04}" if facet == "year" else str(value)


def _values(facet: str, counts: Counter[str], size: int) -> tuple[FacetValue, ...]:
    counts = +counts
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if facet == "year":
        ordered = sorted(counts.items())
        size = len(ordered)
    return tuple(FacetValue(value, number) for value, number in ordered[:size])


_AT_ONCE = 100
_BY_ID: list[Body] = [{"id": "asc"}]


def several_totals(
    server: Server, documents: str, join: Join, queries: Sequence[DocumentQuery]
) -> list[int | None]:
    """Return the number of documents each query finds, None if the join finds only a part."""
    found: list[int | None] = []
    for begin in range(0, len(queries), _AT_ONCE):
        current_work().check()
        some = [join.resolve(one, _BY_ID, 0) for one in queries[begin : begin + _AT_ONCE]]
        bodies: list[Body] = [
            {"query": one.query, "size": 0, "track_total_hits": True} for one in some if one.whole
        ]
        answers = iter(search_several(server, documents, bodies))
        found += [next(answers)["hits"]["total"]["value"] if one.whole else None for one in some]
    return found

"""Facets of a result: aggregations, put right by the dates that documents do not know."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nwx.engine.elastic import limits
from nwx.engine.elastic.compile import EVERYTHING, Query
from nwx.engine.elastic.paging import count, numbers, search, within
from nwx.engine.elastic.schema import COLLECTIONS, YEARS, Schema
from nwx.engine.elastic.server import Body, Server
from nwx.model import FacetValue, IndexName

_JOINED = {"collection": "collection", "year": "crawl_year"}
_JOINED_VALUES = 10_000
# With several shards each gives so many values: counts are exact unless a value
# is rarer than this many others on some shard. One shard is always exact.
_SHARD_VALUES = 1_000
_ALL_DATES = {"collection": COLLECTIONS, "year": YEARS}
_MANY: Query = {"range": {"count": {"gte": 2}}}

Counts = dict[str, Counter[str]]


def aggregations(facets: Sequence[str], size: int) -> Body:
    """Return the aggregations of facets."""
    return {facet: {"terms": _terms(facet, size)} for facet in facets}


def _terms(facet: str, size: int) -> Body:
    if facet in _JOINED:
        return {"field": _JOINED[facet], "size": _JOINED_VALUES}
    return {"field": facet, "size": size, "shard_size": size + _SHARD_VALUES}


class Facets:
    """What reads the facets of a result."""

    def __init__(self, server: Server, schema: Schema) -> None:
        self._server = server
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = schema.name(IndexName.DATES)

    def read(
        self, facets: Sequence[str], size: int, answer: Body, query: Query
    ) -> Mapping[str, tuple[FacetValue, ...]]:
        """Return the facets of an answer to `aggregations`.

        Years and collections look at all dates of a document. They look at
        its own date only where both the documents of the result and the
        documents with several dates are more than limits.MAX_IDS.
        """
        counts = _read(facets, answer)
        joined = [facet for facet in facets if facet in _JOINED]
        if joined and answer["hits"]["total"]["value"]:
            some = self._with_many_dates(query, answer["hits"]["total"]["value"])
            self._correct(counts, joined, some)
        return {facet: _values(facet, counts[facet], size) for facet in facets}

    def _correct(self, counts: Counts, facets: list[str], some: Sequence[int]) -> None:
        """Count all dates of some documents in place of their own."""
        if not some:
            return
        own = self._counts(self._documents, some, {name: _JOINED[name] for name in facets})
        every = self._counts(self._dates, some, {name: _ALL_DATES[name] for name in facets})
        for facet in facets:
            counts[facet].subtract(own[facet])
            counts[facet].update(every[facet])

    def _with_many_dates(self, query: Query, total: int) -> Sequence[int]:
        """Return which documents of a query have several dates, none if that is too much."""
        many = count(self._server, self._dates, _MANY)
        sides = [(self._documents, query, total), (self._dates, _MANY, many)]
        (index, first, fewest), (other, second, _) = sorted(sides, key=lambda side: side[2])
        if not 0 < fewest <= limits.MAX_IDS:
            return ()
        some = numbers(self._server, index, first)
        return (some and numbers(self._server, other, within(second, some))) or ()

    def _counts(self, index: str, some: Sequence[int], fields: Mapping[str, str]) -> Counts:
        body = {
            "query": within(EVERYTHING, some),
            "size": 0,
            "track_total_hits": False,
            "aggs": {
                facet: {"terms": {"field": field, "size": _JOINED_VALUES}}
                for facet, field in fields.items()
            },
        }
        return _read(fields, search(self._server, index, body))


def _read(facets: Iterable[str], answer: Body) -> Counts:
    return {
        facet: Counter(
            {
                _label(facet, bucket["key"]): bucket["doc_count"]
                for bucket in answer["aggregations"][facet]["buckets"]
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

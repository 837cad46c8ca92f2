"""Facets of a result: aggregations, put right by the dates that documents do not know."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nwx.engine.elastic import limits
from nwx.engine.elastic.compile import Query
from nwx.engine.elastic.join import id_of, within
from nwx.engine.elastic.paging import count, pages, search
from nwx.engine.elastic.schema import Schema
from nwx.engine.elastic.server import Body, Server
from nwx.engine.entries import dates_from_entry
from nwx.model import Dates, FacetValue, IndexName

_JOINED = {"collection": "collection", "year": "crawl_year"}
_JOINED_VALUES = 10_000
# With several shards each gives so many values: counts are exact unless a value
# is rarer than this many others on some shard. One shard is always exact.
_SHARD_VALUES = 1_000
_SEEN = ["id", "key", "seen"]
_MANY: Query = {"range": {"count": {"gte": 2}}}
_OWN: Body = {
    "_source": False,
    "stored_fields": "_none_",
    "docvalue_fields": ["id", *_JOINED.values()],
}

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
        counts = {
            facet: Counter(
                {
                    _label(facet, bucket["key"]): bucket["doc_count"]
                    for bucket in answer["aggregations"][facet]["buckets"]
                }
            )
            for facet in facets
        }
        joined = [facet for facet in facets if facet in _JOINED]
        if joined and answer["hits"]["total"]["value"]:
            self._add_dates(counts, joined, query, answer["hits"]["total"]["value"])
        return {facet: _values(facet, counts[facet], size) for facet in facets}

    def _add_dates(self, counts: Counts, facets: list[str], query: Query, total: int) -> None:
        for own, dates in self._with_many_dates(query, total):
            for facet in facets:
                known = {_label(facet, value) for value in own.get(_JOINED[facet], ())}
                counts[facet].update(_seen_values(facet, dates) - known)

    def _with_many_dates(self, query: Query, total: int) -> Iterator[tuple[Body, Dates]]:
        """Give the documents of a query with several dates: own values, and all dates."""
        many = count(self._server, self._dates, _MANY)
        if not many:
            return
        if total <= many and total <= limits.MAX_IDS:
            body = {"query": query, **_OWN}
            for page in pages(self._server, self._documents, body, ["_doc"], size=limits.PAGE):
                yield from self._with_dates(page)
        elif many <= limits.MAX_IDS:
            body = {"query": _MANY, "_source": _SEEN}
            for page in pages(self._server, self._dates, body, ["_doc"], size=limits.PAGE):
                yield from self._with_documents(page, query)

    def _with_dates(self, documents: list[Body]) -> Iterator[tuple[Body, Dates]]:
        own = {id_of(hit): hit["fields"] for hit in documents}
        body = {
            "query": within(_MANY, list(own)),
            "_source": ["key", "seen", "id"],
            "size": limits.PAGE,
        }
        for hit in search(self._server, self._dates, body)["hits"]["hits"]:
            yield own[hit["_source"]["id"]], dates_from_entry(hit["_source"])

    def _with_documents(self, entries: list[Body], query: Query) -> Iterator[tuple[Body, Dates]]:
        dates = {hit["_source"]["id"]: dates_from_entry(hit["_source"]) for hit in entries}
        body = {"query": within(query, list(dates)), "size": limits.PAGE, "sort": ["_doc"], **_OWN}
        for hit in search(self._server, self._documents, body)["hits"]["hits"]:
            yield hit["fields"], dates[id_of(hit)]


def _seen_values(facet: str, dates: Dates) -> set[str]:
    if facet == "year":
        return {timestamp[:4] for timestamp, _ in dates.seen}
    return {collection for _, collection in dates.seen}


def _label(facet: str, value: Any) -> str:
    return f"{value:04}" if facet == "year" else str(value)


def _values(facet: str, counts: Counter[str], size: int) -> tuple[FacetValue, ...]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if facet == "year":
        ordered = sorted(counts.items())
        size = len(ordered)
    return tuple(FacetValue(value, number) for value, number in ordered[:size])

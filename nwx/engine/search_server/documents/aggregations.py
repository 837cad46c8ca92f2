"""Aggregations of a search: facets without their own filters, and counts of folded documents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nwx.engine.document_index import RESULT_WINDOW
from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.pages import UNREAD, search_page
from nwx.engine.search_server.schema import FOLD_SIMILAR, FOLD_URL, NUMBER
from nwx.engine.search_server.server import Body, Server
from nwx.model import Collapse, Total

DATED_FACETS = {"collection": "collection", "year": "crawl_year"}
"""The facets that cover all dates of a document, and the fields of the document's own date."""

DATED_VALUES = 10_000
# Extra values requested from each of several shards: counts are exact unless a value is rarer than
# this many others on some shard. With one shard they are always exact.
_SHARD_VALUES = 1_000
_SHOWN = "shown"
_WITHOUT = "without "


@dataclass(frozen=True, slots=True)
class FacetFilters:
    """The filters that a search applies in its post filter.

    `own` are the filters of facets on the document's own fields. `dated` is the condition on its
    dates, None if no facet omits a part of it; `other_dates` has the remaining condition for each
    such facet.
    """

    own: Mapping[str, Query] = field(default_factory=dict)
    dated: Query | None = None
    other_dates: Mapping[str, Query] = field(default_factory=dict)

    def post_filter(self) -> Query:
        """Return the filter for the hits of the search."""
        return _all([*self.own.values(), *([self.dated] if self.dated else ())])

    def aggregations(self, facets: Sequence[str], size: int, further: Body) -> Body:
        """Return the aggregations of facets, and `further` ones on the documents found."""
        apart = {*self.own, *self.other_dates}
        usual = terms_of([facet for facet in facets if facet not in apart], size)
        # A condition on dates may list thousands of documents, so it is sent only once.
        inside = {_SHOWN: _filtered(self.own.values(), usual | further)}
        for facet in self.own:
            others = (query for name, query in self.own.items() if name != facet)
            inside[f"{_WITHOUT}{facet}"] = _filtered(others, terms_of([facet], size))
        found = inside if self.dated is None else {"dated": _filtered([self.dated], inside)}
        for facet, query in self.other_dates.items():
            filters = [query, *self.own.values()]
            found[f"{_WITHOUT}{facet}"] = _filtered(filters, terms_of([facet], size))
        return found


def terms_of(facets: Sequence[str], size: int) -> Body:
    """Return the aggregations of facets over the documents found."""
    return {facet: {"terms": _terms(facet, size)} for facet in facets}


def _terms(facet: str, size: int) -> Body:
    if facet in DATED_FACETS:
        return {"field": DATED_FACETS[facet], "size": DATED_VALUES}
    return {"field": facet, "size": size, "shard_size": size + _SHARD_VALUES}


def total_without(facet: str, aggregations: Body) -> int:
    """Return the number of documents counted by a facet on dates without its own filter."""
    found: int = aggregations[f"{_WITHOUT}{facet}"]["doc_count"]
    return found


def flat(aggregations: Body) -> Body:
    """Return the results of aggregations by name, including those within filters."""
    return dict(_flat(aggregations))


def _flat(aggregations: Body) -> Iterator[tuple[str, Body]]:
    for name, found in aggregations.items():
        if "buckets" in found or "value" in found or "count" in found:
            yield name, found
        elif isinstance(found, dict):
            inside = {key: one for key, one in found.items() if isinstance(one, dict)}
            yield from _flat(inside)


def _filtered(filters: Iterable[Query], aggs: Body) -> Body:
    return {"filter": _all(filters), "aggs": aggs}


def _all(queries: Iterable[Query]) -> Query:
    parts = [query for query in queries if query != EVERYTHING]
    return {"bool": {"filter": parts}} if parts else EVERYTHING


FOLDS = {Collapse.URL: FOLD_URL, Collapse.SIMILAR: FOLD_SIMILAR, Collapse.NONE: NUMBER}
"""The fields by which documents are folded."""

# Estimates have an error of a few thousandths; above this, no exact count is needed.
_PRECISE = {"precision_threshold": 40_000}
_SURELY_MORE = 1.05
_MOST_FOLDS = 1_000


@dataclass(frozen=True, slots=True)
class Folded:
    """The number of hits after folding, and the number of documents in each, by fold value."""

    total: Total
    versions: Mapping[int, int] = field(default_factory=dict)


class Folding:
    """Counts folded documents; threads may share it.

    In an index of one shard, the search itself counts them, unless more than _MOST_FOLDS hits have
    several documents. With several shards, it does so only for few documents.
    """

    def __init__(self, server: Server, documents: str) -> None:
        self._server = server
        self._documents = documents
        self._one_shard = True

    def aggregations(self, collapse: Collapse, most: int | None) -> Body:
        """Return the aggregations for `read`; `most` bounds the documents found, if known."""
        if collapse is Collapse.NONE:
            return {}
        fold = FOLDS[collapse]
        if most is not None and most <= RESULT_WINDOW:
            return {"folded": {"terms": _several(fold, RESULT_WINDOW)}}
        if self._one_shard:
            own = _several(fold, _MOST_FOLDS + 1) | {"shard_min_doc_count": 2}
            return {"several": {"terms": own}}
        return _estimate(fold)

    def read(self, collapse: Collapse, query: Query, answer: Body, hits: Sequence[Body]) -> Folded:
        """Return the folded counts: in total, and for each hit of a page.

        `answer` is the answer to the search with `aggregations`, `query` its query.
        """
        documents: int = answer["hits"]["total"]["value"]
        if collapse is Collapse.NONE or documents == 0:
            return Folded(Total(documents))
        counted = flat(answer["aggregations"])
        self._one_shard = answer["_shards"]["total"] == 1
        several = self._several_of(counted)
        if several is not None:
            versions = {one["key"]: one["doc_count"] for one in several}
            return Folded(_total(documents - sum(versions.values()) + len(versions)), versions)
        return self._asked(FOLDS[collapse], query, hits, counted.get("groups"))

    def _several_of(self, counted: Body) -> list[Body] | None:
        """Return the folds with several documents, None if these may be incomplete."""
        if "folded" in counted:
            found: list[Body] = counted["folded"]["buckets"]
            return found
        if not self._one_shard or "several" not in counted:
            return None
        found = counted["several"]["buckets"]
        return found if len(found) <= _MOST_FOLDS else None

    def _asked(
        self, fold: str, query: Query, hits: Sequence[Body], estimate: Body | None
    ) -> Folded:
        """Count by a separate search, only for this page's hits if too many for RESULT_WINDOW."""
        if estimate is None:
            body = {"query": query, "size": 0, "aggs": _estimate(fold), "track_total_hits": False}
            estimate = search_page(self._server, self._documents, body)["aggregations"]["groups"]
        many = estimate["value"] > RESULT_WINDOW * _SURELY_MORE
        folds = {"terms": {fold: [hit["fields"][fold][0] for hit in hits]}}
        body = {"query": query, "size": 0, "track_total_hits": False}
        if many:
            body |= {"query": {"bool": {"must": [query], "filter": [folds]}}}
        body["aggs"] = _versions(fold, folds) | ({} if many else _count_of_values(fold))
        found = search_page(self._server, self._documents, body)["aggregations"]
        return Folded(
            _total(RESULT_WINDOW + 1 if many else found["values"]["count"]),
            {one["key"]: one["doc_count"] for one in found["hits"]["values"].get("buckets", ())},
        )


def _total(hits: int) -> Total:
    """Return a total of hits: exact up to RESULT_WINDOW, a lower bound above."""
    return Total(hits) if hits <= RESULT_WINDOW else Total(RESULT_WINDOW, "gte")


def _estimate(field: str) -> Body:
    """Return the aggregation that estimates the number of folds."""
    return {"groups": {"cardinality": {"field": field, **_PRECISE}}}


def _several(field: str, most: int) -> Body:
    """Return the terms aggregation of the folds with several documents."""
    return {"field": field, "size": most, "min_doc_count": 2}


def _versions(field: str, folds: Query) -> Body:
    """Return the aggregation that counts the documents with each of these fold values."""
    counted = {"terms": {"field": field, "size": max(len(folds["terms"][field]), 1)}}
    return {"hits": {"filter": folds, "aggs": {"values": counted}}}


def _count_of_values(field: str) -> Body:
    """Return the aggregation that counts the values of a field, exactly up to RESULT_WINDOW."""
    return {
        UNREAD: {"terms": {"field": field, "size": RESULT_WINDOW + 1}},
        "values": {"stats_bucket": {"buckets_path": f"{UNREAD}>_count"}},
    }

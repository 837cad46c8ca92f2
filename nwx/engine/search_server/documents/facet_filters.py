"""Filters that facets leave out of their own counts, and the aggregations that do so in one search.

The query of the search leaves these filters out. They come back as its
post filter, which narrows hits and totals down, and as the filters of
aggregations: of each facet all but its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.server import Body

DATED_FACETS = {"collection": "collection", "year": "crawl_year"}
"""The facets that look at all dates of a document, and the fields of its own date."""

DATED_VALUES = 10_000
# With several shards each gives so many values: counts are exact unless a value
# is rarer than this many others on some shard. One shard is always exact.
_SHARD_VALUES = 1_000
_SHOWN = "shown"
_WITHOUT = "without "


@dataclass(frozen=True, slots=True)
class FacetFilters:
    """The filters that a search leaves to its post filter.

    `own` are those of facets that are a document's own. `dated` is the
    condition on its dates, None where no facet leaves a part of it out,
    and `other_dates` what is left of that condition for each such facet.
    """

    own: Mapping[str, Query] = field(default_factory=dict)
    dated: Query | None = None
    other_dates: Mapping[str, Query] = field(default_factory=dict)

    def post_filter(self) -> Query:
        """Return the filter of the documents that are found."""
        return _all([*self.own.values(), *([self.dated] if self.dated else ())])

    def aggregations(self, facets: Sequence[str], size: int, further: Body) -> Body:
        """Return the aggregations of facets, and `further` ones of the documents found."""
        apart = {*self.own, *self.other_dates}
        usual = terms_of([facet for facet in facets if facet not in apart], size)
        # A condition on dates may list thousands of documents: it is sent once.
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
    """Return the aggregations of facets of the documents that are found."""
    return {facet: {"terms": _terms(facet, size)} for facet in facets}


def _terms(facet: str, size: int) -> Body:
    if facet in DATED_FACETS:
        return {"field": DATED_FACETS[facet], "size": DATED_VALUES}
    return {"field": facet, "size": size, "shard_size": size + _SHARD_VALUES}


def total_without(facet: str, aggregations: Body) -> int:
    """Return how many documents a facet of dates counts, which leaves out its own filter."""
    found: int = aggregations[f"{_WITHOUT}{facet}"]["doc_count"]
    return found


def flat(aggregations: Body) -> Body:
    """Return the answers of aggregations by name, those within filters too."""
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

"""Questions and their answers."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nwx.engine.base import RESULT_WINDOW, SearchRequest
from nwx.engine.elastic.dates.indices import ElasticDatesIndices
from nwx.engine.elastic.documents.compile import EVERYTHING, Query, has_scores
from nwx.engine.elastic.documents.counts import FacetCounts, aggregations
from nwx.engine.elastic.documents.hits import SOURCE, Highlighting, to_hit
from nwx.engine.elastic.documents.join import Join, Resolved
from nwx.engine.elastic.documents.order import DateOrder
from nwx.engine.elastic.pages import UNREAD, pages, search_page, within
from nwx.engine.elastic.schema import FOLD_SIMILAR, FOLD_URL, NUMBER, Schema
from nwx.engine.elastic.server import Body, Server, StatusError
from nwx.errors import QueryError, WindowError
from nwx.model import Collapse, Hit, IndexName, SearchResult, Sort, Total

_FOLDS = {Collapse.URL: FOLD_URL, Collapse.SIMILAR: FOLD_SIMILAR, Collapse.NONE: NUMBER}
# Equal scores by chance are in the order of the documents' own dates: further
# ones are in another index. Where all scores are equal, all dates count.
_RELEVANCE: list[Body] = [{"_score": "desc"}, {"crawl_date": "desc"}, {"id": "asc"}]
_BY_ID: list[Body] = [{"id": "asc"}]
_BAD_REQUEST = 400
# An estimate, within a few of a thousand; above it nothing needs to be counted.
_PRECISE = {"precision_threshold": 40_000}
_SURELY_MORE = 1.05


@dataclass(frozen=True, slots=True)
class Folded:
    """The number of hits after folding, and of the documents folded into each."""

    total: Total
    versions: Mapping[int, int] = field(default_factory=dict)


class Searching:
    """What answers questions from the indices of documents and dates."""

    def __init__(self, server: Server, schema: Schema, dates: ElasticDatesIndices) -> None:
        self._server = server
        self._dates = dates
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._join = Join(server, schema, dates)
        self._facets = FacetCounts(server, schema, dates)

    def search(self, request: SearchRequest) -> SearchResult:
        """Answer a question, as `Engine.search` does."""
        if request.offset + request.limit > RESULT_WINDOW:
            raise WindowError(
                f"pages reach {RESULT_WINDOW} hits, {request.offset + request.limit} were asked "
                f"for; ask a narrower question, or stream all hits (scroll)"
            )
        try:
            return self._search(request)
        except StatusError as error:
            if error.status == _BAD_REQUEST:
                raise QueryError(f"elasticsearch cannot take this query: {error}") from error
            raise

    def _search(self, request: SearchRequest) -> SearchResult:
        started = time.perf_counter()
        by_date = _date_order(request)
        order = DateOrder(self._server, self._documents, self._dates, by_date) if by_date else None
        sort = order.own_sort() if order else _RELEVANCE
        resolved = self._join.resolve(request, sort, request.offset + request.limit)
        highlighting = Highlighting(request.query)
        answer = self._ask(request, resolved, highlighting, order)
        hits = answer["hits"]["hits"]
        if order and request.limit:
            hits = self._ordered(request, resolved.query, order, answer, highlighting)
        folded = self._folded(request, resolved.query, answer, hits)
        documents = Total(answer["hits"]["total"]["value"])
        return SearchResult(
            total=folded.total if resolved.whole else _at_least(folded.total),
            documents=documents if resolved.whole else _at_least(documents),
            hits=self._hits(hits, _FOLDS[request.collapse], folded, highlighting),
            facets=self._facets.read(request.facets, request.facet_size, answer, resolved.query),
            took_ms=(time.perf_counter() - started) * 1000,
        )

    def _ask(
        self,
        request: SearchRequest,
        resolved: Resolved,
        highlighting: Highlighting,
        order: DateOrder | None,
    ) -> Body:
        """Return totals and facets, and the hits of the page, or what `order` finds them from."""
        fold = _FOLDS[request.collapse]
        body: Body = {
            "query": resolved.query,
            "size": 0,
            "track_total_hits": True,
            "aggs": aggregations(request.facets, request.facet_size),
        }
        if request.collapse is not Collapse.NONE:
            body["aggs"] |= {"groups": {"cardinality": {"field": fold, **_PRECISE}}}
        if order and request.limit:
            body |= order.body(fold, request.offset + request.limit)
        elif request.limit:
            body |= self._page(request, highlighting)
            body |= {"from": request.offset, "size": request.limit, "sort": _RELEVANCE}
            if request.collapse is not Collapse.NONE:
                body["collapse"] = {"field": fold}
        return search_page(self._server, self._documents, body)

    def _page(self, request: SearchRequest, highlighting: Highlighting) -> Body:
        fields = list({NUMBER, _FOLDS[request.collapse]})
        page: Body = {"_source": SOURCE, "docvalue_fields": fields}
        if request.snippets:
            page["highlight"] = highlighting.body()
        return page

    def _ordered(
        self,
        request: SearchRequest,
        query: Query,
        order: DateOrder,
        answer: Body,
        highlighting: Highlighting,
    ) -> list[Body]:
        wanted = request.offset + request.limit
        fold = _FOLDS[request.collapse]
        first = order.first(query, fold, wanted, answer)[request.offset :]
        if not first:
            return []
        body = {"query": within(query, first), "size": len(first)}
        body |= self._page(request, highlighting)
        found = search_page(self._server, self._documents, body)["hits"]["hits"]
        by_number = {hit["fields"][NUMBER][0]: hit for hit in found}
        return [by_number[number] for number in first if number in by_number]

    def _hits(
        self, hits: Sequence[Body], fold: str, folded: Folded, highlighting: Highlighting
    ) -> tuple[Hit, ...]:
        dates = self._dates.read([hit["_source"]["id"] for hit in hits])
        return tuple(
            to_hit(
                hit, dates, folded.versions.get(hit["fields"][fold][0], 1), highlighting.pieces(hit)
            )
            for hit in hits
        )

    def _folded(
        self, request: SearchRequest, query: Query, answer: Body, hits: Sequence[Body]
    ) -> Folded:
        """Count what is folded: all of it, and into each of the hits of a page."""
        documents: int = answer["hits"]["total"]["value"]
        if request.collapse is Collapse.NONE or documents == 0:
            return Folded(Total(documents))
        fold = _FOLDS[request.collapse]
        folds = {"terms": {fold: [hit["fields"][fold][0] for hit in hits]}}
        surely_more = answer["aggregations"]["groups"]["value"] > RESULT_WINDOW * _SURELY_MORE
        body: Body = {"query": query, "size": 0, "track_total_hits": False}
        if surely_more:
            body |= {"query": {"bool": {"must": [query], "filter": [folds]}}}
        body["aggs"] = _versions(fold, folds) | ({} if surely_more else _count_of_values(fold))
        found = search_page(self._server, self._documents, body)["aggregations"]
        total = RESULT_WINDOW + 1 if surely_more else found["values"]["count"]
        return Folded(
            Total(total) if total <= RESULT_WINDOW else Total(RESULT_WINDOW, "gte"),
            {one["key"]: one["doc_count"] for one in found["hits"]["values"]["buckets"]},
        )

    def scroll(self, request: SearchRequest) -> Iterator[Hit]:
        """Stream every hit, as `Engine.scroll` does."""
        try:
            yield from self._scroll(request)
        except StatusError as error:
            if error.status == _BAD_REQUEST:
                raise QueryError(f"elasticsearch cannot take this query: {error}") from error
            raise

    def _scroll(self, request: SearchRequest) -> Iterator[Hit]:
        resolved = self._join.resolve(request, _BY_ID, 0)
        if not resolved.whole:
            for numbers in self._join.walk(request, _BY_ID):
                yield from self._stream(within(EVERYTHING, numbers))
        else:
            yield from self._stream(resolved.query)

    def _stream(self, query: Query) -> Iterator[Hit]:
        body = {"query": query, "_source": SOURCE, "track_scores": True}
        for page in pages(self._server, self._documents, body, _BY_ID):
            dates = self._dates.read([hit["_source"]["id"] for hit in page])
            for hit in page:
                yield to_hit(hit, dates)


def _date_order(request: SearchRequest) -> Sort | None:
    """Return the order by date of a request; equal scores are newest first."""
    if request.sort is not Sort.RELEVANCE:
        return request.sort
    return None if has_scores(request.query) else Sort.NEWEST


def _at_least(total: Total) -> Total:
    return Total(total.value, "gte")


def _versions(field: str, folds: Query) -> Body:
    """Return the aggregation that counts the documents of these values of a field."""
    counted = {"terms": {"field": field, "size": max(len(folds["terms"][field]), 1)}}
    return {"hits": {"filter": folds, "aggs": {"values": counted}}}


def _count_of_values(field: str) -> Body:
    """Return the aggregation that counts the values of a field, exactly up to RESULT_WINDOW."""
    return {
        UNREAD: {"terms": {"field": field, "size": RESULT_WINDOW + 1}},
        "values": {"stats_bucket": {"buckets_path": f"{UNREAD}>_count"}},
    }

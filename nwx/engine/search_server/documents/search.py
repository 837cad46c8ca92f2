"""Search by words in the indices of documents and dates."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nwx.engine.document_index import check_window, counting
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.documents.aggregations import (
    FOLDS,
    Folded,
    Folding,
    flat,
    terms_of,
    total_without,
)
from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.documents.counts import FacetCounts, several_totals
from nwx.engine.search_server.documents.hidden_parts import (
    NOTHING_HIDDEN,
    HiddenParts,
    HiddenReader,
)
from nwx.engine.search_server.documents.join import Join, Resolved, superset_query
from nwx.engine.search_server.documents.linked_search import (
    LinkedQuery,
    LinkedSearch,
    LinkedSearches,
    RankedHit,
    ranked_hits,
    ranking_body,
)
from nwx.engine.search_server.documents.order import DateOrder, InlinkOrder
from nwx.engine.search_server.documents.store import SNIPPET_SOURCE, SOURCE, to_hit
from nwx.engine.search_server.documents.trends import TrendCounts
from nwx.engine.search_server.pages import Search, pages, search_each, search_page, within
from nwx.engine.search_server.refusals import missing_shards, query_errors
from nwx.engine.search_server.schema import NUMBER, Schema
from nwx.engine.search_server.server import Body, Server
from nwx.engine.snippets import Highlighter
from nwx.model import (
    Collapse,
    FacetValue,
    Hit,
    IndexName,
    SearchResult,
    Sort,
    Total,
)
from nwx.query.question import BY_SCORE, Question, facet_fields, loosened, resolve
from nwx.query.tree import is_below_pages
from nwx.values.timestamps import Period, TrendPoint

# Documents with equal scores by chance are ordered by own date, as additional dates
# are in another index. If all scores are equal, all dates count (`_date_order`).
_RELEVANCE: list[Body] = [{"_score": "desc"}, {"crawl_date": "desc"}, {"id": "asc"}]
_BY_ID: list[Body] = [{"id": "asc"}]


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """A question with its link data, and how its page is ordered and read.

    The facets `apart` are counted without their own filter. Hits are in the `order` of dates, or by
    score if it is None. With `listed`, hits by score are not read, only these fields are listed.
    """

    question: Question
    links: LinkedSearch
    facets: tuple[str, ...]
    apart: tuple[str, ...]
    fold: str
    wanted: int
    order: DateOrder | None
    highlighter: Highlighter | None
    listed: tuple[str, ...] = ()

    @property
    def sort(self) -> list[Body]:
        """The sort that the server applies to the documents found."""
        if self.order is None or self.question.sort in BY_SCORE:
            return _RELEVANCE
        return self.order.own_sort()


class SearchingByWords:
    """Answers questions by words from the indices of documents and dates."""

    def __init__(
        self, server: Server, schema: Schema, dates: ServerDatesIndices, links: LinkedSearches
    ) -> None:
        self._server = server
        self._dates = dates
        self._links = links
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._join = Join(server, schema, dates)
        self._folding = Folding(server, self._documents)
        self._trends = TrendCounts(server, schema, dates, self._join)
        self._facets = FacetCounts(server, schema, dates)
        self._hidden = HiddenReader(server, schema, dates)

    def search(self, question: Question) -> SearchResult:
        """Answer a question, as in `Engine.search`."""
        check_window(question)
        with query_errors():
            return self._search(question)

    def _search(self, question: Question) -> SearchResult:
        started = time.perf_counter()
        plan = self._plan(question)
        resolved, answer = self._answer(plan)
        found = answer["hits"]["total"]["value"] or missing_shards(answer)
        looser = None if found else loosened(question, plan.links.query.tree)
        if looser is not None:
            plan = self._plan(looser)
            resolved, answer = self._answer(plan)
        hits = answer["hits"]["hits"]
        parts: Mapping[int, RankedHit | None] = {}
        if question.limit and (plan.order or plan.links.ranks):
            parts = self._page_scores(plan, resolved.query, answer)
            hits = self._fetched(plan, list(parts))
        folded = self._folding.read(question.collapse, resolved.query, answer, hits)
        documents = Total(answer["hits"]["total"]["value"])
        counted = self._facet_values(plan, resolved, answer)
        return SearchResult(
            total=folded.total if resolved.whole else _at_least(folded.total),
            documents=documents if resolved.whole else _at_least(documents),
            hits=_with_link_parts(self._hits(plan, hits, folded), hits, parts, plan.links),
            facets={facet: counted[facet] for facet in plan.facets},
            took_ms=(time.perf_counter() - started) * 1000,
            most_words=looser is not None and documents.value > 0,
        )

    def _plan(self, question: Question) -> ServerPlan:
        facets = facet_fields(question)
        links = self._linked(question)
        return ServerPlan(
            question=question,
            links=links,
            facets=facets,
            apart=tuple(facet for facet in facets if links.query.filters_facet(facet)),
            fold=FOLDS[question.collapse],
            wanted=question.offset + question.limit,
            order=self._date_order(question, links),
            highlighter=Highlighter(links.query.tree) if question.snippets else None,
        )

    def _date_order(self, question: Question, links: LinkedSearch) -> DateOrder | None:
        """Return the order by date, None if by score; newest first if all scores are equal."""
        sort = question.sort
        if sort not in (Sort.OLDEST, Sort.NEWEST):
            if sort in BY_SCORE and links.is_scored:
                return None
            sort = Sort.NEWEST
        parts = self._documents, self._dates, sort, links.query.hidden
        return DateOrder(self._server, *parts, pages_first=links.query.pages_first)

    def _linked(self, question: Question) -> LinkedSearch:
        """Return the link data of a question, restricted to visible documents."""
        return self._links.search(resolve(question), self._hidden.read(question.hidden))

    def _answer(self, plan: ServerPlan) -> tuple[Resolved, Body]:
        """Return the query of a plan and its answer."""
        resolved, answer, _ = self._answers(plan)
        return resolved, answer

    def _answers(
        self, plan: ServerPlan, further: Sequence[Search] = ()
    ) -> tuple[Resolved, Body, list[Body]]:
        """Return the query of a plan and the answers to it and to `further` searches.

        They are sent in one request, which also checks cached lists: if one changed, the search is
        repeated.
        """
        resolved = self._resolved(plan, trusting=True)
        main = Search(self._documents, self._body(plan, resolved))
        if not resolved.kept and not further:
            return resolved, search_page(self._server, main.index, main.body), []
        kept = [one.search() for one in resolved.kept]
        answer, *others = search_each(self._server, [main, *kept, *further])
        if self._join.changed(resolved.kept, others[: len(kept)]):
            resolved = self._resolved(plan)
            answer = search_page(self._server, self._documents, self._body(plan, resolved))
        return resolved, answer, others[len(kept) :]

    def _resolved(self, plan: ServerPlan, *, trusting: bool = False) -> Resolved:
        query, apart = plan.links.query, plan.apart
        found = self._join.resolve_apart(query, apart, trusting=trusting) if apart else None
        return found or self._join.resolve(query, plan.sort, plan.wanted, trusting=trusting)

    def _facet_values(
        self, plan: ServerPlan, resolved: Resolved, answer: Body
    ) -> dict[str, tuple[FacetValue, ...]]:
        """Return the facets, including those counted without their own filter."""
        query, size = plan.links.query, plan.question.facet_size
        found, total = flat(answer.get("aggregations", {})), answer["hits"]["total"]["value"]
        read = partial(self._facets.read, hidden=query.hidden)
        if resolved.apart is None:
            usual = [facet for facet in plan.facets if facet not in plan.apart]
            counted = dict(read(usual, size, found, resolved.query, total))
            for facet in plan.apart:
                counted |= self._facet_without(query.without(facet), facet, size)
            return counted
        usual = [facet for facet in plan.facets if facet not in resolved.counted]
        counted = dict(read(usual, size, found, resolved.query, total))
        for facet, counted_query in resolved.counted.items():
            total = total_without(facet, answer["aggregations"])
            counted |= read([facet], size, found, counted_query, total)
        return counted

    def _facet_without(
        self, query: LinkedQuery, facet: str, size: int
    ) -> Mapping[str, tuple[FacetValue, ...]]:
        """Return a facet of documents other than the result's, by a separate search."""
        resolved = self._join.resolve(query, _BY_ID, 0)
        body: Body = {"query": resolved.query, "size": 0, "track_total_hits": True}
        body["aggs"] = terms_of([facet], size)
        answer = search_page(self._server, self._documents, body)
        total = answer["hits"]["total"]["value"]
        found = answer["aggregations"]
        return self._facets.read([facet], size, found, resolved.query, total, query.hidden)

    def _body(self, plan: ServerPlan, resolved: Resolved) -> Body:
        """Return the search body for totals, facets, and the hits of the page or their order."""
        question = plan.question
        groups = self._folding.aggregations(question.collapse, resolved.most)
        body: Body = {"query": resolved.query, "size": 0, "track_total_hits": True}
        if resolved.apart is None:
            body["aggs"] = terms_of(plan.facets, question.facet_size) | groups
        else:
            body["query"] = resolved.asked
            body["post_filter"] = resolved.apart.post_filter()
            body["aggs"] = resolved.apart.aggregations(plan.facets, question.facet_size, groups)
        if plan.order and question.limit:
            body |= plan.order.body(plan.fold, plan.wanted)
        elif question.limit:
            if plan.links.ranks or plan.listed:
                fields = plan.listed or (plan.fold, "urlkey")
                body |= ranking_body(fields, plan.wanted)
            else:
                body |= page_body(question) | {"from": question.offset, "size": question.limit}
            body["sort"] = _RELEVANCE
            if question.collapse is not Collapse.NONE:
                body["collapse"] = {"field": plan.fold}
        return body

    def _page_scores(
        self, plan: ServerPlan, query: Query, answer: Body
    ) -> Mapping[int, RankedHit | None]:
        """Return the numbers of a page's documents in order, with score and factor if by score."""
        links, offset = plan.links, plan.question.offset
        if plan.order is None:
            ranked = ranked_hits(answer["hits"]["hits"], links)[offset : plan.wanted]
            return {one.number: one for one in ranked}
        first = partial(plan.order.first, query, plan.fold, answer=answer)
        if plan.question.sort is Sort.INLINKS and links.table:
            by_links = InlinkOrder(
                self._server, self._documents, self._dates, links.table, links.query.hidden
            )
            total = answer["hits"]["total"]["value"]
            numbers = by_links.first(query, plan.fold, plan.wanted, total, first)
        else:
            numbers = first(plan.wanted)
        return dict.fromkeys(numbers[offset:])

    def _fetched(self, plan: ServerPlan, numbers: Sequence[int]) -> list[Body]:
        """Return the hits with these numbers, in this order, scored by the documents' own words."""
        if not numbers:
            return []
        inside = {"terms": {NUMBER: list(numbers)}}
        # These documents are known to be visible, and the query of hidden ones may be long.
        plain = replace(plan.links.query, found=(), filters={}, hidden=NOTHING_HIDDEN)
        words = superset_query(plain, {})
        body: Body = {"query": {"bool": {"should": [words], "filter": [inside]}}}
        body |= {"size": len(numbers), **page_body(plan.question)}
        found = search_page(self._server, self._documents, body)["hits"]["hits"]
        by_number = {hit["fields"][NUMBER][0]: hit for hit in found}
        return [by_number[number] for number in numbers if number in by_number]

    def _hits(self, plan: ServerPlan, hits: Sequence[Body], folded: Folded) -> list[Hit]:
        dates = self._dates.read([hit["_source"]["id"] for hit in hits])
        hidden = plan.links.query.hidden
        return [
            to_hit(
                hit,
                dates,
                hidden,
                folded.versions.get(hit["fields"][plan.fold][0], 1),
                plan.highlighter,
            )
            for hit in hits
        ]

    def totals(self, questions: Sequence[Question]) -> list[int]:
        """Return the number of documents each question finds, as in `Engine.totals`."""
        queries = [self._linked(one).query for one in questions]
        with query_errors():
            found = several_totals(self._server, self._documents, self._join, queries)
        return [
            self.search(counting(question)).total.value if total is None else total
            for question, total in zip(questions, found, strict=True)
        ]

    def trends(self, questions: Sequence[Question], period: Period) -> list[list[TrendPoint]]:
        """Return counts of documents and captures by period, as in `Engine.trends`."""
        with query_errors():
            return self._trends.trends([self._linked(one).query for one in questions], period)

    def scroll(self, question: Question) -> Iterator[Hit]:
        """Stream every hit, as in `Engine.scroll`."""
        with query_errors():
            yield from self._scroll(question)

    def _scroll(self, question: Question) -> Iterator[Hit]:
        query = self._linked(question).query
        resolved = self._join.resolve(query, _BY_ID, 0)
        if not resolved.whole:
            for numbers in self._join.walk(query, _BY_ID):
                yield from self._stream(within(EVERYTHING, numbers), query.hidden)
        else:
            yield from self._stream(resolved.query, query.hidden)

    def _stream(self, query: Query, hidden: HiddenParts) -> Iterator[Hit]:
        body = {"query": query, "_source": SOURCE, "track_scores": True}
        for page in pages(self._server, self._documents, body, _BY_ID):
            dates = self._dates.read([hit["_source"]["id"] for hit in page])
            for hit in page:
                yield to_hit(hit, dates, hidden)


def page_body(question: Question) -> Body:
    """Return the part of a search body with the fields that a page of documents needs."""
    source = [*SOURCE, *SNIPPET_SOURCE] if question.snippets else SOURCE
    return {"_source": source, "docvalue_fields": list({NUMBER, FOLDS[question.collapse]})}


def _with_link_parts(
    found: Sequence[Hit],
    hits: Sequence[Body],
    parts: Mapping[int, RankedHit | None],
    links: LinkedSearch,
) -> tuple[Hit, ...]:
    """Return hits with their scores by links and anchor texts; `hits` are scored by own words."""
    if not links.ranks:
        return tuple(found)
    targets = links.targets([hit["_source"].get("urlkey", "") for hit in hits])
    given = []
    for one, hit, target in zip(found, hits, targets, strict=True):
        text = float(hit["_score"] or 0.0)
        ranked = parts.get(hit["fields"][NUMBER][0])
        by_links = links.found_by(target) if not text or not links.query.scored else None
        if ranked is not None:
            own = text if links.query.scored else 0.0
            problems = hit["_source"].get("problems", ())
            below = is_below_pages(one.content_type_norm, one.status_code, problems)
            made_of = links.score_parts(target, own, ranked.factor, is_below=below)
            one = replace(one, score=ranked.score, score_parts=made_of)
        given.append(replace(one, found_by_links=by_links))
    return tuple(given)


def _at_least(total: Total) -> Total:
    return Total(total.value, "gte")

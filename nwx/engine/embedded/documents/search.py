"""Questions and their answers."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from tantivy import Occur, Query

from nwx.bulk.progress import batches
from nwx.data_classes import dataclass
from nwx.engine.document_index import check_window, current_work
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import Bools, DocumentColumns
from nwx.engine.embedded.documents.compile import Known, all_of, compile_node, values_query
from nwx.engine.embedded.documents.counts import (
    NarrowedNumbers,
    narrow_facets,
    read_facets,
)
from nwx.engine.embedded.documents.groups import Folds
from nwx.engine.embedded.documents.hits import hit_of, read_hits
from nwx.engine.embedded.documents.order import (
    OrderedHits,
    Step,
    by_date,
    by_score,
    firsts,
    steps,
)
from nwx.engine.embedded.documents.plan import SearchPlan, plan_search, without_joined
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView, ArchiveViews
from nwx.engine.embedded.documents.word_sets import Terms, are_near, near_candidates, similar_words
from nwx.engine.embedded.linked_search import (
    DocumentJoin,
    LinkedSearch,
    joined,
    own_scores,
    query_among,
    rank_weights,
    scored_among,
)
from nwx.engine.inlinks.anchor_scores import FACTOR_WINDOW, FoundTargets
from nwx.engine.inlinks.anchor_table import AnchorBlobs
from nwx.engine.near_search import NearPassages
from nwx.model import Hit, SearchResult, Sort, Total
from nwx.query.question import BY_SCORE, DateCondition, Question, loosened, range_condition
from nwx.query.tree import BELOW_PAGES, All, Bool, DateRange, Leaf
from nwx.settings import RankingSettings
from nwx.values.timestamps import Period, TrendPoint

_SCROLL_CHUNK = 20_000
_FEW = 128
"""So many documents are all scored in one search, and then weighted."""

_FAR_BELOW = 0.05
"""A weight up to which what is no page is not looked for where there are enough pages."""


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """Documents that a plan finds: a query that covers them, and their numbers.

    `bonus` finds those of a higher score. `allowed` restricts the query if it finds more; it
    includes `filters`. `anchors` found some of the documents, whatever their words; `by_words`
    contains the others and more.
    """

    known: Known
    query: Query
    bonus: Query | None
    filters: Sequence[Query]
    numbers: NarrowedNumbers
    allowed: Bools | None
    anchors: FoundTargets | None
    by_words: Ints

    @property
    def nums(self) -> Ints:
        """The numbers of the documents that are found."""
        return self.numbers.nums


class DocumentSearches:
    """What answers questions to an archive as it is now; shared by threads."""

    def __init__(self, views: ArchiveViews, anchors: AnchorBlobs, ranking: RankingSettings) -> None:
        self._views = views
        self._join = DocumentJoin(anchors)
        self._ranking = ranking

    def search(self, question: Question) -> SearchResult:
        """Answer a question, as `Engine.search` does."""
        return search_documents(*self._searched(self._views.view(), question), question)

    def search_near(self, question: Question, near: NearPassages) -> SearchResult:
        """Answer a question by meaning, as `Engine.search_near` does."""
        from nwx.engine.embedded.documents.near import near_documents

        return near_documents(*self._searched(self._views.view(), question), question, near)

    def search_state(self) -> str:
        """Return a text that stays the same as long as each question finds the same."""
        return self._searched(self._views.view(), Question())[1].state

    def scroll(self, question: Question) -> Iterator[Hit]:
        """Stream every hit, as `Engine.scroll` does."""
        return scroll_documents(*self._searched(self._views.view(), question), question)

    def trends(self, questions: Sequence[Question], period: Period) -> list[list[TrendPoint]]:
        """Return when documents were captured, as `Engine.trends` does."""
        view = self._views.view()
        return [trend_of_documents(*self._searched(view, one), one, period) for one in questions]

    def similar_words(self, word: str, most: int) -> list[str]:
        """Return words like another, as `Engine.similar_words` does."""
        return similar_words(self._views.view().searcher, word, most)

    def _searched(self, view: ArchiveView, question: Question) -> tuple[ArchiveView, LinkedSearch]:
        """Return what of a view a question may see, and the links to it."""
        documents = self._join.documents(view, question.hidden)
        view = view.without(question.hidden)
        weights = None
        if question.sort is Sort.RELEVANCE:
            weights = partial(rank_weights, view, question)
        return view, LinkedSearch(documents, question.ranking.links(self._ranking), weights)


def search_documents(view: ArchiveView, links: LinkedSearch, question: Question) -> SearchResult:
    """Answer a question, as `Engine.search` does."""
    started = time.perf_counter()
    check_window(question)
    plan = plan_search(question)
    scores = question.sort in BY_SCORE and question.limit > 0
    found = documents_found(view, plan, links, scores=scores)
    looser = None if len(found.nums) else loosened(question, plan.tree)
    if looser is not None:
        plan = plan_search(looser)
        found = documents_found(view, plan, links, scores=scores)
    folds = view.columns.folds(question.collapse)
    total = len(found.nums) if folds is None else folds.count(found.nums)
    page: Sequence[OrderedHits] = ()
    if question.offset < total and question.limit:
        page = first_hits(view, plan, found, links, folds)[question.offset : plan.wanted]
    hits = read_hits(view, plan, page, found.nums, folds)
    return SearchResult(
        total=Total(total),
        documents=Total(len(found.nums)),
        hits=_with_link_parts(view, plan, found, links, page, hits),
        facets=read_facets(view.columns, found.numbers, plan.facets, question.facet_size),
        took_ms=(time.perf_counter() - started) * 1000,
        most_words=looser is not None and total > 0,
    )


def scroll_documents(view: ArchiveView, links: LinkedSearch, question: Question) -> Iterator[Hit]:
    """Stream every hit, as `Engine.scroll` does."""
    plan = plan_search(question)
    found = documents_found(view, plan, links)
    for chunk in batches(found.nums.tolist(), _SCROLL_CHUNK):
        current_work().check()
        query = scored_among(found.query, chunk)
        hits = view.searcher.search(query, len(chunk), count=False).hits
        hits.sort(key=lambda hit: (hit[1].segment_ord, hit[1].doc))
        addresses = [address for _, address in hits]
        numbers = tantivy_index.nums_of(view.searcher, addresses)
        weights = np.ones(len(numbers))
        if plan.pages_first:
            weights = rank_weights(view, question, numbers)
        for num, weight, (score, address) in zip(numbers, weights.tolist(), hits, strict=True):
            score *= weight
            yield hit_of(
                view.columns,
                OrderedHits(num, score),
                tantivy_index.head_of(view.searcher.doc(address)),
            )


def trend_of_documents(
    view: ArchiveView, links: LinkedSearch, question: Question, period: Period
) -> list[TrendPoint]:
    """Return when documents were captured, as `Engine.trends` does."""
    plan = plan_search(question)
    found = documents_found(view, plan, links, scores=False)
    return view.columns.trend(found.nums, period, plan.dates or DateCondition())


def documents_found(
    view: ArchiveView,
    plan: SearchPlan,
    links: LinkedSearch,
    *,
    scores: bool = True,
    within: Ints | None = None,
) -> FoundDocuments:
    """Return the documents of a plan, or those among some, from tantivy and the columns."""
    known = replace(_known(view, links), weights=plan.question.ranking.fields)
    exact = compile_node(plan.text, replace(known, scored=False))
    filters = [values_query(name, values) for name, values in plan.filters.items()]
    matching = view.matching(plan.text, exact) if within is None else within
    by_words = _filtered(view.columns, matching, plan)
    anchors = links.found(plan.tree)
    nums = by_words
    if anchors is not None:
        nums = joined(nums, _linked_nums(view, plan, links, anchors))
    dated = None if plan.dates is None else view.columns.seen_in(plan.dates)
    allowed = None
    for one in plan.joined:
        meet = _meet(view, links, one.leaf)
        allowed = _both(allowed, meet if one.wanted else ~meet)
    if allowed is not None:
        nums = nums[allowed[nums]]
    numbers = narrow_facets(view.columns, nums, plan, dated)
    there = None
    if view.searcher.num_docs != view.columns.entries:
        there = view.columns.is_document
    allowed = _both(_both(allowed, dated), there)
    ranked, bonus = exact, None
    if plan.is_scored and scores and len(nums):
        ranked = compile_node(plan.text, known)
        bonus = compile_node(Bool(should=plan.bonus), known) if plan.bonus else None
    query = all_of([ranked, *filters])
    if bonus is not None:
        query = Query.boolean_query([(Occur.Must, query), (Occur.Should, bonus)])
    return FoundDocuments(known, query, bonus, filters, numbers, allowed, anchors, by_words)


def _both(one: Bools | None, other: Bools | None) -> Bools | None:
    """Return what two conditions allow; None allows everything."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _filtered(columns: DocumentColumns, nums: Ints, plan: SearchPlan) -> Ints:
    """Return the documents that meet the filters, except filters that facets leave out."""
    for name, values in plan.filters.items():
        if name not in plan.apart:
            nums = nums[columns.has_value(name, values, nums)]
    return nums


def _linked_nums(
    view: ArchiveView, plan: SearchPlan, links: LinkedSearch, anchors: FoundTargets
) -> Ints:
    """Return the documents found by anchors that meet the rest of a query.

    Conditions on dates and links of the whole query are checked later.
    """
    nums = links.nums(anchors)
    nums = _filtered(view.columns, nums[view.columns.is_document[nums]], plan)
    rest, _ = without_joined(anchors.rest)
    if isinstance(rest, All) or not len(nums):
        return nums
    query = compile_node(rest, replace(_known(view, links), scored=False))
    return view.nums(query_among(query, nums.tolist()))


def _known(view: ArchiveView, links: LinkedSearch) -> Known:
    return Known(
        joined=lambda leaf: _fitting(_meet(view, links, leaf) & view.columns.is_document),
        near=partial(_near, view),
        own_shown=partial(_own_shown, view),
        terms=Terms(view.searcher),
    )


def _meet(view: ArchiveView, links: LinkedSearch, leaf: DateRange | Leaf) -> Bools:
    """Return for each number whether its document meets a leaf on dates or links."""
    current_work().check()
    if isinstance(leaf, DateRange):
        return view.columns.seen_in(range_condition(leaf))
    return links.meet(leaf)


def _fitting(fits: Bools) -> Query:
    """Return the query of the documents that fit, built from the smaller side."""
    nums = np.flatnonzero(fits)
    if 2 * len(nums) <= len(fits):
        found = tantivy_index.nums_query(nums.tolist())
    else:
        others = tantivy_index.nums_query(np.flatnonzero(~fits).tolist())
        found = Query.all_query().and_must_not_match(others)
    return Query.const_score_query(found, 1.0)


def _near(view: ArchiveView, field: str, words: Sequence[str], slop: int) -> Query:
    """Return the query of documents with words near each other, which are looked at one by one."""
    query = near_candidates(field, words, slop)
    work = current_work()
    found: list[int] = []
    for num, document in tantivy_index.documents_by_num(view.searcher, view.nums(query).tolist()):
        work.read_text()
        if are_near(words, tantivy_index.texts_of(document, field), slop):
            found.append(num)
    return query_among(query, found)


def _own_shown(view: ArchiveView, query: Query) -> Query:
    """Return the query of those documents of a query whose own capture is not hidden."""
    if not len(view.own_hidden):
        return query
    return query.and_must_not_match(tantivy_index.nums_query(view.own_hidden.tolist()))


def first_hits(
    view: ArchiveView,
    plan: SearchPlan,
    found: FoundDocuments,
    links: LinkedSearch,
    folds: Folds | None,
) -> list[OrderedHits]:
    """Return the first documents of a plan in its order, one of each fold."""
    groups, wanted = None if folds is None else folds.groups, plan.wanted
    sort = plan.question.sort
    if sort is Sort.INLINKS:
        return links.by_inlinks(view.columns, found.nums, groups, wanted)
    if not _is_ranked(plan, found):
        sort = Sort.NEWEST if sort in BY_SCORE else sort
        return by_date(view.columns, found.nums, groups, wanted, sort)
    most = max(wanted, FACTOR_WINDOW) if links.ranks else wanted
    if plan.is_scored:
        listed = _by_score(view, plan, found, groups, most)
    else:
        listed = by_date(view.columns, found.nums, groups, most, Sort.NEWEST)
        listed = [replace(one, score=0.0) for one in listed]
    if not links.ranks:
        return listed
    texts_of = partial(own_scores, view, found.query if plan.is_scored else None, found.by_words)
    return links.ranked(view.columns, listed, found.anchors, found.nums, groups, wanted, texts_of)


def _by_score(
    view: ArchiveView, plan: SearchPlan, found: FoundDocuments, groups: Ints | None, most: int
) -> list[OrderedHits]:
    """Return the first hits by score; what ranks below many pages is looked for apart."""
    if not plan.pages_first:
        best = _steps(view, plan, found)
        return by_score(view, found.query, best, found.allowed, groups, most)
    if len(found.nums) <= _FEW:
        query = found.query
        if found.allowed is not None:  # it finds more, of which few may be allowed
            query = query_among(query, found.nums.tolist())
        every = by_score(view, query, (), found.allowed, None, len(found.nums))
        weights = rank_weights(view, plan.question, [one.num for one in every])
        pairs = zip(every, weights.tolist(), strict=True)
        listed = [one if w == 1 else replace(one, score=one.score * w) for one, w in pairs]
        return firsts(sorted(listed, key=lambda one: -one.score), groups, most)
    below = Query.const_score_query(compile_node(BELOW_PAGES, found.known), 0.0)
    pages = Query.const_score_query(Query.all_query().and_must_not_match(below), 0.0)
    best = _steps(view, plan, found, pages)
    listed = by_score(view, all_of([found.query, pages]), best, found.allowed, groups, most)
    weight = plan.question.ranking.below_pages
    if len(listed) == most and weight <= _FAR_BELOW:
        return listed
    further = by_score(view, all_of([found.query, below]), (), found.allowed, groups, most)
    listed += [replace(one, score=one.score * weight) for one in further]
    return firsts(sorted(listed, key=lambda one: -one.score), groups, most)


def _steps(
    view: ArchiveView, plan: SearchPlan, found: FoundDocuments, *further: Query
) -> list[Step]:
    first = None
    if found.bonus is not None:
        first = all_of([found.query, Query.const_score_query(found.bonus, 0.0), *further])
    weights, filters = plan.question.ranking.fields, [*found.filters, *further]
    return list(steps(plan.text, filters, view.searcher, len(found.nums), weights, first))


def _is_ranked(plan: SearchPlan, found: FoundDocuments) -> bool:
    is_scored = plan.is_scored or found.anchors is not None
    return plan.question.sort in BY_SCORE and is_scored


def _with_link_parts(
    view: ArchiveView,
    plan: SearchPlan,
    found: FoundDocuments,
    links: LinkedSearch,
    page: Sequence[OrderedHits],
    hits: Iterator[tuple[int, Hit]],
) -> tuple[Hit, ...]:
    """Return hits with what links have to do with them."""
    is_ranked = _is_ranked(plan, found)
    if not links.ranks or not (found.anchors or is_ranked):
        return tuple(hit for _, hit in hits)
    query = found.query if plan.is_scored else None
    parts = links.score_parts(view, query, found.anchors, [one.num for one in page], found.by_words)
    return tuple(
        replace(
            hit,
            score_parts=parts[num].score_parts if is_ranked else None,
            found_by_links=parts[num].found_by,
        )
        for num, hit in hits
    )

"""Answers to questions: search by words and by meaning, scroll, trends."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import numpy as np
from tantivy import Query

from nwx.bulk.progress import batches
from nwx.engine.document_index import check_window, current_work
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.compile import all_of, compile_node
from nwx.engine.embedded.documents.found import (
    FoundDocuments,
    SearchPlan,
    documents_found,
    own_scores,
    plan_search,
)
from nwx.engine.embedded.documents.linked_search import (
    DocumentJoin,
    HitLinks,
    LinkedSearch,
    rank_weights,
)
from nwx.engine.embedded.documents.order import (
    OrderedHits,
    Step,
    are_among,
    best_chosen,
    by_date,
    by_score,
    firsts,
    scored_among,
    steps,
)
from nwx.engine.embedded.documents.results import hit_of, read_facets, read_hits
from nwx.engine.embedded.documents.stored_columns import Folds, Ints
from nwx.engine.embedded.documents.view import ArchiveView, ArchiveViews
from nwx.engine.embedded.documents.word_sets import similar_words
from nwx.engine.indices import vector_index
from nwx.engine.indices.vector_index import FoundPassage, NearPassages
from nwx.engine.inlinks.anchor_scores import FACTOR_WINDOW
from nwx.engine.inlinks.anchor_table import AnchorBlobs
from nwx.model import Hit, SearchResult, Sort, Total
from nwx.query.question import BY_SCORE, DateCondition, Question, loosened
from nwx.query.rankings import SearchBy
from nwx.query.tree import BELOW_PAGES, All
from nwx.settings import RankingSettings
from nwx.values.timestamps import Period, TrendPoint

if TYPE_CHECKING:
    from nwx.engine.embedded.entries.vector_index import FoundPassages

_SCROLL_CHUNK = 20_000
_FAR_BELOW = 0.05
"""The weight up to which only pages are searched, if there are enough."""


class DocumentSearches:
    """Answers questions on the current state of an archive; thread-safe."""

    def __init__(self, views: ArchiveViews, anchors: AnchorBlobs, ranking: RankingSettings) -> None:
        self._views = views
        self._join = DocumentJoin(anchors)
        self._ranking = ranking

    def search(self, question: Question) -> SearchResult:
        """Answer a question, as `Engine.search` does."""
        return search_documents(*self._searched(self._views.view(), question), question)

    def search_near(self, question: Question, near: NearPassages) -> SearchResult:
        """Answer a question by meaning, as `Engine.search_near` does."""
        return near_documents(*self._searched(self._views.view(), question), question, near)

    def search_state(self) -> str:
        """Return a text that stays the same as long as every question has the same result."""
        return self._searched(self._views.view(), Question())[1].state

    def scroll(self, question: Question) -> Iterator[Hit]:
        """Yield every hit, as `Engine.scroll` does."""
        return scroll_documents(*self._searched(self._views.view(), question), question)

    def trends(self, questions: Sequence[Question], period: Period) -> list[list[TrendPoint]]:
        """Return capture counts by period, as `Engine.trends` does."""
        view = self._views.view()
        return [trend_of_documents(*self._searched(view, one), one, period) for one in questions]

    def similar_words(self, word: str, most: int) -> list[str]:
        """Return similar words, as `Engine.similar_words` does."""
        return similar_words(self._views.view().searcher, word, most)

    def _searched(self, view: ArchiveView, question: Question) -> tuple[ArchiveView, LinkedSearch]:
        """Return a view without the documents hidden from a question, and the join to its links."""
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
    parts = _hit_links(view, plan, found, links, page)
    return SearchResult(
        total=Total(total),
        documents=Total(len(found.nums)),
        hits=read_hits(view, plan, page, found.nums, folds, parts=parts),
        facets=read_facets(view.columns, found.numbers, plan.facets, question.facet_size),
        took_ms=(time.perf_counter() - started) * 1000,
        most_words=looser is not None and total > 0,
    )


def scroll_documents(view: ArchiveView, links: LinkedSearch, question: Question) -> Iterator[Hit]:
    """Yield every hit, as `Engine.scroll` does."""
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
    """Return capture counts by period, as `Engine.trends` does."""
    plan = plan_search(question)
    found = documents_found(view, plan, links, scores=False)
    return view.columns.trend(found.nums, period, plan.dates or DateCondition())


def first_hits(
    view: ArchiveView,
    plan: SearchPlan,
    found: FoundDocuments,
    links: LinkedSearch,
    folds: Folds | None,
) -> list[OrderedHits]:
    """Return the first documents of a plan in its order, one per fold."""
    groups, wanted = None if folds is None else folds.groups, plan.wanted
    sort = plan.question.sort
    if sort is Sort.INLINKS:
        return links.by_inlinks(view.columns, found.nums, groups, wanted)
    if sort not in BY_SCORE:
        return by_date(view.columns, found.nums, groups, wanted, sort)
    if not _is_ranked(plan, found):
        return _newest(view, plan, found.nums, groups, wanted)
    most = max(wanted, FACTOR_WINDOW) if links.ranks else wanted
    if plan.is_scored:
        listed = _by_score(view, plan, found, groups, most)
    else:
        listed = by_date(view.columns, found.nums, groups, most, Sort.NEWEST)
        listed = [replace(one, score=0.0) for one in listed]
    if not links.ranks:
        return listed
    texts_of = partial(own_scores, view, plan, found)
    return links.ranked(view.columns, listed, found.anchors, found.nums, groups, wanted, texts_of)


def _newest(
    view: ArchiveView, plan: SearchPlan, nums: Ints, groups: Ints | None, wanted: int
) -> list[OrderedHits]:
    """Return the first hits if words give no score: pages before others, then by date."""
    weights = rank_weights(view, plan.question, nums) if plan.pages_first else np.ones(len(nums))
    listed: list[OrderedHits] = []
    for weight in sorted({1.0, plan.question.ranking.below_pages}, reverse=True):
        if len(listed) < wanted:
            some = nums[weights == weight]
            part = by_date(view.columns, some, groups, wanted, Sort.NEWEST)
            listed += [replace(one, score=weight) for one in part]
    return firsts(listed, groups, wanted)


def _by_score(
    view: ArchiveView, plan: SearchPlan, found: FoundDocuments, groups: Ints | None, most: int
) -> list[OrderedHits]:
    """Return the first hits by score; documents that rank below pages are searched separately."""
    if found.scored is not None:
        nums, scores = found.scored.nums, found.scored.scores.copy()
        chosen = np.flatnonzero(are_among(nums, found.nums))
        if plan.pages_first:
            scores[chosen] *= rank_weights(view, plan.question, nums[chosen])
        hits = scores, nums, found.scored.addresses
        return best_chosen(view.columns, hits, chosen, groups, most)
    if not plan.pages_first:
        best = _steps(view, plan, found)
        return by_score(view, found.query, best, found.allowed, groups, most)
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


def _hit_links(
    view: ArchiveView,
    plan: SearchPlan,
    found: FoundDocuments,
    links: LinkedSearch,
    page: Sequence[OrderedHits],
) -> Mapping[int, HitLinks]:
    """Return the score components of hits, and the anchor texts that found them, by number."""
    is_ranked = _is_ranked(plan, found)
    if not links.ranks or not (found.anchors or is_ranked):
        return {}
    texts_of = partial(own_scores, view, plan, found)
    parts = links.score_parts(found.anchors, [one.num for one in page], texts_of)
    if is_ranked:
        return parts
    return {num: replace(one, score_parts=None) for num, one in parts.items()}


def near_documents(
    view: ArchiveView,
    links: LinkedSearch,
    question: Question,
    near: NearPassages,
) -> SearchResult:
    """Answer a question as `DocumentIndex.search_near` does, working on document numbers.

    Only the documents of the shown page are read.
    """
    found = _NearSearch(view, links, question, cast("FoundPassages", near.first()))
    while len(found.nums) < vector_index.NEAREST:
        further = near.further()
        if further is None:
            break
        found = _NearSearch(view, links, question, cast("FoundPassages", further))
    return found.fused() if question.by is SearchBy.BOTH else found.answer()


class _NearSearch:
    def __init__(
        self,
        view: ArchiveView,
        links: LinkedSearch,
        question: Question,
        near: "FoundPassages",
    ) -> None:
        self._view, self._links, self._question = view, links, question
        self._near = near
        columns = view.columns
        nums = columns.nums_of_starts(near.id_starts)
        self._folds = columns.folds(question.collapse)
        self._groups = None if self._folds is None else self._folds.groups
        has_words = question.by is SearchBy.BOTH
        self._plan = plan_search(question if has_words else replace(question, query=All()))
        every = replace(self._plan, tree=All(), text=All(), joined=(), bonus=())
        there = np.flatnonzero(nums >= 0)
        self._places = np.full(columns.size, -1, dtype=np.int64)
        self._places[nums[there]] = there
        within = np.sort(nums[there])
        self._found = documents_found(view, every, links, scores=False, within=within)

    @cached_property
    def nums(self) -> list[int]:
        """The numbers of the nearest hits in order, one per group."""
        columns, nums = self._view.columns, self._found.nums
        scores = self._near.scores[self._places[nums]]
        order = np.lexsort((columns.id_start[nums], -columns.newest[nums], -scores))
        keys = self._keys(nums[order].tolist())
        first = dict(zip(reversed(keys), reversed(nums[order].tolist()), strict=True))
        return [first[key] for key in dict.fromkeys(keys)][: vector_index.NEAREST]

    def _passages(self, nums: Iterable[int]) -> dict[int, FoundPassage]:
        """Return the passages of hits, by number."""
        return {num: self._near[int(self._places[num])] for num in nums}

    def answer(self) -> SearchResult:
        """Return a page of the nearest hits."""
        shown = self._passages(self.nums[self._question.offset : self._plan.wanted])
        page = [OrderedHits(num, one.score) for num, one in shown.items()]
        return self._result(self._plan, self._found, page, shown, self._found.nums, len(self.nums))

    def fused(self) -> SearchResult:
        """Return a page of the nearest hits fused with the first by words, then others by words."""
        asked, columns = self._question, self._view.columns
        plan = self._plan
        found = documents_found(self._view, plan, self._links)
        most = max(vector_index.NEAREST, plan.wanted)
        first = replace(plan, question=replace(asked, offset=0, limit=most))
        by_words = first_hits(self._view, first, found, self._links, self._folds)
        near = dict(zip(self._keys(self.nums), self.nums, strict=True))
        words = dict(zip(self._keys([one.num for one in by_words]), by_words, strict=True))
        nums = near | {key: one.num for key, one in words.items()}
        order = dict(zip(nums, columns.id_start[list(nums.values())].tolist(), strict=True))
        ranked, scores = vector_index.fused(list(words), list(near), order.__getitem__)
        page = []
        for key in ranked[asked.offset : plan.wanted]:
            one = words.get(key) or OrderedHits(near[key], 0.0)
            page.append(OrderedHits(one.num, scores.get(key, one.score), one.address))
        has_words = np.zeros(columns.size, dtype=bool)
        has_words[found.nums if self._groups is None else self._groups[found.nums]] = True
        others = [num for key, num in near.items() if not has_words[key]]
        every = np.union1d(found.nums, np.array(others, dtype=np.int64))
        passages = self._passages({one.num for one in page}.intersection(others))
        total = len(found.nums) if self._folds is None else self._folds.count(found.nums)
        return self._result(plan, found, page, passages, every, total + len(others))

    def _keys(self, nums: list[int]) -> list[int]:
        """Return the numbers of documents, or of their groups if folded."""
        if self._groups is None:
            return nums
        keys: list[int] = self._groups[nums].tolist()
        return keys

    def _result(
        self,
        plan: SearchPlan,
        found: FoundDocuments,
        page: Sequence[OrderedHits],
        passages: Mapping[int, FoundPassage],
        nums: Ints,
        total: int,
    ) -> SearchResult:
        columns, asked = self._view.columns, self._question
        return SearchResult(
            total=Total(total),
            documents=Total(len(nums)),
            hits=read_hits(self._view, plan, page, nums, self._folds, passages),
            facets=read_facets(columns, found.numbers, plan.facets, asked.facet_size),
            took_ms=0.0,
        )

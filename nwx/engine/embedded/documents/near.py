"""Answers by documents near to a question, alone or fused with those that its words find."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from nwx.engine import near_search
from nwx.engine.embedded.documents import search
from nwx.engine.embedded.documents.counts import read_facets
from nwx.engine.embedded.documents.hits import read_hits
from nwx.engine.embedded.documents.order import OrderedHits
from nwx.engine.embedded.documents.plan import SearchPlan, plan_search
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.embedded.linked_search import LinkedSearch
from nwx.engine.indices.vector_index import FoundPassage
from nwx.engine.near_search import NearPassages, fused_scores
from nwx.model import SearchResult, Total
from nwx.query.question import Question
from nwx.query.rankings import SearchBy
from nwx.query.tree import All


def near_documents(
    view: ArchiveView,
    links: LinkedSearch,
    question: Question,
    near: NearPassages,
) -> SearchResult:
    """Answer a question as `DocumentIndex.search_near` does, by numbers of documents alone.

    Only the documents of the page that is shown are read.
    """
    started = time.perf_counter()
    found = _NearSearch(view, links, question, near.first)
    if near.further is not None and len(found.listed) < near_search.NEAREST:
        found = _NearSearch(view, links, question, near.further())
    result = found.fused() if question.by is SearchBy.BOTH else found.answer()
    return replace(result, took_ms=(time.perf_counter() - started) * 1000)


class _NearSearch:
    def __init__(
        self,
        view: ArchiveView,
        links: LinkedSearch,
        question: Question,
        near: Sequence[FoundPassage],
    ) -> None:
        self._view, self._links, self._question = view, links, question
        nums = view.columns.nums_of([one.document for one in near])
        pairs = zip(nums.tolist(), near, strict=True)
        self._passages = {num: one for num, one in pairs if num >= 0}
        self._folds = view.columns.folds(question.collapse)
        self._groups = None if self._folds is None else self._folds.groups
        self._plan = plan_search(replace(question, query=All(), by=SearchBy.WORDS))
        within = np.unique(nums[nums >= 0])
        self._found = search.documents_found(view, self._plan, links, scores=False, within=within)

    @cached_property
    def listed(self) -> list[OrderedHits]:
        """The nearest hits in order."""
        columns, nums = self._view.columns, self._found.nums
        order = columns.id_start[nums]
        if self._groups is not None:  # the newest stands for its group
            newest = np.lexsort((order, -columns.newest[nums]))
            nums = nums[newest[np.unique(self._groups[nums[newest]], return_index=True)[1]]]
            order = columns.id_start[nums]
        scores = np.array([self._passages[num].score for num in nums.tolist()])
        first = np.lexsort((order, -scores))[: near_search.NEAREST]
        pairs = zip(nums[first].tolist(), scores[first].tolist(), strict=True)
        return [OrderedHits(num, score) for num, score in pairs]

    def answer(self) -> SearchResult:
        """Return a page of the nearest hits."""
        asked = self._question
        page = self.listed[asked.offset : self._plan.wanted]
        return self._result(self._plan, self._found, page, self._passages, len(self.listed))

    def fused(self) -> SearchResult:
        """Return a page of the nearest hits and the first by words, then of the others by words."""
        asked = self._question
        plan = plan_search(replace(asked, by=SearchBy.WORDS))
        found = search.documents_found(self._view, plan, self._links)
        most = max(near_search.NEAREST, plan.wanted)
        first = replace(plan, question=replace(asked, offset=0, limit=most))
        by_words = search.first_hits(self._view, first, found, self._links, self._folds)
        known = {self._key(one): one for one in (*self.listed, *by_words)}
        lists = (by_words[: near_search.NEAREST], self.listed)
        scores = fused_scores(*([self._key(one) for one in some] for some in lists))
        order = self._view.columns.id_start
        ranked = sorted(scores, key=lambda key: (-scores[key], order[known[key].num]))
        ranked += [key for one in by_words if (key := self._key(one)) not in scores]
        shown = ranked[asked.offset : plan.wanted]
        page = [replace(known[key], score=scores.get(key, known[key].score)) for key in shown]
        others = self._without_words(found.nums)
        passages = {num: self._passages[num] for num in others}
        total = len(found.nums) if self._folds is None else self._folds.count(found.nums)
        return self._result(plan, found, page, passages, total + len(others))

    def _key(self, one: OrderedHits) -> int:
        return one.num if self._groups is None else int(self._groups[one.num])

    def _without_words(self, nums: Ints) -> list[int]:
        """Return the nearest hits that have not the words, nor are folded with what has them."""
        near = np.array([one.num for one in self.listed], dtype=np.int64)
        groups = np.arange(self._view.columns.size) if self._groups is None else self._groups
        others: list[int] = near[~np.isin(groups[near], groups[nums])].tolist()
        return others

    def _result(
        self,
        plan: SearchPlan,
        found: search.FoundDocuments,
        page: Sequence[OrderedHits],
        passages: Mapping[int, FoundPassage],
        total: int,
    ) -> SearchResult:
        columns, asked = self._view.columns, self._question
        nums = np.union1d(found.nums, np.array(list(passages), dtype=np.int64))
        hits = read_hits(self._view, plan, page, nums, self._folds, passages)
        return SearchResult(
            total=Total(total),
            documents=Total(len(nums)),
            hits=tuple(hit for _, hit in hits),
            facets=read_facets(columns, found.numbers, plan.facets, asked.facet_size),
            took_ms=0.0,
        )

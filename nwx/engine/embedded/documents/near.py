"""Answers by documents near to a question, alone or fused with those that its words find."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import starmap

import numpy as np

from nwx.engine import near_search
from nwx.engine.embedded.documents.counts import read_facets
from nwx.engine.embedded.documents.found import FoundDocuments, documents_found
from nwx.engine.embedded.documents.hits import read_hits
from nwx.engine.embedded.documents.order import OrderedHits, firsts
from nwx.engine.embedded.documents.plan import SearchPlan, plan_search
from nwx.engine.embedded.documents.search import first_hits
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.embedded.linked_search import LinkedSearch
from nwx.engine.indices.vector_index import FoundPassage
from nwx.engine.near_search import NearPassages
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
    found = _NearSearch(view, links, question, near.first())
    while len(found.listed) < near_search.NEAREST:
        further = near.further()
        if further is None:
            break
        found = _NearSearch(view, links, question, further)
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
        self._passages = dict(zip(nums.tolist(), near, strict=True))
        self._folds = view.columns.folds(question.collapse)
        self._groups = None if self._folds is None else self._folds.groups
        self._plan = plan_search(replace(question, query=All(), by=SearchBy.WORDS))
        within = np.unique(nums[nums >= 0])
        self._found = documents_found(view, self._plan, links, scores=False, within=within)

    @cached_property
    def listed(self) -> list[OrderedHits]:
        """The nearest hits in order."""
        columns, nums = self._view.columns, self._found.nums
        scores = np.array([self._passages[num].score for num in nums.tolist()])
        order = np.lexsort((columns.id_start[nums], -columns.newest[nums], -scores))
        pairs = zip(nums[order].tolist(), scores[order].tolist(), strict=True)
        return firsts(starmap(OrderedHits, pairs), self._groups, near_search.NEAREST)

    def answer(self) -> SearchResult:
        """Return a page of the nearest hits."""
        page = self.listed[self._question.offset : self._plan.wanted]
        passages = {one.num: self._passages[one.num] for one in page}
        return self._result(
            self._plan, self._found, page, passages, self._found.nums, len(self.listed)
        )

    def fused(self) -> SearchResult:
        """Return a page of the nearest hits and the first by words, then of the others by words."""
        asked, columns = self._question, self._view.columns
        plan = plan_search(replace(asked, by=SearchBy.WORDS))
        found = documents_found(self._view, plan, self._links)
        most = max(near_search.NEAREST, plan.wanted)
        first = replace(plan, question=replace(asked, offset=0, limit=most))
        by_words = first_hits(self._view, first, found, self._links, self._folds)
        near, words = self._keyed(self.listed), self._keyed(by_words)
        known = near | words
        order = columns.id_start
        ranked, scores = near_search.fused(
            list(words), list(near), lambda key: order[known[key].num]
        )
        shown = ranked[asked.offset : plan.wanted]
        page = [replace(known[key], score=scores.get(key, known[key].score)) for key in shown]
        has_words = np.zeros(columns.size, dtype=bool)
        has_words[found.nums if self._groups is None else self._groups[found.nums]] = True
        others = [one for key, one in near.items() if not has_words[key]]
        nums = np.union1d(found.nums, np.array([one.num for one in others], dtype=np.int64))
        passages = {one.num: self._passages[one.num] for one in others}
        total = len(found.nums) if self._folds is None else self._folds.count(found.nums)
        return self._result(plan, found, page, passages, nums, total + len(others))

    def _keyed(self, listed: Sequence[OrderedHits]) -> dict[int, OrderedHits]:
        """Return hits by their number, or by that of the group that they stand for."""
        nums = [one.num for one in listed]
        keys = nums if self._groups is None else self._groups[nums].tolist()
        return dict(zip(keys, listed, strict=True))

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

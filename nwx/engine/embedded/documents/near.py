"""Search by meaning: documents near to a question, alone or fused with word matches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np

from nwx.engine.embedded.documents.counts import read_facets
from nwx.engine.embedded.documents.found import FoundDocuments, documents_found
from nwx.engine.embedded.documents.hits import read_hits
from nwx.engine.embedded.documents.order import OrderedHits
from nwx.engine.embedded.documents.plan import SearchPlan, plan_search
from nwx.engine.embedded.documents.search import first_hits
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.embedded.entries.vector_index import FoundPassages
from nwx.engine.embedded.linked_search import LinkedSearch
from nwx.engine.indices import vector_index
from nwx.engine.indices.vector_index import FoundPassage, NearPassages
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
    """Answer a question as `DocumentIndex.search_near` does, working on document numbers.

    Only the documents of the shown page are read.
    """
    found = _NearSearch(view, links, question, cast(FoundPassages, near.first()))
    while len(found.nums) < vector_index.NEAREST:
        further = near.further()
        if further is None:
            break
        found = _NearSearch(view, links, question, cast(FoundPassages, further))
    return found.fused() if question.by is SearchBy.BOTH else found.answer()


class _NearSearch:
    def __init__(
        self,
        view: ArchiveView,
        links: LinkedSearch,
        question: Question,
        near: FoundPassages,
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

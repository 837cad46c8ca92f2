"""The first documents of a result, in order, one of each group."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tantivy import DocAddress, Query

from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import Bools, DocumentColumns
from nwx.engine.embedded.documents.matches.steps import Step
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.work import current_work
from nwx.model import Sort

_FIRST_TRY = 32
_FURTHER = 6


@dataclass(frozen=True, slots=True)
class Ranking:
    """The query whose scores order documents, and steps that may find the best of them sooner."""

    query: Query
    steps: Iterable[Step] = ()


@dataclass(frozen=True, slots=True)
class OrderedHits:
    """A document at its place in the order of a result, and where tantivy has it, if known."""

    num: int
    score: float
    address: DocAddress | None = None


def by_date(
    columns: DocumentColumns, nums: Ints, groups: Ints | None, wanted: int, sort: Sort
) -> list[OrderedHits]:
    """Return the first by date, equal dates by id; newest first unless `sort` is oldest."""
    dates = columns.oldest[nums] if sort is Sort.OLDEST else -columns.newest[nums]
    size = max(_FIRST_TRY, 2 * wanted)
    while True:
        few = size < len(nums)
        # All that are as old as the last one come along, to be told apart by id.
        near = dates <= np.partition(dates, size)[size] if few else np.ones(len(nums), dtype=bool)
        chosen = nums[near]
        chosen = chosen[np.lexsort((columns.id_start[chosen], dates[near]))]
        listed = _firsts((OrderedHits(num, 1.0) for num in chosen.tolist()), groups, wanted)
        if len(listed) >= wanted or not few:
            return listed
        size *= _FURTHER


def by_score(
    view: ArchiveView, ranking: Ranking, allowed: Bools | None, groups: Ints | None, wanted: int
) -> list[OrderedHits]:
    """Return the first by score, equal scores newest first, then by id.

    `allowed` tells which documents count, where not all that `ranking` finds do.
    """
    candidates = _Candidates(view, allowed, groups, wanted)
    for step in ranking.steps:
        if candidates.add(step):
            return candidates.first(step.bound)
    candidates = _Candidates(view, allowed, groups, wanted)
    candidates.add(Step(ranking.query, 0.0))
    return candidates.first(0.0)


class _Candidates:
    """Documents that steps found, each with its best score."""

    def __init__(
        self, view: ArchiveView, allowed: Bools | None, groups: Ints | None, wanted: int
    ) -> None:
        self._view = view
        self._allowed = allowed
        self._groups = groups
        self._wanted = wanted
        self._last = -1.0
        self._best: dict[tuple[int, int], tuple[float, DocAddress]] = {}

    def add(self, step: Step) -> bool:
        """Add what a step finds, until enough are known or no more of it counts yet.

        Tell whether enough are known.
        """
        size, last = max(_FIRST_TRY, 2 * self._wanted), self._last
        while True:
            current_work().check()
            hits = self._view.searcher.search(step.query, size, count=False).hits
            self._keep(hits)
            # What scores as the last one may have equals that were not given.
            end = hits[-1][0] if len(hits) == size else -1.0
            self._last = max(last, end)
            if self._has_enough(step.bound):
                return True
            if end <= max(step.bound or -1.0, last):
                return False
            size *= _FURTHER

    def _keep(self, hits: Sequence[tuple[float, DocAddress]]) -> None:
        for score, address in hits:
            place = address.segment_ord, address.doc
            if place not in self._best or self._best[place][0] < score:
                self._best[place] = score, address

    def _has_enough(self, bound: float) -> bool:
        least = self._least(bound)
        sure = sum(score > least for score, _ in self._best.values())
        return sure >= self._wanted and len(self.first(bound)) >= self._wanted

    def _least(self, bound: float) -> float:
        """Return the score that no document beats that is not known yet, below 0 of none."""
        return max(bound, self._last) if bound else self._last

    def first(self, bound: float) -> list[OrderedHits]:
        """Return the first in order, of those that score more than any other may."""
        least = self._least(bound)
        sure = [one for one in self._best.values() if one[0] > least]
        found = tantivy_index.nums_of(self._view.searcher, [address for _, address in sure])
        scores = np.array([score for score, _ in sure])
        nums: Ints = np.array(found, dtype=np.int64)
        chosen = np.arange(len(nums))
        if self._allowed is not None:
            chosen = chosen[nums < len(self._allowed)]
            chosen = chosen[self._allowed[nums[chosen]]]
        order = _order(self._view.columns, nums, scores, chosen).tolist()
        listed = (OrderedHits(found[n], *sure[n]) for n in order)
        return _firsts(listed, self._groups, self._wanted)


def _order(
    columns: DocumentColumns, nums: Ints, scores: npt.NDArray[np.float64], chosen: Ints
) -> Ints:
    """Return the chosen places in order: best first, equal ones newest first, then by id."""
    of_chosen = nums[chosen]
    keys = (columns.id_start[of_chosen], -columns.newest[of_chosen], -scores[chosen])
    return chosen[np.lexsort(keys)]


def _firsts(ordered: Iterable[OrderedHits], groups: Ints | None, wanted: int) -> list[OrderedHits]:
    """Return the first of each group, up to `wanted`."""
    found: dict[int, OrderedHits] = {}
    for one in ordered:
        found.setdefault(one.num if groups is None else int(groups[one.num]), one)
        if len(found) == wanted:
            break
    return list(found.values())

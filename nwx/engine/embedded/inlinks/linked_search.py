"""Links in a search of a view: documents found by anchors, and the order that links make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tantivy import Occur, Query

from nwx.engine.anchors.scores import (
    FACTOR_WINDOW,
    FoundTargets,
    LinkRanking,
    TargetSet,
    counted_targets,
)
from nwx.engine.anchors.table import NO_TARGET, Scores
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.analyzer import fold, tokens
from nwx.engine.embedded.documents.columns import Bools, DocumentColumns
from nwx.engine.embedded.documents.compile import all_of
from nwx.engine.embedded.documents.order import OrderedHits, by_date
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.embedded.inlinks.linked_documents import LinkedDocuments
from nwx.model import FoundByLinks, ScoreParts, Sort
from nwx.query.fields import ANCHOR
from nwx.query.tree import Leaf, Node
from nwx.settings import RankingSettings

_FIRST_TRY = 64
_FURTHER = 6


class LinkedSearch:
    """What links do in one search."""

    def __init__(self, documents: LinkedDocuments, weights: RankingSettings) -> None:
        self._documents = documents
        self._texts: dict[int, float] = {}
        self._found_nums: Ints = np.zeros(0, dtype=np.int64)
        self._weights = weights
        table = documents.table
        self._ranking = None if table is None else LinkRanking(table, weights, tokens, fold)

    @property
    def state(self) -> str:
        """A text that differs whenever other documents, or links to them, are searched."""
        return str(self._documents.state)

    @property
    def ranks(self) -> bool:
        """Tell whether links take part in the order of results."""
        return self._ranking is not None and self._weights.are_set

    def found(self, tree: Node) -> FoundTargets | None:
        """Return what anchors find of a query, None where they take no part in it."""
        return None if self._ranking is None else self._ranking.found(tree)

    def meet(self, leaf: Leaf) -> Bools:
        """Tell of each number whether its document meets a leaf with one of JOINED_FIELDS."""
        if self._ranking is not None:
            return self._documents.meet(self._ranking.leaf_targets(leaf))
        if leaf.field == ANCHOR:
            return self._documents.meet(TargetSet(np.zeros(0, dtype=np.int64)))
        return self._documents.meet(counted_targets(None, leaf))

    def nums(self, found: FoundTargets) -> Ints:
        """Return the documents of found targets, in order."""
        self._found_nums = np.sort(self._documents.nums(found.targets))
        return self._found_nums

    def ranked(
        self,
        columns: DocumentColumns,
        listed: Sequence[OrderedHits],
        found: FoundTargets | None,
        nums: Ints,
        groups: Ints | None,
        wanted: int,
    ) -> list[OrderedHits]:
        """Return the first hits by their scores, those that anchors found among them.

        `listed` are the first hits by their own words, one of each group,
        FACTOR_WINDOW of them at least where there are so many. `nums` are
        all documents of the result.
        """
        own = np.array([one.num for one in listed], dtype=np.int64)
        further = self._further(found, own, nums)
        every = np.concatenate([own, further])
        texts = np.zeros(len(every))
        texts[: len(own)] = [one.score for one in listed]
        targets = self._documents.targets[every]
        scores = texts.copy() if found is None else np.maximum(texts, found.scores_of(targets))
        first = _firsts(every, groups, _in_order(columns, every, scores))
        window = first[:FACTOR_WINDOW]
        if self._ranking is not None:
            scores[window] *= self._ranking.factors(targets[window])
        window = window[np.argsort(-scores[window], kind="stable")]
        shown = np.concatenate([window, first[FACTOR_WINDOW:]])[:wanted]
        self._texts = dict(zip(every[: len(own)].tolist(), texts.tolist(), strict=False))
        known = {one.num: one.address for one in listed}
        return [
            OrderedHits(num, score, known.get(num))
            for num, score in zip(every[shown].tolist(), scores[shown].tolist(), strict=True)
        ]

    def _further(self, found: FoundTargets | None, listed: Ints, nums: Ints) -> Ints:
        """Return the documents of a result that anchors found and that are not listed."""
        if found is None:
            return listed[:0]
        new = self._found_nums[~_among(self._found_nums, np.sort(listed))]
        return new[_among(new, nums)]

    def by_inlinks(
        self, columns: DocumentColumns, nums: Ints, groups: Ints | None, wanted: int
    ) -> list[OrderedHits]:
        """Return the first by the number of linking pages, equal ones newest first, then by id."""
        counts = self._documents.inlinks(nums)
        linked = np.flatnonzero(counts)
        size = max(_FIRST_TRY, 2 * wanted)
        while True:
            chosen = linked
            if size < len(linked):
                # All that are as linked as the last one come along, to be told apart by date.
                least = -np.partition(-counts[linked], size)[size]
                chosen = linked[counts[linked] >= least]
            found = nums[chosen]
            order = np.lexsort((columns.id_start[found], -columns.newest[found], -counts[chosen]))
            first = found[_firsts(found, groups, order, wanted)].tolist()
            if len(first) >= wanted or size >= len(linked):
                break
            size *= _FURTHER
        hits = {num if groups is None else int(groups[num]): OrderedHits(num, 1.0) for num in first}
        if len(hits) < wanted:
            rest = np.delete(nums, linked)
            for one in by_date(columns, rest, groups, wanted, Sort.NEWEST):
                hits.setdefault(one.num if groups is None else int(groups[one.num]), one)
        return list(hits.values())[:wanted]

    def score_parts(
        self,
        view: ArchiveView,
        query: Query | None,
        found: FoundTargets | None,
        nums: Sequence[int],
        by_words: Ints,
    ) -> Mapping[int, "HitLinks"]:
        """Return what the scores of some hits are made of; `query` scores documents by their words.

        A `query` of None scores none. `by_words` are the documents that match
        by their own words, in order.
        """
        if self._ranking is None:
            return {}
        targets = self._documents.targets[np.array(nums, dtype=np.int64)]
        anchors = np.zeros(len(nums)) if found is None else found.scores_of(targets)
        texts = self._texts
        listed = np.array([num for num in nums if num not in texts], dtype=np.int64)
        if unknown := listed[_among(listed, by_words)].tolist():
            texts = texts | ({} if query is None else _text_scores(view, query, unknown))
        domains, factors = self._ranking.domains(targets), self._ranking.factors(targets)
        columns = (one.tolist() for one in (targets, anchors, factors, domains))
        return {
            num: HitLinks(
                ScoreParts(texts.get(num, 0.0), anchor, factor, count),
                self._found_by(found, target, anchor > 0 and not texts.get(num)),
            )
            for num, target, anchor, factor, count in zip(nums, *columns, strict=True)
        }

    def _found_by(
        self, found: FoundTargets | None, target: int, alone: bool
    ) -> FoundByLinks | None:
        if not alone or found is None or self._ranking is None or target == NO_TARGET:
            return None
        return self._ranking.found_by(target, found.words)


@dataclass(frozen=True, slots=True)
class HitLinks:
    """What links have to do with a hit."""

    score_parts: ScoreParts
    found_by: FoundByLinks | None


def joined(nums: Ints, further: Ints) -> Ints:
    """Return numbers in order with further ones, in order too."""
    new = further[~_among(further, nums)]
    return np.insert(nums, np.searchsorted(nums, new), new) if len(new) else nums


def _among(nums: Ints, others: Ints) -> Bools:
    """Tell of numbers whether they are among others, which are in order."""
    if not len(others):
        return np.zeros(len(nums), dtype=bool)
    places = np.minimum(np.searchsorted(others, nums), len(others) - 1)
    found: Bools = others[places] == nums
    return found


def _text_scores(view: ArchiveView, query: Query, nums: Sequence[int]) -> dict[int, float]:
    """Return the scores of those of some documents that match by their own words."""
    if not nums:
        return {}
    inside = Query.const_score_query(tantivy_index.nums_query(nums), 0.0)
    hits = view.searcher.search(all_of([query, inside]), len(nums), count=False).hits
    found = tantivy_index.nums_of(view.searcher, [address for _, address in hits])
    return {num: score for num, (score, _) in zip(found, hits, strict=True)}


def scored_among(query: Query, nums: Sequence[int]) -> Query:
    """Return the query of some documents, scored where another one finds them."""
    inside = Query.const_score_query(tantivy_index.nums_query(nums), 0.0)
    return Query.boolean_query([(Occur.Must, inside), (Occur.Should, query)])


def _in_order(columns: DocumentColumns, nums: Ints, scores: Scores) -> Ints:
    return np.lexsort((columns.id_start[nums], -columns.newest[nums], -scores))


def _firsts(nums: Ints, groups: Ints | None, order: Ints, wanted: int | None = None) -> Ints:
    """Return the places of an order that are the first of their group."""
    if groups is not None:
        _, first = np.unique(groups[nums[order]], return_index=True)
        order = order[np.sort(first)]
    return order[:wanted]

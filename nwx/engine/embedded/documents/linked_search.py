"""The join of a view's documents with the targets of links and their anchors, for searches."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import count

import numpy as np
from cachetools import LRUCache

from nwx.bulk.progress import batches
from nwx.data_classes import dataclass
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import Bools, DocumentColumns
from nwx.engine.embedded.documents.order import OrderedHits, are_among, by_date
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.inlinks.anchor_scores import (
    FACTOR_WINDOW,
    FoundTargets,
    LinkRanking,
    TargetSet,
    linking_counts,
)
from nwx.engine.inlinks.anchor_table import NO_TARGET, UNKNOWN, AnchorBlobs, AnchorTable, Scores
from nwx.model import FoundByLinks, ScoreParts, Sort
from nwx.query.question import HiddenDocuments, Question
from nwx.query.tree import Leaf, Node
from nwx.settings import RankingSettings

_AT_ONCE = 1_000
_VIEWERS_KEPT = 4


@dataclass(frozen=True)
class LinkedDocuments:
    """The link target of each document, by document number; `table` is None without inlinks.

    `state` is unique to each joined pair of view and table.
    """

    table: AnchorTable | None
    targets: Ints
    state: int = field(default_factory=count(1).__next__)

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(self.targets, kind="stable")

    @cached_property
    def _starts(self) -> Ints:
        size = 0 if self.table is None else self.table.size
        return np.searchsorted(self.targets[self._order], np.arange(size + 1))

    def nums(self, targets: Ints) -> Ints:
        """Return the numbers of the documents of targets."""
        begins = self._starts[targets]
        lengths = self._starts[targets + 1] - begins
        firsts = np.repeat(begins - np.cumsum(lengths) + lengths, lengths)
        found: Ints = self._order[np.arange(len(firsts)) + firsts]
        return found

    def meet(self, wanted: TargetSet) -> Bools:
        """Return for each document number whether its target is in a set."""
        size = 0 if self.table is None else self.table.size
        marks = np.zeros(size + 1, dtype=bool)
        marks[wanted.targets] = True
        marks[NO_TARGET] = wanted.unlinked
        return marks[self.targets]

    def inlinks(self, nums: Ints) -> Ints:
        """Return the number of pages that link to each document."""
        return linking_counts(self.table, "documents", self.targets[nums])


class DocumentJoin:
    """Joins the current view with the current anchors; thread-safe."""

    def __init__(self, blobs: AnchorBlobs) -> None:
        self._blobs = blobs
        self._guard = threading.Lock()
        self._joined: LRUCache[str, tuple[ArchiveView, LinkedDocuments]] = LRUCache(_VIEWERS_KEPT)

    def documents(self, view: ArchiveView, hidden: HiddenDocuments) -> LinkedDocuments:
        """Return a view's documents joined with targets; links of hidden documents do not count."""
        with self._guard:
            table = self._blobs.table(hidden)
            known = self._joined.get(hidden.key)
            if known is None or known[0] is not view or known[1].table is not table:
                before = known[1] if known and known[1].table is table else None
                known = self._joined[hidden.key] = view, _joined(view, table, before)
            return known[1]


def _joined(
    view: ArchiveView, table: AnchorTable | None, before: LinkedDocuments | None
) -> LinkedDocuments:
    columns = view.columns
    targets = np.full(columns.size, NO_TARGET, dtype=np.int64)
    if table is None:
        return LinkedDocuments(None, targets)
    if before is not None:
        targets[: len(before.targets)] = before.targets[: columns.size]
        fresh = np.arange(len(before.targets), columns.size)
        fresh = fresh[columns.is_document[fresh]]
    else:
        fresh = np.flatnonzero(columns.is_document)
    targets[fresh] = table.document_targets(columns.id_start[fresh])
    unknown = np.flatnonzero(targets == UNKNOWN)
    targets[unknown] = _looked_up(view, table, unknown)
    return LinkedDocuments(table, targets)


def _looked_up(view: ArchiveView, table: AnchorTable, nums: Ints) -> Ints:
    """Return the targets of documents added after the build, looked up by urlkey."""
    found = np.full(len(nums), NO_TARGET, dtype=np.int64)
    places = {num: place for place, num in enumerate(nums.tolist())}
    for chunk in batches(nums.tolist(), _AT_ONCE):
        heads = [
            (num, tantivy_index.head_of(document).get("urlkey", ""))
            for num, document in tantivy_index.documents_by_num(view.searcher, chunk)
        ]
        targets = table.targets([urlkey for _, urlkey in heads])
        for (num, _), target in zip(heads, targets.tolist(), strict=True):
            found[places[num]] = target
    return found


_FIRST_TRY = 64
_FURTHER = 6


class LinkedSearch:
    """The use of links in one search: matches by anchors, conditions, ranking."""

    def __init__(
        self,
        documents: LinkedDocuments,
        weights: RankingSettings,
        rank_weights: Callable[[Sequence[int] | Ints], Scores] | None = None,
    ) -> None:
        self._documents = documents
        self._rank_weights = rank_weights
        self._texts: dict[int, float] = {}
        self._found_nums: Ints = np.zeros(0, dtype=np.int64)
        self._ranking = LinkRanking(documents.table, weights)

    @property
    def state(self) -> str:
        """A text that changes whenever the searched documents, or their links, change."""
        return str(self._documents.state)

    @property
    def ranks(self) -> bool:
        """Return whether links affect the order of results."""
        return self._ranking.ranks

    def found(self, tree: Node) -> FoundTargets | None:
        """Return the targets that anchors find for a query, None if anchors are not used for it."""
        return self._ranking.found(tree)

    def meet(self, leaf: Leaf) -> Bools:
        """Return for each document number whether it meets a leaf on one of JOINED_FIELDS."""
        return self._documents.meet(self._ranking.leaf_targets(leaf))

    def nums(self, found: FoundTargets) -> Ints:
        """Return the numbers of the documents of found targets, ascending."""
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
        texts_of: Callable[[Ints], Mapping[int, float]],
    ) -> list[OrderedHits]:
        """Return the first hits by their scores, including hits found by anchors.

        `listed` are the first hits by text score, one per group, at least FACTOR_WINDOW of them if
        that many exist. `nums` are all documents of the result; `texts_of` returns the text scores
        of documents.
        """
        own = np.array([one.num for one in listed], dtype=np.int64)
        further = self._further(found, own, nums)
        every = np.concatenate([own, further])
        texts = np.zeros(len(every))
        texts[: len(own)] = [one.score for one in listed]
        targets = self._documents.targets[every]
        anchors = self._anchor_scores(found, every)
        lower = min(1.0, self._ranking.lower)
        if lower and len(further):
            best = len(own) + np.argsort(-anchors[len(own) :], kind="stable")[:_AT_ONCE]
            scored = self._weighted(texts_of(every[best]))
            texts[best] = [scored.get(num, 0.0) for num in every[best].tolist()]
        scores = np.maximum(texts, anchors) + lower * np.minimum(texts, anchors)
        first = _firsts(every, groups, _in_order(columns, every, scores))
        window = first[:FACTOR_WINDOW]
        scores[window] *= self._ranking.factors(targets[window])
        window = window[np.argsort(-scores[window], kind="stable")]
        shown = np.concatenate([window, first[FACTOR_WINDOW:]])[:wanted]
        self._texts = {
            num: text for num, text in zip(every.tolist(), texts.tolist(), strict=True) if text
        }
        known = {one.num: one.address for one in listed}
        return [
            OrderedHits(num, score, known.get(num))
            for num, score in zip(every[shown].tolist(), scores[shown].tolist(), strict=True)
        ]

    def _further(self, found: FoundTargets | None, listed: Ints, nums: Ints) -> Ints:
        """Return the documents of a result that anchors found but that are not listed."""
        if found is None:
            return listed[:0]
        new = self._found_nums[~are_among(self._found_nums, np.sort(listed))]
        return new[are_among(new, nums)]

    def by_inlinks(
        self, columns: DocumentColumns, nums: Ints, groups: Ints | None, wanted: int
    ) -> list[OrderedHits]:
        """Return the first hits by number of linking pages, ties newest first, then by id."""
        counts = self._documents.inlinks(nums)
        linked = np.flatnonzero(counts)
        size = max(_FIRST_TRY, 2 * wanted)
        while True:
            chosen = linked
            if size < len(linked):
                # All ties with the last one are included, as their dates decide.
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
        found: FoundTargets | None,
        nums: Sequence[int],
        texts_of: Callable[[Ints], Mapping[int, float]],
    ) -> Mapping[int, "HitLinks"]:
        """Return the components of the scores of hits; `texts_of` is as in `ranked`."""
        if self._ranking.table is None:
            return {}
        targets = self._documents.targets[np.array(nums, dtype=np.int64)]
        anchors = self._anchor_scores(found, np.array(nums, dtype=np.int64))
        texts = self._texts
        unknown = np.array([num for num in nums if num not in texts], dtype=np.int64)
        texts = texts | self._weighted(texts_of(unknown))
        domains, factors = self._ranking.domains(targets), self._ranking.factors(targets)
        columns = (one.tolist() for one in (targets, anchors, factors, domains))
        return {
            num: HitLinks(
                ScoreParts(texts.get(num, 0.0), anchor, factor, count),
                self._found_by(found, target, anchor > 0 and not texts.get(num)),
            )
            for num, target, anchor, factor, count in zip(nums, *columns, strict=True)
        }

    def _anchor_scores(self, found: FoundTargets | None, nums: Ints) -> Scores:
        if found is None:
            return np.zeros(len(nums))
        scores = found.scores_of(self._documents.targets[nums])
        return scores * self._rank_weights(nums) if self._rank_weights else scores

    def _weighted(self, scores: Mapping[int, float]) -> dict[int, float]:
        """Return scores by document number, reduced for documents that rank below pages."""
        if not self._rank_weights:
            return dict(scores)
        weights = self._rank_weights(list(scores)).tolist()
        return {num: score * w for (num, score), w in zip(scores.items(), weights, strict=True)}

    def _found_by(
        self, found: FoundTargets | None, target: int, alone: bool
    ) -> FoundByLinks | None:
        if not alone or found is None or target == NO_TARGET:
            return None
        return self._ranking.found_by(target, found.words)


def rank_weights(view: ArchiveView, question: Question, nums: Sequence[int] | Ints) -> Scores:
    """Return the factors of documents' scores, less than 1 for those that rank below pages."""
    weights: Scores = np.where(view.below_pages[nums], question.ranking.below_pages, 1.0)
    return weights


@dataclass(frozen=True, slots=True)
class HitLinks:
    """The score components of a hit, and the anchor text that found it."""

    score_parts: ScoreParts | None = None
    found_by: FoundByLinks | None = None


NO_LINKS = HitLinks()


def joined(nums: Ints, further: Ints) -> Ints:
    """Return the sorted union of two sorted arrays."""
    new = further[~are_among(further, nums)]
    return np.insert(nums, np.searchsorted(nums, new), new) if len(new) else nums


def _in_order(columns: DocumentColumns, nums: Ints, scores: Scores) -> Ints:
    return np.lexsort((columns.id_start[nums], -columns.newest[nums], -scores))


def _firsts(nums: Ints, groups: Ints | None, order: Ints, wanted: int | None = None) -> Ints:
    """Return the positions in `order` that are the first of their group, at most `wanted`."""
    if groups is not None:
        _, first = np.unique(groups[nums[order]], return_index=True)
        order = order[np.sort(first)]
    return order[:wanted]

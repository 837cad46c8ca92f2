"""Links in search: query words looked up in anchor texts, and link weights in the ranking.

A hit's score is the higher of two, the text score of its document and the score of the anchor
texts of its inlinks times a weight, plus a part of the lower. For the first FACTOR_WINDOW hits it
is multiplied by 1 + weight * log10(1 + linking domains).
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np

from nwx.bulk.arrays import Array
from nwx.data_classes import dataclass
from nwx.engine.document_index import current_work
from nwx.engine.inlinks.anchor_table import NO_TARGET, AnchorTable, Scores, TargetNumbers
from nwx.model import FoundByLinks
from nwx.query.fields import ANCHOR, INLINK_COUNTS
from nwx.query.tree import (
    LINKED_TARGETS,
    All,
    Bool,
    Boost,
    DateRange,
    Fuzzy,
    Leaf,
    Node,
    Phrase,
    Term,
    Wildcard,
    anchor_parts,
    inlink_span,
    is_any,
    text_leaves,
)
from nwx.query.words import likeness, matcher, pattern_pieces, stand_near
from nwx.settings import RankingSettings

Tokens = Callable[[str], Sequence[str]]
"""Returns the tokens of a text, as by the analyzer `text` of the mappings."""

_K1, _B = 1.2, 0.75
_CHECKED = 10_000


class AnchorWords:
    """The words of a query, looked up in the anchors of a table.

    The weight of a word in a target is the sum over the anchor texts with it of 1 + log2(hosts),
    where a host counts once per text: a text repeated a million times on one site counts once.
    """

    def __init__(self, table: AnchorTable) -> None:
        # Imported here: searches on a server without links do not need tantivy.
        from nwx.engine.analyzer import fold, query_tokens

        self._table = table
        self.tokens: Tokens = query_tokens
        self._fold = fold
        self._leaves: dict[Leaf, tuple[Array, Array]] = {}

    def targets(self, node: Node) -> Array:
        """Return all targets whose anchors match, in order; the fields of leaves are ignored."""
        match node:
            case All() | DateRange():
                return self._every()
            case Boost():
                return self.targets(node.node)
            case Bool():
                return self._bool(node)
        return self._leaf(node)[0]

    def scores(self, node: Node, targets: TargetNumbers) -> Scores:
        """Return the scores of targets (BM25 of the weights), 0.0 if they do not match."""
        match node:
            case All() | DateRange():
                return np.ones(len(targets))
            case Boost():
                return self.scores(node.node, targets) * node.factor
            case Bool():
                sums = np.zeros(len(targets))
                for part in (*node.must, *node.should):
                    sums += self.scores(part, targets)
                return sums
        return self._leaf_scores(node, targets)

    def _every(self) -> TargetNumbers:
        return np.arange(self._table.size)

    def _bool(self, node: Bool) -> Array:
        found: Array | None = None
        for part in sorted(map(self.targets, node.must), key=len):
            found = part if found is None else _both(found, part, self._table.size)
        if found is None:
            found = self._any(node.should, node.least) if node.should else self._every()
        for ruled_out in node.must_not:
            there = np.zeros(self._table.size, dtype=bool)
            there[self.targets(ruled_out)] = True
            found = found[~there[found]]
        return found

    def _any(self, nodes: Sequence[Node], least: int) -> Array:
        there = np.zeros(self._table.size, dtype=np.int32)
        for node in nodes:
            there[self.targets(node)] += 1
        return np.flatnonzero(there >= least)

    def _leaf(self, leaf: Leaf) -> tuple[Array, Array]:
        """Return the targets that match a leaf, in order, and the weight of the leaf in each."""
        if leaf not in self._leaves:
            current_work().check()
            self._leaves[leaf] = self._looked_up(leaf)
        return self._leaves[leaf]

    def _looked_up(self, leaf: Leaf) -> tuple[Array, Array]:
        table = self._table
        if is_any(leaf):
            there = np.flatnonzero(table.lengths > 0)
            return there, np.ones(len(there))
        match leaf:
            case Term() | Phrase():
                words = self.tokens(leaf.text)
                terms = [self._table.terms.find(word) for word in words]
                if not terms or None in terms:
                    return _NOTHING
                known = [term for term in terms if term is not None]
                if len(known) == 1:
                    return table.postings(known[0])
                slop = leaf.slop if isinstance(leaf, Phrase) else 0
                return self._of_texts(self._near(known, slop))
            case Fuzzy():
                return self._fuzzy(leaf)
            case Wildcard():
                return self._of_terms(self._following(leaf.pattern))
        return _NOTHING

    def _fuzzy(self, leaf: Fuzzy) -> tuple[Array, Array]:
        found: Array | None = None
        weights = np.zeros(self._table.size)
        for word in self.tokens(leaf.text):
            targets, gained = self._of_terms(self._like(word, leaf.distance))
            weights[targets] += gained
            found = targets if found is None else _both(found, targets, self._table.size)
        return _NOTHING if found is None else (found, weights[found])

    def _following(self, pattern: str) -> list[int]:
        pieces = list(pattern_pieces(pattern, self._fold))
        fits, begins = matcher(pieces), pieces[0][1:]
        terms = self._table.all_terms
        found = []
        for number in range(bisect_left(terms, begins.encode(), key=str.encode), len(terms)):
            if not terms[number].startswith(begins):
                break
            if number % _CHECKED == 0:
                current_work().check()
            if fits(terms[number]):
                found.append(number)
        return found

    def _like(self, word: str, distance: int) -> list[int]:
        is_like = likeness(word, distance)
        return [
            number
            for number, term in enumerate(self._table.all_terms)
            if abs(len(term) - len(word)) <= distance and is_like(term)
        ]

    def _of_terms(self, terms: Sequence[int]) -> tuple[Array, Array]:
        there = np.zeros(self._table.size, dtype=bool)
        for term in terms:
            there[self._table.postings(term)[0]] = True
        found = np.flatnonzero(there)
        return found, np.ones(len(found))

    def _near(self, terms: Sequence[int], slop: int) -> Array:
        """Return the anchor texts with the terms as a phrase, or near each other."""
        lists = sorted((self._table.texts_with(term) for term in set(terms)), key=len)
        texts = lists[0].astype(np.int64)
        for other in lists[1:]:
            texts = texts[np.isin(texts, other, assume_unique=True)]
        return np.array([one for one in texts.tolist() if self._stand(one, terms, slop)], np.int64)

    def _stand(self, text: int, terms: Sequence[int], slop: int) -> bool:
        places: dict[int, list[int]] = {term: [] for term in terms}
        for place, term in enumerate(self._table.words(text)):
            if term in places:
                places[term].append(place)
        return stand_near(terms, places, slop)

    def _of_texts(self, texts: Array) -> tuple[Array, Array]:
        """Return the targets with any of these anchor texts, and the summed weight of these."""
        wanted = np.zeros(len(self._table.texts), dtype=bool)
        wanted[texts] = True
        arrays = self._table.arrays
        uses = np.flatnonzero(wanted[arrays["use_texts"]])
        targets = np.searchsorted(arrays["use_starts"], uses, side="right") - 1
        weights = np.zeros(self._table.size)
        np.add.at(weights, targets, 1 + np.log2(arrays["use_hosts"][uses]))
        found = np.unique(targets)
        return found, weights[found]

    def _leaf_scores(self, leaf: Leaf, targets: TargetNumbers) -> Scores:
        found, weights = self._leaf(leaf)
        if not len(found):
            return np.zeros(len(targets))
        # Converted to one type, as else the long list would be.
        places = np.searchsorted(found, targets.astype(found.dtype))
        places = np.minimum(places, len(found) - 1)
        there: Scores = (found[places] == targets).astype(np.float64)
        if isinstance(leaf, Wildcard):
            return there
        size, mean = self._table.size, self._table.mean_length or 1.0
        rarity = math.log(1 + (size - len(found) + 0.5) / (len(found) + 0.5))
        weight = weights[places].astype(np.float64)
        norm = _K1 * (1 - _B + _B * self._table.lengths[targets].astype(np.float64) / mean)
        scores: Scores = there * rarity * (_K1 + 1) * weight / (weight + norm)
        return scores


_NOTHING: tuple[Array, Array] = (np.zeros(0, dtype=np.int64), np.zeros(0))


def _both(one: Array, other: Array, size: int) -> Array:
    """Return the intersection of two lists of targets."""
    there = np.zeros(size, dtype=bool)
    there[other] = True
    return one[there[one]]


FACTOR_WINDOW = 30
"""The number of first hits, by words and anchors, that linking domains may reorder."""


@dataclass(frozen=True, slots=True)
class FoundTargets:
    """Linked URLs whose anchors match a query, at most the LINKED_TARGETS most linked ones.

    `targets` are their numbers, in order, `scores` their scores. Their documents must also meet
    `rest`.
    """

    targets: TargetNumbers
    scores: Scores
    words: Node
    rest: Node

    def scores_of(self, targets: TargetNumbers) -> Scores:
        """Return the scores of targets, 0.0 for targets not found."""
        if not len(self.targets):
            return np.zeros(len(targets))
        places = np.minimum(np.searchsorted(self.targets, targets), len(self.targets) - 1)
        return np.where(self.targets[places] == targets, self.scores[places], 0.0)


@dataclass(frozen=True, slots=True)
class TargetSet:
    """The targets that meet a leaf; `unlinked` if documents without inlinks meet it too."""

    targets: TargetNumbers
    unlinked: bool = False


class LinkRanking:
    """The use of links in one search; `table` is None if links were never inverted."""

    def __init__(self, table: AnchorTable | None, weights: RankingSettings) -> None:
        self.table = table
        self._weights = weights
        self._words = None if table is None else AnchorWords(table)

    @property
    def lower(self) -> float:
        """The weight of the lower of text score and anchor score, added to the higher."""
        return self._weights.lower

    @property
    def ranks(self) -> bool:
        """Whether links affect the order of results."""
        return self.table is not None and self._weights.are_set

    def found(self, tree: Node) -> FoundTargets | None:
        """Return the targets that anchors find for a query, None if anchors are not used for it."""
        parts = anchor_parts(tree) if self._weights.anchor_weight > 0 else None
        if parts is None or self._words is None:
            return None
        targets = self._words.targets(parts.words)[:LINKED_TARGETS].astype(np.int64)
        scores = np.zeros(0)
        if len(targets):
            scores = self._words.scores(parts.words, targets) * self._weights.anchor_weight
        return FoundTargets(targets, scores, parts.words, parts.rest)

    def leaf_targets(self, leaf: Leaf) -> TargetSet:
        """Return all targets that meet a leaf on one of JOINED_FIELDS."""
        if leaf.field != ANCHOR:
            return _counted_targets(self.table, leaf)
        found = _NOTHING[0] if self._words is None else self._words.targets(leaf)
        return TargetSet(found.astype(np.int64))

    def factors(self, targets: TargetNumbers) -> Scores:
        """Return the score factor of each target, 1 for NO_TARGET."""
        return 1 + self._weights.inlink_weight * np.log10(1 + self.domains(targets))

    def domains(self, targets: TargetNumbers) -> TargetNumbers:
        """Return the number of domains that link to each target, 0 for NO_TARGET."""
        return linking_counts(self.table, "domains", targets)

    def found_by(self, target: int, words: Node) -> FoundByLinks | None:
        """Return the anchor text of a target with the most query words, ties by most hosts."""
        table, anchors = self.table, self._words
        if table is None or anchors is None:
            return None
        wanted = {
            table.terms.find(word)
            for leaf in text_leaves(words)
            if isinstance(leaf, Term | Phrase)
            for word in anchors.tokens(leaf.text)
        }
        best, most = None, -1
        for use, text in table.anchor_texts(target):
            shared = len(wanted.intersection(table.words(text)))
            if shared > most:
                best, most = use, shared
        if best is None:
            return None
        anchor = table.anchor(best)
        return FoundByLinks(anchor.text, anchor.hosts)


def _counted_targets(table: AnchorTable | None, leaf: Leaf) -> TargetSet:
    """Return the targets whose inlink count matches a leaf of one of INLINK_COUNTS."""
    span = inlink_span(leaf)
    unlinked = span.is_met(0)
    if table is None:
        return TargetSet(np.zeros(0, dtype=np.int64), unlinked)
    counts = table.counts(INLINK_COUNTS[leaf.field])
    high = math.inf if span.high is None else span.high
    return TargetSet(np.flatnonzero((counts >= span.low) & (counts <= high)), unlinked)


def linking_counts(table: AnchorTable | None, name: str, targets: TargetNumbers) -> TargetNumbers:
    """Return how many `documents`, `hosts` or `domains` link to each target, 0 for NO_TARGET."""
    found = np.zeros(len(targets), dtype=np.int64)
    if table is not None:
        there = targets != NO_TARGET
        found[there] = table.counts(name)[targets[there]]
    return found

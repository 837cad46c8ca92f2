"""How links take part in a search: which documents they find, and what they add to the order.

A hit's score is the higher of two: that of its own words, and that of the
anchor texts of the links to it, times a weight. It is multiplied by
1 + weight * log10(1 + linking domains), for the first FACTOR_WINDOW hits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nwx.engine.anchors.table import NO_TARGET, AnchorTable, Scores, TargetNumbers
from nwx.engine.anchors.words import AnchorWords, Tokens
from nwx.model import FoundByLinks
from nwx.query.fields import ANCHOR, INLINK_COUNTS
from nwx.query.inlinks import LINKED_TARGETS, anchor_parts, inlink_span
from nwx.query.tree import Leaf, Node, Phrase, Term, text_leaves
from nwx.settings import RankingSettings

FACTOR_WINDOW = 30
"""So many hits, the first by their words and anchors, are ordered by linking domains too."""


@dataclass(frozen=True, slots=True)
class FoundTargets:
    """The linked URLs whose anchors match a query, the most linked LINKED_TARGETS of them.

    `targets` are their numbers, in order, and `scores` what each is given.
    Their documents must meet `rest` too.
    """

    targets: TargetNumbers
    scores: Scores
    words: Node
    rest: Node

    def scores_of(self, targets: TargetNumbers) -> Scores:
        """Return the scores of some targets, 0.0 of those that were not found."""
        if not len(self.targets):
            return np.zeros(len(targets))
        places = np.minimum(np.searchsorted(self.targets, targets), len(self.targets) - 1)
        return np.where(self.targets[places] == targets, self.scores[places], 0.0)


@dataclass(frozen=True, slots=True)
class TargetSet:
    """Targets that a leaf asks for; `unlinked` where documents that nothing links to meet it."""

    targets: TargetNumbers
    unlinked: bool = False


class LinkRanking:
    """What one search asks of the anchors of an archive."""

    def __init__(
        self,
        table: AnchorTable,
        weights: RankingSettings,
        tokens: Tokens,
        fold: Callable[[str], str],
    ) -> None:
        self.table = table
        self._weights = weights
        self._words = AnchorWords(table, tokens, fold)
        self._tokens = tokens

    def found(self, tree: Node) -> FoundTargets | None:
        """Return what anchors find of a query, None where they take no part in it."""
        parts = anchor_parts(tree) if self._weights.anchor_weight > 0 else None
        if parts is None:
            return None
        targets = self._words.targets(parts.words)[:LINKED_TARGETS].astype(np.int64)
        scores = self._words.scores(parts.words, targets) * self._weights.anchor_weight
        return FoundTargets(targets, scores, parts.words, parts.rest)

    def leaf_targets(self, leaf: Leaf) -> TargetSet:
        """Return all targets that a leaf with one of JOINED_FIELDS asks for."""
        if leaf.field == ANCHOR:
            return TargetSet(self._words.targets(leaf).astype(np.int64))
        return counted_targets(self.table, leaf)

    def factors(self, targets: TargetNumbers) -> Scores:
        """Return what scores are multiplied by, by targets; NO_TARGET has 1."""
        return 1 + self._weights.inlink_weight * np.log10(1 + self.domains(targets))

    def domains(self, targets: TargetNumbers) -> TargetNumbers:
        """Return the number of domains that link to each target, 0 for NO_TARGET."""
        return linking_counts(self.table, "domains", targets)

    def found_by(self, target: int, words: Node) -> FoundByLinks | None:
        """Return the anchor text of a target with the most words of a query, then of most hosts."""
        wanted = {
            self.table.terms.find(word)
            for leaf in text_leaves(words)
            if isinstance(leaf, Term | Phrase)
            for word in self._tokens(leaf.text)
        }
        best, most = None, -1
        for use, text in self.table.anchor_texts(target):
            shared = len(wanted.intersection(self.table.words(text)))
            if shared > most:
                best, most = use, shared
        if best is None:
            return None
        anchor = self.table.anchor(best)
        return FoundByLinks(anchor.text, anchor.hosts)


def counted_targets(table: AnchorTable | None, leaf: Leaf) -> TargetSet:
    """Return the targets with so many inlinks as a leaf of one of INLINK_COUNTS asks for."""
    span = inlink_span(leaf)
    unlinked = span.is_met(0)
    if table is None:
        return TargetSet(np.zeros(0, dtype=np.int64), unlinked)
    counts = table.counts(INLINK_COUNTS[leaf.field])
    high = math.inf if span.high is None else span.high
    return TargetSet(np.flatnonzero((counts >= span.low) & (counts <= high)), unlinked)


def linking_counts(table: AnchorTable, name: str, targets: TargetNumbers) -> TargetNumbers:
    """Return how many `documents`, `hosts` or `domains` link to targets, 0 for NO_TARGET."""
    there = targets != NO_TARGET
    found = np.zeros(len(targets), dtype=np.int64)
    found[there] = table.counts(name)[targets[there]]
    return found

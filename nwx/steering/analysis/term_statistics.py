"""In how many documents of an archive the terms of a specification are."""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nwx.engine.base import Engine
from nwx.model import Collapse
from nwx.query.question import Question
from nwx.query.tree import All, Node, Phrase
from nwx.steering.specifications.specification import CrawlSpecification

MOST_COUNTED = 2_000
"""So many terms are counted, those of the highest weights; others have the mean of these."""


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """The documents of an archive, and how many of them have a term.

    `frequencies` is by the text of a keyword or the name of an entity.
    """

    documents: int = 0
    frequencies: Mapping[str, int] = field(default_factory=dict)

    def rarities(self, terms: Sequence[str]) -> list[float]:
        """Return the idf of each term, divided by the mean of all: 1 is as rare as terms are."""
        known = {term: self._idf(self.frequencies[term]) for term in self.frequencies}
        mean = sum(known.values()) / len(known) if known else 1.0
        return [known.get(term, mean) / mean for term in terms]

    def _idf(self, frequency: int) -> float:
        return math.log((self.documents + 1) / (min(frequency, self.documents) + 1)) + 1


def term_statistics(engine: Engine, specification: CrawlSpecification) -> TermStatistics:
    """Return in how many documents of an archive the terms of a specification are.

    Counts the documents of the specification's collection, by searches.
    """
    filters = {"collection": (specification.collection,)} if specification.collection else {}

    def count(tree: Node) -> int:
        question = Question(tree, filters, collapse=Collapse.NONE, limit=0, snippets=False)
        return engine.search(question).documents.value

    weights = {keyword.text: keyword.weight for keyword in specification.keywords}
    weights |= {entity.name: entity.weight for entity in specification.entities}
    counted = heapq.nlargest(MOST_COUNTED, weights, key=weights.__getitem__)
    return TermStatistics(count(All()), {term: count(Phrase("", term)) for term in counted})

"""How near a text is to a specification: the cosine of their weighted words."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from nwx.steering.analysis.language.language_model import TextReading
from nwx.steering.analysis.term_matches import TermMatch
from nwx.steering.analysis.term_statistics import TermStatistics
from nwx.steering.specifications.specification import CrawlSpecification

_OTHER_WORDS = 0.5
"""The rarity of words that the specification does not name, as a share of its terms' mean."""


class DocumentScorer:
    """The terms of a specification with their weights: tf-idf, compared by the cosine.

    `strengths` are the weights of the terms times their rarity, divided by
    the mean of the positive ones.
    """

    def __init__(self, specification: CrawlSpecification, statistics: TermStatistics) -> None:
        terms = [keyword.text for keyword in specification.keywords]
        terms += [entity.name for entity in specification.entities]
        weights = [keyword.weight for keyword in specification.keywords]
        weights += [entity.weight for entity in specification.entities]
        self._rarities = statistics.rarities(terms)
        self._wanted = [
            weight * rarity for weight, rarity in zip(weights, self._rarities, strict=True)
        ]
        self._length = math.hypot(*self._wanted) if self._wanted else 0.0
        positive = [wanted for wanted in self._wanted if wanted > 0]
        mean = math.fsum(positive) / len(positive) if positive else 1.0
        self.strengths: Sequence[float] = [wanted / mean for wanted in self._wanted]

    def score(self, reading: TextReading, matches: Sequence[TermMatch]) -> float:
        """Return the score of a text, in [0, 1]."""
        if not matches or not self._length:
            return 0.0
        words = Counter(reading.lemmas)
        for closed in reading.closed & words.keys():
            del words[closed]
        squares = _OTHER_WORDS**2 * math.fsum(_squares(Counter(words.values())))
        product = 0.0
        for term, count in Counter(match.term for match in matches).items():
            found = (1 + math.log(count)) * self._rarities[term]
            product += found * self._wanted[term]
            squares += found * found
        return max(0.0, min(1.0, product / (math.sqrt(squares) * self._length)))


def _squares(counts: Mapping[int, int]) -> list[float]:
    """Return the squared weights of words, given how many words are there how many times."""
    return [number * (1 + math.log(count)) ** 2 for count, number in counts.items()]

"""Matching of a specification's terms in texts, their rarity, and document scores."""

import heapq
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any, NamedTuple

from nwx.engine.base import Engine
from nwx.query.question import Question
from nwx.query.tree import All, Node, Phrase
from nwx.steering.analysis.lemmas import (
    MOST_MATCHES,
    LetterMatcher,
    fold_text,
    has_unspaced,
    lemmas_of,
    word_pattern,
)
from nwx.steering.analysis.names import TextReading
from nwx.steering.specifications.specification import CrawlSpecification, Keyword

_LONGEST_TERM = 200  # characters
_MOST_LANGUAGES = 8  # with cached keyword trees

_Forms = dict[str, Any]


class TermMatch(NamedTuple):
    """A term in a text; `term` is its index in the keywords followed by the entities."""

    term: int
    start: int
    end: int


class TermMatcher:
    """Finds the terms of a specification in texts."""

    def __init__(self, specification: CrawlSpecification) -> None:
        self._keywords = [
            (place, keyword)
            for place, keyword in enumerate(specification.all_keywords)
            if not has_unspaced(keyword.text)
        ]
        self._trees: dict[str, _KeywordTree] = {}
        self._entities = LetterMatcher(_patterns(specification))

    def matches(self, text: str, reading: TextReading, language: str) -> list[TermMatch]:
        """Return the terms in a text in order of position, at most MOST_MATCHES."""
        found = self._tree(language).find(reading)
        found += starmap(TermMatch, self._entities.matches(text))
        found.sort(key=_place)
        return found[:MOST_MATCHES]

    def _tree(self, language: str) -> "_KeywordTree":
        tree = self._trees.get(language)
        if tree is None:
            while len(self._trees) >= _MOST_LANGUAGES:
                del self._trees[next(iter(self._trees))]
            tree = self._trees[language] = _KeywordTree(self._keywords, language)
        return tree


def _place(match: TermMatch) -> int:
    return match.start


class _KeywordTree:
    """A tree of the keywords by their words, as lemmas of one language."""

    def __init__(self, keywords: Sequence[tuple[int, Keyword]], language: str) -> None:
        self._root: _Forms = {}
        for place, keyword in keywords:
            text = unicodedata.normalize("NFC", keyword.text[:_LONGEST_TERM])
            words = word_pattern(text).findall(text)
            forms: list[Callable[[str], str]] = [fold_text, lemmas_of(language).lemma_of]
            if keyword.language:
                forms.append(lemmas_of(keyword.language).lemma_of)
            for form in forms:
                self._add([form(word) for word in words], place)

    def _add(self, lemmas: list[str], place: int) -> None:
        if not lemmas:
            return
        node = self._root
        for lemma in lemmas:
            node = node.setdefault(lemma, {})
        node.setdefault("", place)

    def find(self, reading: TextReading) -> list[TermMatch]:
        """Return the keywords in a text, the longest at each position."""
        root, lemmas = self._root, reading.lemmas
        if root.keys().isdisjoint(lemmas):
            return []
        found = []
        free = 0
        for index in [index for index, lemma in enumerate(lemmas) if lemma in root]:
            if index < free:
                continue
            node, end, term = root, index, None
            while end < len(lemmas) and (following := node.get(lemmas[end])) is not None:
                node = following
                end += 1
                if "" in node:
                    term, free = node[""], end
            if term is not None:
                found.append(TermMatch(term, reading.span(index)[0], reading.span(free - 1)[1]))
                if len(found) >= MOST_MATCHES:
                    break
        return found


def _patterns(specification: CrawlSpecification) -> Iterator[tuple[str, int]]:
    """Yield the terms matched letter by letter: names, aliases, keywords in unspaced scripts."""
    for place, keyword in enumerate(specification.all_keywords):
        if has_unspaced(keyword.text):
            yield keyword.text, place
    first = len(specification.all_keywords)
    for place, entity in enumerate(specification.entities):
        for name in (entity.name, *entity.aliases):
            yield name, first + place


MOST_COUNTED = 2_000
"""Terms whose documents are counted, by highest weight; others get their mean rarity."""


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """The number of documents in an archive, and the document frequency of each term.

    `frequencies` is by the text of a keyword or the name of an entity.
    """

    documents: int = 0
    frequencies: Mapping[str, int] = field(default_factory=dict)

    def rarities(self, terms: Sequence[str]) -> list[float]:
        """Return the idf of each term divided by the mean of all, so that 1 is average."""
        known = {term: self._idf(self.frequencies[term]) for term in self.frequencies}
        mean = sum(known.values()) / len(known) if known else 1.0
        return [known.get(term, mean) / mean for term in terms]

    def _idf(self, frequency: int) -> float:
        return math.log((self.documents + 1) / (min(frequency, self.documents) + 1)) + 1


def term_statistics(engine: Engine, specification: CrawlSpecification) -> TermStatistics:
    """Return the document frequencies of the terms of a specification, found by searches.

    Only documents of the specification's collection are counted.
    """
    filters = {"collection": (specification.collection,)} if specification.collection else {}
    weights = {keyword.text: keyword.weight for keyword in specification.all_keywords}
    weights |= {entity.name: entity.weight for entity in specification.entities}
    counted = heapq.nlargest(MOST_COUNTED, weights, key=weights.__getitem__)
    trees: list[Node] = [All(), *(Phrase("", term) for term in counted)]
    every, *found = engine.totals([Question(tree, filters) for tree in trees])
    return TermStatistics(every, dict(zip(counted, found, strict=True)))


_OTHER_WORDS = 0.5
"""The rarity of words that are not terms, as a share of the terms' mean."""


_STUFFED_SHARE, _STUFFED_MATCHES = 0.3, 30
"""On real sites about a subject, at most 13 % of a page's words are terms."""


def is_stuffed(reading: TextReading, matches: Sequence[TermMatch]) -> bool:
    """Return whether a text consists mostly of terms, as in spam and link farms."""
    return len(matches) >= max(_STUFFED_MATCHES, _STUFFED_SHARE * len(reading.lemmas))


class DocumentScorer:
    """Scores texts by the cosine of tf-idf vectors over a specification's weighted terms.

    `strengths` are the weights of the terms times their rarity, divided by the mean of the positive
    ones.
    """

    def __init__(self, specification: CrawlSpecification, statistics: TermStatistics) -> None:
        terms = [keyword.text for keyword in specification.all_keywords]
        terms += [entity.name for entity in specification.entities]
        weights = [keyword.weight for keyword in specification.all_keywords]
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
        """Return the score of a text, in [0, 1]; 0 for a stuffed one."""
        if not matches or not self._length or is_stuffed(reading, matches):
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
    """Return the squared weights of words; `counts` maps each frequency to its word count."""
    return [number * (1 + math.log(count)) ** 2 for count, number in counts.items()]

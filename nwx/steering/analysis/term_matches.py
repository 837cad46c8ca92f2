"""The terms of a specification in a text: keywords by their lemmas, entities by their letters."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from typing import Any, NamedTuple

from nwx.steering.analysis.language.folded_text import fold_text
from nwx.steering.analysis.language.language_model import TextReading
from nwx.steering.analysis.language.lemmas import has_unspaced, lemmas_of, word_pattern
from nwx.steering.analysis.language.letter_matcher import MOST_MATCHES, LetterMatcher
from nwx.steering.specifications.specification import CrawlSpecification, Keyword

_LONGEST_TERM = 200  # characters
_MOST_LANGUAGES = 8  # whose forms of the keywords are kept

_Forms = dict[str, Any]


class TermMatch(NamedTuple):
    """A term in a text; `term` is its place in the keywords and then entities."""

    term: int
    start: int
    end: int


class TermMatcher:
    """All terms of a specification, ready to be found."""

    def __init__(self, specification: CrawlSpecification) -> None:
        self._keywords = [
            (place, keyword)
            for place, keyword in enumerate(specification.keywords)
            if not has_unspaced(keyword.text)
        ]
        self._trees: dict[str, _KeywordTree] = {}
        self._entities = LetterMatcher(_patterns(specification))

    def matches(self, text: str, reading: TextReading, language: str) -> list[TermMatch]:
        """Return the terms in a text, by their places; at most MOST_MATCHES."""
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
    """The keywords as the lemmas of a language, in a tree of words."""

    def __init__(self, keywords: Sequence[tuple[int, Keyword]], language: str) -> None:
        self._root: _Forms = {}
        for place, keyword in keywords:
            text = unicodedata.normalize("NFC", keyword.text[:_LONGEST_TERM])
            words = word_pattern(text).findall(text)
            forms: list[Callable[[str], str]] = [fold_text, lemmas_of(language).of]
            if keyword.language:
                forms.append(lemmas_of(keyword.language).of)
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
        """Return the keywords in a text, the longest at each place."""
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
    """Yield what is found by its letters: names and aliases, keywords without word boundaries."""
    for place, keyword in enumerate(specification.keywords):
        if has_unspaced(keyword.text):
            yield keyword.text, place
    first = len(specification.keywords)
    for place, entity in enumerate(specification.entities):
        for name in (entity.name, *entity.aliases):
            yield name, first + place

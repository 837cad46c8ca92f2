"""What reads the language of a text: its words, their lemmas, and the names in it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from nwx.steering.specifications.specification import EntityKind


class Name(NamedTuple):
    """A name in a text, found without the specification; `start` is its place in characters."""

    text: str
    kind: EntityKind
    start: int


class TextReading:
    """The words of a text: the lemma of each, folded, and where it is.

    `pieces` are the text cut into what is between words and words, in turn.
    `closed` are those lemmas that are no nouns, verbs, adjectives and the
    like, but articles, prepositions, pronouns.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        lemmas: Sequence[str],
        closed: frozenset[str] = frozenset(),
    ) -> None:
        self.lemmas = lemmas
        self.closed = closed
        self._pieces = pieces
        self._ends: list[int] = []

    def span(self, index: int) -> tuple[int, int]:
        """Return where a word begins and ends in the text, in characters."""
        if not self._ends:  # not asked for on most pages
            self._ends = list(accumulate(map(len, self._pieces)))
        return self._ends[2 * index], self._ends[2 * index + 1]


class LanguageModel(ABC):
    """What analysis needs to know of languages; one for all languages of a process."""

    @abstractmethod
    def read(self, text: str, language: str) -> TextReading:
        """Return the words of a text; `language` is ISO 639-1, "" where it is not known."""

    @abstractmethod
    def names(self, text: str, language: str) -> list[Name]:
        """Return the names of persons, organisations, places and events in a text, in order."""

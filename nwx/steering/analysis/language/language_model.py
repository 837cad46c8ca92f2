"""What reads the language of a text: its words, their lemmas, and the names in it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple


class NameKind(StrEnum):
    """What a name that was found without the specification stands for; a date is 2002-08-12."""

    PERSON = "person"
    ORGANISATION = "organisation"
    PLACE = "place"
    EVENT = "event"
    DATE = "date"
    OTHER = "other"


class Name(NamedTuple):
    """A name in a text, found without the specification; `start` is its place in characters."""

    text: str
    kind: NameKind
    start: int


class TextReading:
    """The words of a text: the lemma of each, folded, and where it is.

    `pieces` are the text cut into what is between words and words, in turn.
    `closed` are those lemmas that are no nouns, verbs, adjectives and the
    like, but articles, prepositions, pronouns. `names` are those that a
    model found on its way, None where it does not look for names.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        lemmas: Sequence[str],
        closed: frozenset[str] = frozenset(),
        names: Sequence[Name] | None = None,
    ) -> None:
        self.lemmas = lemmas
        self.closed = closed
        self.names = names
        self.pieces = pieces
        self._ends: list[int] = []

    def span(self, index: int) -> tuple[int, int]:
        """Return where a word begins and ends in the text, in characters."""
        if not self._ends:  # not asked for on most pages
            self._ends = list(accumulate(map(len, self.pieces)))
        return self._ends[2 * index], self._ends[2 * index + 1]


class LanguageModel(ABC):
    """What analysis needs to know of languages; one for all languages of a process."""

    @abstractmethod
    def read(self, text: str, language: str) -> TextReading:
        """Return the words of a text; `language` is ISO 639-1, "" where it is not known."""

    @abstractmethod
    def names(self, text: str, reading: TextReading, language: str) -> list[Name]:
        """Return the names and dates in a text that was read."""

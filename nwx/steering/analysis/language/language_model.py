"""What reads the language of a text: its words, their lemmas, and the names in it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nwx.steering.specifications.specification import EntityKind


class Name(NamedTuple):
    """A name in a text, found without the specification; `start` is its place in characters."""

    text: str
    kind: EntityKind
    start: int


@dataclass(frozen=True, slots=True)
class TextReading:
    """The words of a text: where each begins and ends in characters, and its lemma, folded.

    `closed` are those lemmas that are no nouns, verbs, adjectives and the
    like, but articles, prepositions, numbers.
    """

    spans: Sequence[tuple[int, int]]
    lemmas: Sequence[str]
    closed: frozenset[str] = frozenset()


class LanguageModel(ABC):
    """What analysis needs to know of languages; one for all languages of a process."""

    @abstractmethod
    def read(self, text: str, language: str) -> TextReading:
        """Return the words of a text; `language` is ISO 639-1, "" where it is not known."""

    @abstractmethod
    def names(self, text: str, language: str) -> list[Name]:
        """Return the names of persons, organisations, places and events in a text, in order."""

"""Terms of the index looked at one by one: those that no automaton finds, and those like a word."""

from collections.abc import Callable, Hashable

from nwx.engine.embedded.documents.analyzer import tokens
from nwx.engine.embedded.documents.searcher import DocumentSearcher
from nwx.engine.embedded.documents.tantivy_index import WORDS
from nwx.engine.work import current_work
from nwx.query.fields import DEFAULT_FIELDS
from nwx.query.words import most_edits, nearest_words

_CHECKED = 10_000
"""After so many terms the deadline is looked at."""

_MOST_COMPARED = 50_000


class Terms:
    """The terms of an index, as one question looks at them.

    Each list is made once: the terms of all default fields stand in one.
    """

    def __init__(self, searcher: DocumentSearcher) -> None:
        self._searcher = searcher
        self._found: dict[Hashable, list[str]] = {}

    def fitting(
        self, field: str, beginning: str, fits: Callable[[str], bool], key: Hashable
    ) -> list[str]:
        """Return terms that begin with a text and fit, those of `field` among them.

        `key` stands for the beginning and the condition. Raises QueryError
        where too many terms would have to be looked at.
        """
        field = WORDS if field in DEFAULT_FIELDS else field
        if (field, key) not in self._found:
            terms = self._beginning(field, beginning)
            self._found[field, key] = _fitting(terms, fits)
        return self._found[field, key]

    def _beginning(self, field: str, beginning: str) -> list[str]:
        work = current_work()
        most = work.terms_left() + 1
        found = self._searcher.terms_with_prefix(field, beginning, limit=most)
        work.visit_terms(len(found))
        return [term for term, _ in found]


def _fitting(terms: list[str], fits: Callable[[str], bool]) -> list[str]:
    work = current_work()
    found: list[str] = []
    for start in range(0, len(terms), _CHECKED):
        work.check()
        found += filter(fits, terms[start : start + _CHECKED])
    return found


def similar_words(searcher: DocumentSearcher, word: str, most: int) -> list[str]:
    """Return words like another, as `Engine.similar_words` does.

    Of those with the same first letter the most frequent 50,000 are compared.
    """
    found = tokens(word)
    if len(found) != 1 or not most_edits(found[0]):
        return []
    current_work().check()
    terms = searcher.terms_with_prefix(WORDS, found[0][0], limit=_MOST_COMPARED)
    return nearest_words(found[0], terms, most)

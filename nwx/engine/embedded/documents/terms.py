"""Terms and texts examined one by one, for conditions tantivy queries cannot express."""

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

from tantivy import Occur, Query

from nwx.engine.analyzer import tokens
from nwx.engine.embedded.documents.tantivy_index import (
    VALUES_APART,
    WORDS,
    DocumentSearcher,
    schema,
)
from nwx.engine.work import current_work
from nwx.query.fields import DEFAULT_FIELDS
from nwx.query.words import most_edits, nearest_words, stand_near

_CHECKED = 10_000
"""After so many terms the deadline is looked at."""

_MOST_COMPARED = 50_000


class Terms:
    """The terms of an index, as used by one question.

    Each list is built once: the terms of all default fields are in one list.
    """

    def __init__(self, searcher: DocumentSearcher) -> None:
        self._searcher = searcher
        self._found: dict[Hashable, list[str]] = {}

    def fitting(
        self, field: str, beginning: str, fits: Callable[[str], bool], key: Hashable
    ) -> list[str]:
        """Return terms that begin with a text and fit, including all terms of `field` that do.

        `key` identifies the beginning and the condition. Raises QueryError if too many terms would
        have to be examined.
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

    Compares the 50,000 most frequent words with the same first letter.
    """
    found = tokens(word)
    if len(found) != 1 or not most_edits(found[0]):
        return []
    current_work().check()
    terms = searcher.terms_with_prefix(WORDS, found[0][0], limit=_MOST_COMPARED)
    return nearest_words(found[0], terms, most)


def is_plain(words: Sequence[str], slop: int) -> bool:
    """Return whether tantivy interprets the phrase as Lucene does."""
    return not slop or (len(words) == 2 and words[0] != words[1])


def near_candidates(field: str, words: Sequence[str], slop: int) -> Query:
    """Return the query of documents that may have the words near each other, well scored."""
    parts = [Query.term_query(schema(), field, word) for word in dict.fromkeys(words)]
    pairs = pairwise(words)
    parts += [
        Query.const_score_query(Query.phrase_query(schema(), field, [one, other], slop), 0.0)
        for one, other in pairs
        if one != other
    ]
    return Query.boolean_query([(Occur.Must, part) for part in parts])


def are_near(words: Sequence[str], texts: Sequence[str], slop: int) -> bool:
    """Return whether words are in a field of these texts, moved by at most `slop` in all."""
    places: dict[str, list[int]] = {word: [] for word in words}
    position = 0
    for text in texts:
        found = tokens(text)
        for place, token in enumerate(found, position):
            if token in places:
                places[token].append(place)
        position += len(found) + VALUES_APART
    return stand_near(words, places, slop)

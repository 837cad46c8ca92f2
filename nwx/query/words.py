"""Words near each other, and words spelled like another."""

import unicodedata
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Word = TypeVar("Word", bound=Hashable)


def stand_near(words: Sequence[Word], places: Mapping[Word, Sequence[int]], slop: int) -> bool:
    """Tell whether words have places of their own, each moved from its own in the phrase.

    All moves must lie within `slop` of each other.
    """
    moves = {place - n for n, word in enumerate(words) for place in places[word]}
    return any(_fit(words, places, least, slop) for least in sorted(moves))


def _fit(
    words: Sequence[Word], places: Mapping[Word, Sequence[int]], least: int, slop: int
) -> bool:
    """Tell whether all words can be moved by `least` to `least + slop`.

    Equal words take their places from left to right: where that does not
    do, nothing does.
    """
    taken: dict[Word, int] = {}
    for n, word in enumerate(words):
        of_word = places[word]
        place = bisect_left(of_word, max(least + n, taken.get(word, -1) + 1))
        if place == len(of_word) or of_word[place] > least + n + slop:
            return False
        taken[word] = of_word[place]
    return True


LEAST_LETTERS = 4
"""Shorter words are like too many others."""

_TWO_EDITS = 6


def folded_word(word: str) -> str:
    """Return a word without case and accents."""
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(one for one in parts if not unicodedata.combining(one))


def most_edits(word: str) -> int:
    """Return how many edits away words are still like a word; 0 where it is too short."""
    if len(word) < LEAST_LETTERS:
        return 0
    return 2 if len(word) >= _TWO_EDITS else 1


def edits_between(word: str, other: str) -> int:
    """Return how many edits turn a word into another, a swap of neighbours being one."""
    # Imported here: only few queries need it.
    from rapidfuzz.distance import OSA

    return int(OSA.distance(word, other))


def nearest_words(word: str, found: Iterable[tuple[str, int]], most: int) -> list[str]:
    """Return those of words that are like another: the fewest edits away, then the most frequent.

    `found` gives words with the number of their documents; all are in the
    form in which words are compared. A swap of neighbours is one edit.
    """
    # Imported here: only a query with few results needs it.
    from rapidfuzz.distance import OSA

    edits = most_edits(word)
    if not edits:
        return []
    near: dict[str, tuple[int, int]] = {}
    for other, documents in found:
        distance = OSA.distance(word, other, score_cutoff=edits)
        if 0 < distance <= edits and documents:
            known = near.get(other, (distance, 0))
            near[other] = distance, min(known[1], -documents)
    return sorted(near, key=lambda other: (*near[other], other))[:most]

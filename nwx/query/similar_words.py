"""Which words are spelled like another."""

import unicodedata
from collections.abc import Iterable

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

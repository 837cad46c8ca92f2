"""Words near each other, words spelled like another, and words that follow a pattern."""

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

Word = TypeVar("Word", bound=Hashable)


def stand_near(words: Sequence[Word], places: Mapping[Word, Sequence[int]], slop: int) -> bool:
    """Return whether words match as a phrase: each has its own position, within `slop`.

    A position may be offset from the one in the phrase; all offsets must be within `slop` of each
    other.
    """
    moves = {place - n for n, word in enumerate(words) for place in places[word]}
    return any(_fit(words, places, least, slop) for least in sorted(moves))


def _fit(
    words: Sequence[Word], places: Mapping[Word, Sequence[int]], least: int, slop: int
) -> bool:
    """Return whether all words fit with offsets from `least` to `least + slop`.

    Equal words take their positions from left to right: if that fails, every other assignment
    fails.
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
    """Return similar words: the fewest edits first, then the most frequent.

    `found` has words with their number of documents; all words are in the folded form. Swapping
    neighbouring letters is one edit.
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


_PATTERN_PIECE = re.compile(r"\\.|[*?]|[^\\*?]+|\\", re.DOTALL)


def pattern_pieces(pattern: str, fold: Callable[[str], str] = str) -> Iterator[str]:
    """Give the parts of a wildcard pattern: `*`, `?`, and literal text, folded, after an `=`."""
    plain = ""
    for piece in _PATTERN_PIECE.findall(pattern):
        if piece in ("*", "?"):
            if plain:
                yield "=" + fold(plain)
            plain = ""
            yield piece
        else:
            plain += piece[1:] if piece[0] == "\\" and len(piece) == 2 else piece
    if plain:
        yield "=" + fold(plain)


def matcher(*patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that reports whether a text matches one of these patterns.

    Its time is linear in the length of the text.
    """
    # Imported here: few queries have patterns that tantivy cannot take.
    import re2

    options = re2.Options()
    options.dot_nl = True
    options.never_capture = True
    fullmatch = re2.compile("|".join(map(_plain_expression, patterns)), options).fullmatch
    return lambda text: fullmatch(text) is not None


def _plain_expression(pieces: Iterable[str]) -> str:
    import re2

    wild = {"*": ".*", "?": "."}
    return "".join(wild.get(one) or re2.escape(one[1:]) for one in pieces)


def likeness(wanted: str, distance: int) -> Callable[[str], bool]:
    """Return a function that reports whether a word is within `distance` edits of `wanted`.

    Swapping neighbouring letters is one edit, as in the index.
    """
    # Imported here: only misspelt words (`~`) need it.
    from rapidfuzz.distance import OSA

    def is_like(word: str) -> bool:
        return OSA.distance(word, wanted, score_cutoff=distance) <= distance

    return is_like

"""Words near each other, as Lucene understands it: by the places where they stand."""

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
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

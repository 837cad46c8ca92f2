"""Words near each other, as Lucene understands it.

tantivy gives each pair of words the whole slop, and takes one place for two
equal words. So it only tells which documents may be meant, and their texts
are looked at here.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tantivy import Occur, Query

from nwx.engine.embedded.documents.analyzer import tokens
from nwx.engine.embedded.documents.tantivy_index import VALUES_APART, schema


def is_plain(words: Sequence[str], slop: int) -> bool:
    """Tell whether tantivy understands the phrase as Lucene does."""
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
    """Tell whether words stand in a field of these texts, moved by no more than `slop` in all."""
    places: dict[str, list[int]] = {word: [] for word in words}
    position = 0
    for text in texts:
        found = tokens(text)
        for place, token in enumerate(found, position):
            if token in places:
                places[token].append(place)
        position += len(found) + VALUES_APART
    return stand_near(words, places, slop)


def stand_near(words: Sequence[str], places: Mapping[str, Sequence[int]], slop: int) -> bool:
    """Tell whether words have places of their own, each moved from its own in the phrase.

    All moves must lie within `slop` of each other.
    """
    moves = {place - n for n, word in enumerate(words) for place in places[word]}
    return any(_fit(words, places, least, slop) for least in sorted(moves))


def _fit(words: Sequence[str], places: Mapping[str, Sequence[int]], least: int, slop: int) -> bool:
    """Tell whether all words can be moved by `least` to `least + slop`.

    Equal words take their places from left to right: where that does not
    do, nothing does.
    """
    taken: dict[str, int] = {}
    for n, word in enumerate(words):
        of_word = places[word]
        place = bisect_left(of_word, max(least + n, taken.get(word, -1) + 1))
        if place == len(of_word) or of_word[place] > least + n + slop:
            return False
        taken[word] = of_word[place]
    return True

"""Words near each other, as Lucene understands it.

tantivy gives each pair of words the whole slop, and takes one place for two
equal words. So it only tells which documents may be meant, and their texts
are looked at here.
"""

from collections.abc import Sequence
from itertools import pairwise

from tantivy import Occur, Query

from nwx.engine.embedded.documents.analyzer import tokens
from nwx.engine.embedded.documents.tantivy_index import VALUES_APART, schema
from nwx.query.words import stand_near


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

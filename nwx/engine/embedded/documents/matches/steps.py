"""Steps to the best documents of a query, so that not all of them have to be scored.

A word of a query may stand in several fields, and its score is that of its
best field. So the score of a document is the highest of what it gets with
one field chosen for each word. Each choice is a query by itself; those that
may give the highest scores are asked first, and the rest is left out once
they cannot give more than what was found. The score of a word is below
`idf * (k1 + 1)` (BM25, as in tantivy's `bm25.rs`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tantivy import Query

from nwx.engine.embedded.documents.analyzer import tokens
from nwx.engine.embedded.documents.compile import all_of, boosted
from nwx.engine.embedded.documents.searcher import DocumentSearcher
from nwx.engine.embedded.documents.tantivy_index import DOCUMENT_FIELDS, schema
from nwx.query.fields import DEFAULT_FIELDS
from nwx.query.tree import Bool, Node, Phrase, Term

_K1 = 1.2
_MARGIN = 1.0001
"""tantivy computes with 32 bits."""

_TEXT = "content"
_MOST_STEPS = 64
_WORTH_A_STEP = 50
"""A step takes about as long as scoring so many documents."""


@dataclass(frozen=True, slots=True)
class Step:
    """A query, whose scores are those of the whole query or below.

    What no step so far gives a document is a score above `bound`: there is
    a step that gives it its whole score.
    """

    query: Query
    bound: float


@dataclass(frozen=True, slots=True)
class _Choice:
    """A word in one of its fields, and the most that it gives there."""

    query: Query
    most: float


def steps(
    node: Node, filters: Sequence[Query], searcher: DocumentSearcher, total: int
) -> Iterator[Step]:
    """Give the steps to the best of `total` documents of words that must all be found.

    There are none of other trees, nor where all documents are scored sooner.
    """
    words = _words(node)
    if words is None:
        return
    choices = [_choices(word, searcher) for word in words]
    if not 0 < math.prod(map(len, choices)) <= min(_MOST_STEPS, total // _WORTH_A_STEP):
        return
    every = sorted(product(*choices), key=lambda one: -sum(choice.most for choice in one))
    for place, chosen in enumerate(every):
        query = all_of([*(choice.query for choice in chosen), *filters])
        following = every[place + 1] if place + 1 < len(every) else ()
        yield Step(query, sum(choice.most for choice in following))


def _words(node: Node) -> list[str] | None:
    """Return the words of a tree, None where it is not made of words that must all be found."""
    if isinstance(node, Bool):
        if node.should or node.must_not or not node.must:
            return None
        parts = [_words(part) for part in node.must]
        known = [part for part in parts if part is not None]
        return [word for part in known for word in part] if len(known) == len(parts) else None
    if isinstance(node, Term | Phrase) and not node.field:
        found = tokens(node.text)
        return found if len(found) == 1 else None
    return None


def _choices(word: str, searcher: DocumentSearcher) -> list[_Choice]:
    return [
        _Choice(query, _most(searcher, field, word, query))
        for field, weight in DEFAULT_FIELDS.items()
        if searcher.doc_freq(field, word)
        for query in [boosted(Query.term_query(schema(), field, word), weight)]
    ]


def _most(searcher: DocumentSearcher, field: str, word: str, query: Query) -> float:
    """Return the most that a word gives in a field: looked up, or computed where that is long."""
    if field != _TEXT:
        best = searcher.search(query, 1, count=False).hits
        return best[0][0] if best else 0.0
    # All documents have an id; deleted ones count until tantivy merges their segments.
    every, having = searcher.doc_freq(DOCUMENT_FIELDS, "id"), searcher.doc_freq(field, word)
    rare = (every - having + 0.5) / (having + 0.5)
    return math.log(1 + rare) * (_K1 + 1) * DEFAULT_FIELDS[field] * _MARGIN

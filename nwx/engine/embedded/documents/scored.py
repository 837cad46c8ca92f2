"""All documents of a query with their scores, read at once if they are few."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tantivy import DocAddress, Occur, Query

from nwx.data_classes import dataclass
from nwx.engine.analyzer import query_tokens
from nwx.engine.document_index import current_work
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import Bools
from nwx.engine.embedded.documents.compile import all_of
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.tantivy_index import WORDS, DocumentSearcher
from nwx.query.tree import Bool, Boost, Node, Phrase, Term

MOST_SCORED = 500
"""The most documents that are scored by the search that finds them."""

_MANY = 2**31


@dataclass(frozen=True, slots=True)
class ScoredDocuments:
    """Documents by number, ascending, with their scores and addresses in tantivy."""

    nums: Ints
    scores: npt.NDArray[np.float64]
    addresses: Sequence[DocAddress]

    def among(self, asked: Ints) -> dict[int, float]:
        """Return the scores of the documents in `asked` that are included."""
        here = asked[are_among(asked, self.nums)]
        scores = self.scores[np.searchsorted(self.nums, here)]
        return dict(zip(here.tolist(), scores.tolist(), strict=True))


def are_among(nums: Ints, others: Ints) -> Bools:
    """Return for each number whether it is among `others`, which must be sorted."""
    if not len(others):
        return np.zeros(len(nums), dtype=bool)
    places = np.minimum(np.searchsorted(others, nums), len(others) - 1)
    found: Bools = others[places] == nums
    return found


def read_scores(searcher: DocumentSearcher, query: Query, most: int) -> ScoredDocuments:
    """Return all documents of a query; there must be at most `most`."""
    current_work().check()
    hits = searcher.search(query, most, count=False).hits if most else []
    nums = np.array(tantivy_index.nums_of(searcher, [one for _, one in hits]), dtype=np.int64)
    order = np.argsort(nums)
    scores = np.array([score for score, _ in hits], dtype=np.float64)[order]
    return ScoredDocuments(nums[order], scores, [hits[n][1] for n in order.tolist()])


def most_found(node: Node, searcher: DocumentSearcher) -> int:
    """Return an upper bound of the documents of a tree of words, _MANY for other trees."""
    match node:
        case Boost():
            return most_found(node.node, searcher)
        case Bool(must=must) if must:
            return min(most_found(part, searcher) for part in must)
        case Bool(should=should) if should:
            # Of any n - least + 1 words, even the rarest, a document has at least one.
            counts = sorted(most_found(part, searcher) for part in should)
            return sum(counts[: len(counts) - node.least + 1])
        case Term(field="") | Phrase(field=""):
            words = query_tokens(node.text)
            return min((searcher.doc_freq(WORDS, one) for one in words), default=0)
    return _MANY


def query_among(query: Query, nums: Sequence[int]) -> Query:
    """Return a query restricted to these documents."""
    return all_of([query, Query.const_score_query(tantivy_index.nums_query(nums), 0.0)])


def scored_among(query: Query, nums: Sequence[int]) -> Query:
    """Return the query for all these documents, scored if `query` finds them."""
    inside = Query.const_score_query(tantivy_index.nums_query(nums), 0.0)
    return Query.boolean_query([(Occur.Must, inside), (Occur.Should, query)])

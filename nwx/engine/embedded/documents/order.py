"""The first documents of a result in order, one per group; all with scores if they are few."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
from tantivy import DocAddress, Occur, Query

from nwx.data_classes import dataclass
from nwx.engine.analyzer import query_tokens
from nwx.engine.document_index import current_work
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import Bools, DocumentColumns
from nwx.engine.embedded.documents.compile import all_of, boosted
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.tantivy_index import (
    DOCUMENT_FIELDS,
    WORDS,
    DocumentSearcher,
    schema,
)
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.model import Sort
from nwx.query.tree import Bool, Boost, Node, Phrase, Term

MOST_SCORED = 500
"""The most documents that are scored by the search that finds them."""

_MANY = 2**31
_K1 = 1.2
_MARGIN = 1.0001
"""A margin for rounding, as tantivy computes scores with 32 bits."""

_TEXT = "content"
_MOST_STEPS = 64
_WORTH_A_STEP = 50
"""The number of documents whose scoring takes about as long as a step."""

_FIRST_TRY = 32
_FURTHER = 6


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


@dataclass(frozen=True, slots=True)
class Step:
    """A query that gives at most the scores of the whole query.

    A document not found by any step so far scores at most `bound`; for each document found, one
    step gives its full score.
    """

    query: Query
    bound: float


@dataclass(frozen=True, slots=True)
class _Choice:
    """A word in one field, and its highest score there."""

    query: Query
    most: float


def steps(
    node: Node,
    filters: Sequence[Query],
    searcher: DocumentSearcher,
    total: int,
    weights: Mapping[str, float],
    first: Query | None = None,
) -> Iterator[Step]:
    """Yield the steps to the best of `total` documents, for words that must all match.

    Yields nothing for other trees, or if scoring all documents is faster. `first` finds all
    documents that score more than their words.
    """
    words = _words(node)
    if words is None or total < _WORTH_A_STEP:
        return
    choices = [_choices(word, searcher, weights) for word in words]
    if not 0 < math.prod(map(len, choices)) <= min(_MOST_STEPS, total // _WORTH_A_STEP):
        return
    every = sorted(product(*choices), key=lambda one: -sum(choice.most for choice in one))
    if first is not None:
        yield Step(first, sum(choice.most for choice in every[0]))
    for place, chosen in enumerate(every):
        query = all_of([*(choice.query for choice in chosen), *filters])
        following = every[place + 1] if place + 1 < len(every) else ()
        yield Step(query, sum(choice.most for choice in following))


def _words(node: Node) -> list[str] | None:
    """Return the words of a tree, None unless it consists of words that must all match."""
    if isinstance(node, Bool):
        if node.should or node.must_not or not node.must:
            return None
        parts = [_words(part) for part in node.must]
        known = [part for part in parts if part is not None]
        return [word for part in known for word in part] if len(known) == len(parts) else None
    if isinstance(node, Term | Phrase) and not node.field:
        found = list(query_tokens(node.text))
        return found if len(found) == 1 else None
    return None


def _choices(word: str, searcher: DocumentSearcher, weights: Mapping[str, float]) -> list[_Choice]:
    return [
        _Choice(query, _most(searcher, field, word, query, weight))
        for field, weight in weights.items()
        if searcher.doc_freq(field, word)
        for query in [boosted(Query.term_query(schema(), field, word), weight)]
    ]


def _most(searcher: DocumentSearcher, field: str, word: str, query: Query, weight: float) -> float:
    """Return the highest score of a word in a field: looked up, or an upper bound for content."""
    if field != _TEXT:
        best = searcher.search(query, 1, count=False).hits
        return best[0][0] if best else 0.0
    # All documents have an id; deleted ones count until tantivy merges their segments.
    every, having = searcher.doc_freq(DOCUMENT_FIELDS, "id"), searcher.doc_freq(field, word)
    rare = (every - having + 0.5) / (having + 0.5)
    return math.log(1 + rare) * (_K1 + 1) * weight * _MARGIN


@dataclass(frozen=True, slots=True)
class OrderedHits:
    """A document in the order of a result, with its address in tantivy, if known."""

    num: int
    score: float
    address: DocAddress | None = None


def by_date(
    columns: DocumentColumns, nums: Ints, groups: Ints | None, wanted: int, sort: Sort
) -> list[OrderedHits]:
    """Return the first hits by date, ties by id; newest first unless `sort` is OLDEST."""
    dates = columns.oldest[nums] if sort is Sort.OLDEST else -columns.newest[nums]
    size = max(_FIRST_TRY, 2 * wanted)
    while True:
        few = size < len(nums)
        # All ties with the last one are included, as their ids decide.
        near = dates <= np.partition(dates, size)[size] if few else np.ones(len(nums), dtype=bool)
        chosen = nums[near]
        chosen = chosen[np.lexsort((columns.id_start[chosen], dates[near]))]
        listed = firsts((OrderedHits(num, 1.0) for num in chosen.tolist()), groups, wanted)
        if len(listed) >= wanted or not few:
            return listed
        size *= _FURTHER


def by_score(
    view: ArchiveView,
    query: Query,
    steps: Sequence[Step],
    allowed: Bools | None,
    groups: Ints | None,
    wanted: int,
) -> list[OrderedHits]:
    """Return the first hits by score; ties newest first, then by id.

    `allowed` marks the documents that count, None if all do that `query` finds. `steps` may find
    the best of them sooner.
    """
    candidates = _Candidates(view, allowed, groups, wanted)
    for step in steps or (Step(query, 0.0),):
        if candidates.are_enough_with(step):
            break
    return candidates.first()


@dataclass(slots=True)
class _Asked:
    """The best documents of a query, ordered by score; more may exist."""

    query: Query
    size: int
    scores: npt.NDArray[np.float64]
    addresses: list[DocAddress]

    @property
    def last(self) -> float:
        """The highest possible score of documents not returned, below 0 if none remain."""
        return float(self.scores[-1]) if len(self.scores) == self.size else -1.0

    def count_above(self, least: float) -> int:
        """Return how many score more than `least`."""
        return len(self.scores) - int(np.searchsorted(self.scores[::-1], least, side="right"))


class _Candidates:
    """The best documents found by the steps so far."""

    def __init__(
        self, view: ArchiveView, allowed: Bools | None, groups: Ints | None, wanted: int
    ) -> None:
        self._view = view
        self._allowed = allowed
        self._groups = groups
        self._wanted = wanted
        self._asked: list[_Asked] = []
        self._least = -1.0

    def are_enough_with(self, step: Step) -> bool:
        """Add the results of a step; return whether the first documents are now known."""
        self._asked.append(self._ask(step.query, max(_FIRST_TRY, 2 * self._wanted)))
        bound = step.bound or -1.0
        while True:
            place = max(range(len(self._asked)), key=lambda one: self._asked[one].last)
            cut = self._asked[place]
            self._least = max(bound, cut.last)
            if self._least < 0:
                return True  # every document is known
            sure = sum(one.count_above(self._least) for one in self._asked)
            if sure >= self._wanted and len(self.first()) >= self._wanted:
                return True
            if cut.last <= bound:
                return False
            self._asked[place] = self._ask(cut.query, cut.size * _FURTHER)

    def _ask(self, query: Query, size: int) -> _Asked:
        current_work().check()
        hits = self._view.searcher.search(query, size, count=False).hits
        scores = np.array([score for score, _ in hits], dtype=np.float64)
        return _Asked(query, size, scores, [address for _, address in hits])

    def first(self) -> list[OrderedHits]:
        """Return the first hits in order, as far as no unread document can score higher."""
        above = [one.count_above(self._least) for one in self._asked]
        pairs = list(zip(self._asked, above, strict=True))
        scores = np.concatenate([one.scores[:count] for one, count in pairs])
        addresses = [address for one, count in pairs for address in one.addresses[:count]]
        nums: Ints = np.array(tantivy_index.nums_of(self._view.searcher, addresses), dtype=np.int64)
        chosen = np.arange(len(nums))
        if self._allowed is not None:
            chosen = chosen[nums < len(self._allowed)]
            chosen = chosen[self._allowed[nums[chosen]]]
        # A document found by several steps is one hit, with its best score.
        hits = scores, nums, addresses
        return best_chosen(self._view.columns, hits, chosen, self._groups, self._wanted)


def best_chosen(
    columns: DocumentColumns,
    hits: tuple[npt.NDArray[np.float64], Ints, Sequence[DocAddress]],
    chosen: Ints,
    groups: Ints | None,
    wanted: int,
) -> list[OrderedHits]:
    """Return the first of the chosen hits: best first, ties newest first, then by id."""
    scores, nums, addresses = hits
    of_chosen = nums[chosen]
    keys = (columns.id_start[of_chosen], -columns.newest[of_chosen], -scores[chosen])
    order = chosen[np.lexsort(keys)].tolist()
    listed = (OrderedHits(int(nums[n]), float(scores[n]), addresses[n]) for n in order)
    return firsts(listed, groups, wanted)


def firsts(ordered: Iterable[OrderedHits], groups: Ints | None, wanted: int) -> list[OrderedHits]:
    """Return the first hit of each group, up to `wanted`."""
    found: dict[int, OrderedHits] = {}
    for one in ordered:
        found.setdefault(one.num if groups is None else int(groups[one.num]), one)
        if len(found) == wanted:
            break
    return list(found.values())

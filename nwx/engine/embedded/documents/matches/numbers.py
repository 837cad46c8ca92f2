"""The numbers of all documents that a query of tantivy finds.

tantivy gives the documents of a query one by one, or aggregations of all of
them. A large result is read from sums: the number of each document is one
bit of one slot, and no bit is added twice.
"""

from operator import itemgetter

import numpy as np
import numpy.typing as npt
from tantivy import FieldType, Order, Query, SearchResult

from nwx.engine.embedded.documents.compile import all_of
from nwx.engine.embedded.documents.searcher import DocumentSearcher
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.tantivy_index import BIT, BITS, NUM, SLOT, schema
from nwx.engine.work import current_work

_MOST_LISTED = 262_144
_SLOT_COST = 8
"""Reading the sum of a slot takes as long as reading so many documents one by one."""

_MOST_SLOTS = 60_000
"""tantivy refuses aggregations of more than 65,000 buckets."""


def listed_numbers(searcher: DocumentSearcher, query: Query, most: int) -> tuple[int, Ints]:
    """Return how many documents a query finds, and the first `most` of their numbers, in order."""
    current_work().check()
    found = searcher.search(query, most, order_by_field=NUM, order=Order.Asc)
    total: int = found.count  # type: ignore[attr-defined]  # missing in its stub
    return total, _numbers(found)


def all_numbers(searcher: DocumentSearcher, query: Query, total: int, size: int) -> Ints:
    """Return the numbers, all below `size`, of all `total` documents of a query, in order."""
    slots = size // BITS + 1
    if total <= min(_SLOT_COST * slots, _MOST_LISTED):
        return listed_numbers(searcher, query, max(total, 1))[1]
    there = np.zeros((slots, BITS), dtype=bool)
    for first in range(0, slots, _MOST_SLOTS):
        whole = slots <= _MOST_SLOTS and searcher.num_docs <= size
        part = query if whole else _within(query, first)
        _read_sums(searcher, part, there)
    return np.flatnonzero(there)


def _within(query: Query, first: int) -> Query:
    """Return the query of the documents in the slots from `first` on that fit one request."""
    low, high = first * BITS, (first + _MOST_SLOTS) * BITS - 1
    span = Query.range_query(schema(), NUM, FieldType.Unsigned, low, high)
    return all_of([query, Query.const_score_query(span, 0.0)])


def _read_sums(searcher: DocumentSearcher, query: Query, there: npt.NDArray[np.bool_]) -> None:
    current_work().check()
    terms = {"field": SLOT, "size": _MOST_SLOTS}
    asked = {"slots": {"terms": terms, "aggs": {"bits": {"sum": {"field": BIT}}}}}
    slots = searcher.aggregate(query, asked)["slots"]["buckets"]
    keys = np.array([slot["key"] for slot in slots], dtype=np.int64)
    sums = np.array([slot["bits"]["value"] for slot in slots]).astype("<u8")
    bits = np.unpackbits(sums.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    inside = keys < len(there)
    there[keys[inside]] = bits[inside, :BITS]


def _numbers(found: SearchResult) -> Ints:
    return np.fromiter(map(itemgetter(0), found.hits), dtype=np.int64)

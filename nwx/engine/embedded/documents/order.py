"""The first documents of a result, in order, one of each group."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tantivy import DocAddress, Query

from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import Bools, DocumentColumns
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.work import current_work
from nwx.model import Sort

_FIRST_TRY = 64
_FURTHER = 6


@dataclass(frozen=True, slots=True)
class OrderedHits:
    """A document at its place in the order of a result, and where tantivy has it, if known."""

    num: int
    score: float
    address: DocAddress | None = None


def by_date(
    columns: DocumentColumns, nums: Ints, groups: Ints | None, wanted: int, sort: Sort
) -> list[OrderedHits]:
    """Return the first by date, equal dates by id; newest first unless `sort` is oldest."""
    dates = columns.oldest[nums] if sort is Sort.OLDEST else -columns.newest[nums]
    size = max(_FIRST_TRY, 2 * wanted)
    while True:
        few = size < len(nums)
        # All that are as old as the last one come along, to be told apart by id.
        near = dates <= np.partition(dates, size)[size] if few else np.ones(len(nums), dtype=bool)
        chosen = nums[near]
        chosen = chosen[np.lexsort((columns.id_start[chosen], dates[near]))]
        listed = _firsts((OrderedHits(num, 1.0) for num in chosen.tolist()), groups, wanted)
        if len(listed) >= wanted or not few:
            return listed
        size *= _FURTHER


def by_score(
    view: ArchiveView, query: Query, allowed: Bools | None, groups: Ints | None, wanted: int
) -> list[OrderedHits]:
    """Return the first by score, equal scores newest first, then by id.

    `allowed` tells which documents count, where not all that `query` finds do.
    """
    size = max(_FIRST_TRY, 2 * wanted)
    while True:
        current_work().check()
        hits = view.searcher.search(query, size, count=False).hits
        last = hits[-1][0] if len(hits) == size else -1.0
        found = tantivy_index.nums_of(view.searcher, [address for _, address in hits])
        scores = np.array([score for score, _ in hits])
        nums: Ints = np.array(found, dtype=np.int64)
        # What scores as the last one may have equals that were not given.
        sure: npt.NDArray[np.bool_] = scores > last
        if allowed is not None:
            inside = nums < len(allowed)
            sure &= inside
            sure[inside] &= allowed[nums[inside]]
        order = _order(view.columns, nums, scores, np.flatnonzero(sure))
        ordered = (OrderedHits(found[n], *hits[n]) for n in order.tolist())
        listed = _firsts(ordered, groups, wanted)
        if len(listed) >= wanted or last < 0:
            return listed
        size *= _FURTHER


def _order(
    columns: DocumentColumns, nums: Ints, scores: npt.NDArray[np.float64], chosen: Ints
) -> Ints:
    """Return the chosen places in order: best first, equal ones newest first, then by id."""
    of_chosen = nums[chosen]
    keys = (columns.id_start[of_chosen], -columns.newest[of_chosen], -scores[chosen])
    return chosen[np.lexsort(keys)]


def _firsts(ordered: Iterable[OrderedHits], groups: Ints | None, wanted: int) -> list[OrderedHits]:
    """Return the first of each group, up to `wanted`."""
    found: dict[int, OrderedHits] = {}
    for one in ordered:
        found.setdefault(one.num if groups is None else int(groups[one.num]), one)
        if len(found) == wanted:
            break
    return list(found.values())

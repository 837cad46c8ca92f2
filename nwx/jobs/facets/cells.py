"""What executors do to count combinations: captures, documents and URLs by cell.

A cell is a combination of a grouping; its number has the code of each
criterion in bits of its own (`CellLayout`), and zeros in those of criteria
that the grouping does not name. So the cells of all groupings are those of
the finest one with bits masked. All functions take and give batches of
signed numbers; what they give of the same cell is to be added.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
import pyarrow as pa

from nwx.bulk.arrays import Array
from nwx.facets.codes import check_bits
from nwx.facets.counts import sums
from nwx.facets.criteria import CUBE, Criterion

_Batches = Iterator[pa.RecordBatch]

CRITERIA = (Criterion.STATUS, *CUBE)
"""The criteria that a cell has codes of."""

GROUPINGS = tuple(some for size in range(len(CUBE) + 1) for some in combinations(CUBE, size))
"""The criteria of each grouping but the status, which all have; its place is its number."""

_LONG = pa.int64()
COUNT_SCHEMA = pa.schema(
    [("grouping", _LONG), ("cell", _LONG), ("captures", _LONG), ("bytes", _LONG)]
)
"""Captures and their bytes of a cell, or different documents or URLs and theirs."""

_SHARED_COLUMNS = ("first", "second", "cell", "size_bytes")


@dataclass(frozen=True, slots=True)
class CellLayout:
    """How the codes of criteria lie in the numbers of cells: the lowest bit and mask of each."""

    places: Mapping[Criterion, tuple[int, int]]

    @classmethod
    def of_sizes(cls, sizes: Mapping[Criterion, int]) -> Self:
        """Return the layout for so many codes of each criterion.

        Raises EngineError where the codes do not fit into 63 bits.
        """
        places, bit = {}, 0
        for name in CRITERIA:
            bits = max(1, (sizes[name] - 1).bit_length())
            places[name] = bit, ((1 << bits) - 1) << bit
            bit += bits
        check_bits(bit)
        return cls(places)

    def cells(self, codes: Mapping[Criterion, Array]) -> Array:
        """Return the numbers (int64) of the finest cells of captures."""
        found: Array = np.zeros(len(codes[Criterion.STATUS]), np.int64)
        for name, (bit, _) in self.places.items():
            found |= codes[name].astype(np.int64) << bit
        return found

    def codes(self, cells: Array, criterion: Criterion) -> Array:
        """Return the codes of a criterion in the numbers of cells."""
        bit, mask = self.places[criterion]
        return (cells & mask) >> bit

    def mask(self, grouping: int) -> int:
        """Return the bits of the cells of a grouping."""
        named = (Criterion.STATUS, *GROUPINGS[grouping])
        return sum(self.places[name][1] for name in named)


Frequent = Sequence[Array]
"""The cells of each grouping that are counted, in order (int64)."""


def projected_counts(batches: Iterable[pa.RecordBatch], layout: CellLayout) -> _Batches:
    """Give the captures and bytes of the cells of all groupings.

    The batches have columns `cell`, `captures` and `bytes`, of the finest cells.
    """
    for batch in batches:
        cells, captures, sizes = (
            batch.column(name).to_numpy() for name in ("cell", "captures", "bytes")
        )
        for grouping in range(len(GROUPINGS)):
            found, places = np.unique(cells & layout.mask(grouping), return_inverse=True)
            counted = _added(places, captures, len(found)), _added(places, sizes, len(found))
            yield _counts(grouping, found, *counted)


def _added(places: Array, numbers: Array, size: int) -> Array:
    added = np.zeros(size, np.int64)
    np.add.at(added, places, numbers)
    return added


def _counts(grouping: int, cells: Array, captures: Array, sizes: Array) -> pa.RecordBatch:
    columns = (np.full(len(cells), grouping, np.int64), cells, captures, sizes)
    return pa.RecordBatch.from_arrays([pa.array(one) for one in columns], schema=COUNT_SCHEMA)


def counted_once(
    batches: Iterable[pa.RecordBatch], layout: CellLayout, frequent: Frequent
) -> _Batches:
    """Give how many documents, or URLs, the frequent cells have, and their bytes.

    The batches have columns `first` and `second`, the hashes of a text, a
    `cell` of the finest grouping and `size_bytes`: all rows of some texts,
    each cell once a text. In a cell the largest size of a text counts.
    """
    pieces = list(batches)
    if not pieces:
        return
    rows = pa.Table.from_batches(pieces)
    columns = (rows.column(name).to_numpy() for name in _SHARED_COLUMNS)
    texts, cells, sizes, alone = _numbered(*columns)
    of_one, places = np.unique(cells[alone], return_inverse=True)
    counts = np.bincount(places, minlength=len(of_one))
    added = _added(places, sizes[alone], len(of_one))
    texts, cells, sizes = texts[~alone], cells[~alone], sizes[~alone]
    for grouping, known in enumerate(frequent):
        if not len(known):
            continue
        mask = layout.mask(grouping)
        there, at = _found(known, of_one & mask)
        captures, total = (
            _added(at, counts[there], len(known)),
            _added(at, added[there], len(known)),
        )
        there, at = _found(known, cells & mask)
        at, largest = _largest(texts[there], at, sizes[there])
        captures += np.bincount(at, minlength=len(known))
        total += sums(at, largest, len(known))
        some = np.flatnonzero(captures)
        yield _counts(grouping, known[some], captures[some], total[some])


def _numbered(
    first: Array, second: Array, cells: Array, sizes: Array
) -> tuple[Array, Array, Array, Array]:
    """Return rows in the order of their texts with numbers of these, and which are alone."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    alone = new & np.append(new[1:], True)
    return np.cumsum(new) - 1, cells[order], sizes[order], alone


def _found(known: Array, cells: Array) -> tuple[Array, Array]:
    """Tell which cells are among the known ones, and give the places of those."""
    places = np.searchsorted(known, cells)
    there = places < len(known)
    there[there] = known[places[there]] == cells[there]
    return there, places[there]


def _largest(texts: Array, places: Array, sizes: Array) -> tuple[Array, Array]:
    """Return the place and the largest size of each pair of a text and a place."""
    order = np.lexsort((sizes, places, texts))
    texts, places, sizes = texts[order], places[order], sizes[order]
    last = np.ones(len(order), np.bool_)
    last[:-1] = (texts[1:] != texts[:-1]) | (places[1:] != places[:-1])
    return places[last], sizes[last]

"""Features counted from columns: vector comparisons, and marks by document or URL number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.document_index import current_work, together
from nwx.facets.columns import FacetColumns, MonthRows
from nwx.facets.question import Features

MARKED_FROM = 0.05
"""If at least this share of all numbers may occur, they are marked in an array of all."""

PIECE = 1 << 16
"""Captures processed together, so that copies stay in the cache of a core."""

MANY_GROUPS = 300_000
"""The number of captures from which counts are computed in parallel."""

_EXACT_FLOAT = 1 << 53


def count_features(columns: FacetColumns, selected: Sequence[MonthRows]) -> Features:
    """Return the features of the selected captures."""
    current_work().check()
    captures = sum(map(len, selected))
    documents, urls = together(
        lambda: _taken(selected, "digest", columns.documents),
        lambda: _taken(selected, "url", columns.urls),
        in_parallel=captures >= MANY_GROUPS,
    )
    varied = _varied_of(columns, selected)
    added = 0
    if varied:
        nothing = np.zeros(len(varied[0]), dtype=np.int64)
        added = int(varied_bytes(nothing, *varied, 1)[0])
    return Features(
        captures=captures,
        unique_documents=documents.count,
        unique_urls=urls.count,
        bytes=sum(int(one.take("size_bytes").sum(dtype=np.int64)) for one in selected),
        unique_bytes=documents.total(columns.sizes) + added,
    )


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Distinct numbers, as marks over all numbers or as a list."""

    marks: Array | None
    listed: Array

    @property
    def count(self) -> int:
        """The count of distinct numbers."""
        return len(self.listed) if self.marks is None else int(np.count_nonzero(self.marks))

    def total(self, sizes: Array) -> int:
        """Return the sum of their sizes."""
        numbers = self.listed if self.marks is None else self.marks
        return int(sizes[numbers].sum(dtype=np.int64))


def _taken(selected: Sequence[MonthRows], name: str, size: int) -> _Numbers:
    return _different([one.take(name) for one in selected], size)


def _different(pieces: Sequence[Array], size: int) -> _Numbers:
    none = np.zeros(0, dtype=np.int64)
    if sum(map(len, pieces)) < size * MARKED_FROM:
        return _Numbers(None, np.unique(np.concatenate(pieces)) if pieces else none)
    marks = np.zeros(size, dtype=bool)
    work = current_work()
    for numbers in pieces:
        work.check()
        # In pieces: NumPy copies the index array, and a small copy stays in the cache.
        for start in range(0, len(numbers), PIECE):
            marks[numbers[start : start + PIECE]] = True
    return _Numbers(marks, none)


def _varied_of(columns: FacetColumns, selected: Sequence[MonthRows]) -> tuple[Array, Array] | None:
    """Return numbers and sizes of captures whose documents have captures of several sizes."""
    numbers, sizes = [], []
    for one in selected:
        rows = columns.varied_rows(one.month)
        if len(rows):
            if one.rows is not None:
                rows = np.intersect1d(rows, one.rows, assume_unique=True)
            numbers.append(one.columns["digest"][rows])
            sizes.append(one.columns["size_bytes"][rows].astype(np.int64))
    return (np.concatenate(numbers), np.concatenate(sizes)) if numbers else None


def sums(cells: Array, sizes: Array, size: int) -> Array:
    """Return the exact sum of the sizes of each cell below `size` (int64[size]).

    `cells` and `sizes` are unsigned integers of equal length.
    """
    if int(sizes.max(initial=0)) * len(sizes) < _EXACT_FLOAT:
        return np.bincount(cells, weights=sizes, minlength=size).astype(np.int64)
    low = np.bincount(cells, weights=sizes & 0xFFFF, minlength=size).astype(np.int64)
    return low + (sums(cells, sizes >> 16, size) << 16)


def varied_bytes(cells: Array, numbers: Array, sizes: Array, size: int) -> Array:
    """Return the bytes of documents whose captures differ in size, by cell (int64[size]).

    In each cell the largest capture of a document counts. `cells`, `numbers` (of documents) and
    `sizes` are per capture.
    """
    order = np.lexsort((sizes, numbers, cells))
    cells, numbers, sizes = cells[order], numbers[order], sizes[order]
    last = np.ones(len(cells), dtype=bool)
    last[:-1] = (cells[1:] != cells[:-1]) | (numbers[1:] != numbers[:-1])
    return sums(cells[last], sizes[last], size)

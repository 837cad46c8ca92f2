"""Features of captures counted from arrays: of a selection, or of each cell (numbered group)."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.document_index import current_work, together
from nwx.facets.codes import packed
from nwx.facets.columns import FacetColumns, MonthRows
from nwx.facets.criteria import CUBE, Criterion, grouping_name
from nwx.facets.question import STORED_FEATURES, Features

MARKED_FROM = 0.05
"""If at least this share of all numbers may occur, they are marked in an array of all."""

PIECE = 1 << 16
"""Captures processed together, so that copies stay in the cache of a core."""

MANY_GROUPS = 300_000
"""The number of captures from which counts are computed in parallel."""

_EXACT_FLOAT = 1 << 53
_MOST_KEYS = 1 << 62
_FLAG_BITS = 1


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


@dataclass(frozen=True, slots=True)
class CellCaptures:
    """Captures of one status, as arrays of equal length.

    `size_bytes`, the numbers of `documents` and `urls`, and the `codes` of each criterion of CUBE
    are unsigned. `sizes` are the bytes of documents by their numbers. `varied` (bool) marks
    documents whose captures differ in size, whose `sizes` are 0; None if there are none.
    """

    size_bytes: Array
    documents: Array
    urls: Array
    sizes: Array
    varied: Array | None
    codes: Mapping[Criterion, Array]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Captures that repeat another of their cell: cell and number of each (int64).

    `suspected` (bool, for all captures examined) marks captures that may share a number with
    another, including the first one with each number.
    """

    cells: Array
    numbers: Array
    suspected: Array


def repeats(numbers: Array, cells: Array) -> Repeats:
    """Return the captures whose number occurred before in the same cell.

    Both arrays are unsigned and of equal length, one element per capture. Raises EngineError if a
    number and a cell do not fit into 63 bits.
    """
    suspected = _suspected(numbers, cells)
    numbers, cells = numbers[suspected], cells[suspected]
    bits = _bits(cells)
    pairs = packed(numbers, cells, bits)
    pairs.sort()
    again = pairs[1:][pairs[1:] == pairs[:-1]].view(np.int64)
    return Repeats(again & ((1 << bits) - 1), again >> bits, suspected)


def _bits(cells: Array) -> int:
    return int(cells.max(initial=1)).bit_length()


def _suspected(numbers: Array, cells: Array) -> Array:
    """Return for each pair whether its hash slot has another pair; most unique pairs do not."""
    size = max(len(numbers) * 3 // 2, 16).bit_length()
    slots = numbers.astype(np.uint64)
    slots *= np.uint64(0x9E3779B97F4A7C15)
    slots ^= cells.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    slots *= np.uint64(0xD6E8FEB86659FD93)
    slots >>= np.uint64(64 - size)
    at = slots.view(np.int64)
    rows = np.arange(len(numbers), dtype=np.int32 if len(numbers) < 1 << 31 else np.int64)
    last = np.empty(1 << size, dtype=rows.dtype)
    last[at] = rows
    shared = np.zeros(1 << size, dtype=bool)
    shared[at[last[at] != rows]] = True
    return shared[at]


def count_cells(
    captures: CellCaptures,
    rows: Array,
    cells: Array,
    counts: Array,
    documents: Repeats,
    urls: Repeats,
) -> dict[str, Array]:
    """Return the features (int64, by cell) of cells from all their captures.

    `rows` are the positions of these captures in `captures`, `cells` their cells, and `counts` the
    captures per cell; `documents` and `urls` are the repeats.
    """
    size = len(counts)
    sizes = captures.size_bytes[rows]
    added = sums(cells, sizes, size)
    # `captures.sizes` has 0 for documents that vary in size.
    again = sums(documents.cells, captures.sizes[documents.numbers], size)
    unique_bytes = added - again
    if captures.varied is not None:
        varied = captures.varied[captures.documents[rows]]
        numbers = captures.documents[rows[varied]]
        unique_bytes -= sums(cells[varied], sizes[varied], size)
        unique_bytes += varied_bytes(cells[varied], numbers, sizes[varied], size)
    return {
        "captures": counts,
        "unique_documents": counts - np.bincount(documents.cells, minlength=size),
        "unique_urls": counts - np.bincount(urls.cells, minlength=size),
        "bytes": added,
        "unique_bytes": unique_bytes,
    }


@dataclass(frozen=True, slots=True)
class CombinationsBefore:
    """The previous build's combinations of a status, and which captures are new.

    `groupings` are columns by grouping. `new`, `shared_documents` and `shared_urls` (bool, by
    capture) mark captures that are new since, and captures that share their document or URL with a
    new one.
    """

    groupings: Mapping[str, Mapping[str, Array]]
    new: Array
    shared_documents: Array
    shared_urls: Array

    def find(
        self, codes: Mapping[Criterion, Array], cards: Mapping[Criterion, int], size: int
    ) -> tuple[Array, dict[str, Array]]:
        """Return which of `size` combinations are known (bool), and their features (int64).

        `codes` has the codes of each criterion of the grouping, by combination, and `cards` the
        number of codes of each criterion.
        """
        names = [name for name in CUBE if name in codes]
        columns = self.groupings.get(grouping_name(names))
        known = np.zeros(size, dtype=bool)
        features = {name: np.zeros(size, dtype=np.int64) for name in STORED_FEATURES}
        if columns is None or np.prod([float(cards[name]) for name in names]) > _MOST_KEYS:
            return known, features
        before, now = (_keys(found, names, cards) for found in (columns, codes))
        if not names:
            before, now = np.zeros(len(columns["captures"]), np.int64), np.zeros(size, np.int64)
        order = np.argsort(before)
        places = np.searchsorted(before[order], now)
        known[:] = places < len(order)
        rows = order[places[known]]
        same = before[rows] == now[known]
        known[known] = same
        for name, column in features.items():
            column[known] = columns[name][rows[same]]
        return known, features


def _keys(
    codes: Mapping[Criterion, Array] | Mapping[str, Array],
    names: Sequence[Criterion],
    cards: Mapping[Criterion, int],
) -> Array:
    keys: Array = np.zeros(1, dtype=np.int64)
    for name in names:
        keys = keys * cards[name] + codes[name]
    return keys


def added_features(
    captures: CellCaptures,
    before: CombinationsBefore,
    rows: Array,
    cells: Array,
    size: int,
    pool: Executor,
) -> dict[str, Array]:
    """Return the amounts that new captures add to the features of cells (int64[size]).

    `rows` are the positions in `captures` of all captures of the cells, `cells` their cells. Raises
    EngineError if a number and a cell do not fit into 62 bits.
    """
    new = before.new[rows]
    of_new = cells[new]
    touched = np.zeros(size, dtype=bool)
    touched[of_new] = True
    own = touched[cells]
    of_urls = pool.submit(_new_urls, captures, before, rows, cells, own)
    late = np.flatnonzero(own & before.shared_documents[rows])
    new_cells, documents = only_new(captures.documents[rows[late]], cells[late], new[late])
    unique_bytes = sums(new_cells, captures.sizes[documents], size)
    if captures.varied is not None:
        late = late[captures.varied[captures.documents[rows[late]]]]
        for sign, some in ((1, late), (-1, late[~new[late]])):
            numbers, sizes = captures.documents[rows[some]], captures.size_bytes[rows[some]]
            unique_bytes += sign * varied_bytes(cells[some], numbers, sizes, size)
    return {
        "captures": np.bincount(of_new, minlength=size),
        "unique_documents": np.bincount(new_cells, minlength=size),
        "unique_urls": np.bincount(of_urls.result(), minlength=size),
        "bytes": sums(of_new, captures.size_bytes[rows[new]], size),
        "unique_bytes": unique_bytes,
    }


def _new_urls(
    captures: CellCaptures, before: CombinationsBefore, rows: Array, cells: Array, own: Array
) -> Array:
    late = np.flatnonzero(own & before.shared_urls[rows])
    rows, cells = rows[late], cells[late]
    return only_new(captures.urls[rows], cells, before.new[rows])[0]


def only_new(numbers: Array, cells: Array, new: Array) -> tuple[Array, Array]:
    """Return the distinct cells and numbers (int64) of pairs that only new captures have.

    `numbers` and `cells` are unsigned, `new` is bool: one element per capture. Raises EngineError
    if a pair does not fit into 62 bits.
    """
    bits = _bits(cells)
    pairs = packed(packed(numbers, cells, bits), new, _FLAG_BITS)
    pairs.sort()
    # Known captures come before new ones.
    flag = np.uint64(_FLAG_BITS)
    first = np.ones(len(pairs), dtype=bool)
    first[1:] = pairs[1:] >> flag != pairs[:-1] >> flag
    found = (pairs[first & (pairs & flag == 1)] >> flag).view(np.int64)
    return found & ((1 << bits) - 1), found >> bits

"""Features of groups of captures: by the values of one criterion, or pairs of two.

Columns are processed in pieces whose copies stay in the cache of a core, and the group of each
document or URL number is noted in as few bytes as hold it: random access to these notes takes
most of the time.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.document_index import current_work, together
from nwx.facets.codes import check_bits
from nwx.facets.columns import FacetColumns, MonthRows
from nwx.facets.criteria import Criterion
from nwx.facets.feature_counts import (
    MANY_GROUPS,
    MARKED_FROM,
    PIECE,
    count_features,
    sums,
    varied_bytes,
)
from nwx.facets.question import STORED_FEATURES, FacetRow, Features

_COUNTED_AT_ONCE = 1 << 22
_NOTED_FROM = 0.6
"""With fewer captures per number, notes for all numbers do not pay off."""

_NOTED_AT_MOST = 4
_MOST_GROUPS = np.iinfo(np.int32).max

_Piece = tuple[Array, Array]
"""Values of a column, and the groups of the captures with these values."""

_Pieces = Callable[[], Iterator[_Piece]]
"""Iterates over all captures each time it is called."""

_Scratch = dict[str, Array]
"""Arrays for notes by column, reused because allocating them is slow."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Groups of captures: the codes of their values by criterion, and their features."""

    by: Sequence[Criterion]
    codes: dict[Criterion, Array]
    features: dict[str, Array]

    def __len__(self) -> int:
        return len(self.features["captures"])

    def rows(self, columns: FacetColumns, places: Array | None = None) -> list[FacetRow]:
        """Return the groups at these positions, or all, as rows with the names of values."""
        wanted = slice(None) if places is None else places
        labels = [columns.labels(name) for name in self.by]
        values = [
            [names[code] for code in self.codes[name][wanted].tolist()]
            for name, names in zip(self.by, labels, strict=True)
        ]
        numbers = [self.features[name][wanted].tolist() for name in STORED_FEATURES]
        return [
            FacetRow(named, Features(*found))
            for named, found in zip(
                zip(*values, strict=True), zip(*numbers, strict=True), strict=True
            )
        ]


def count_groups(
    columns: FacetColumns, selected: Sequence[MonthRows], by: Sequence[Criterion]
) -> Grouped:
    """Return the features of each value of a criterion, or of each pair of values of two.

    Raises EngineError if there are more groups than can be numbered.
    """
    cards = [len(columns.labels(name)) for name in by]
    check_bits(math.prod(cards).bit_length())
    scratch: _Scratch = {}
    pieces = [
        _one_group(columns, part, by, cards)
        if all(name.source is Criterion.MONTH for name in by)
        else _many_groups(columns, part, by, cards, scratch)
        for part in _parts(columns, selected, by)
    ]
    none = np.zeros(0, dtype=np.int64)
    keys = np.concatenate([none, *(found for found, _ in pieces)])
    codes = dict(zip(by, np.unravel_index(keys, tuple(cards)), strict=True))
    features = {
        name: np.concatenate([none, *(found[name] for _, found in pieces)])
        for name in STORED_FEATURES
    }
    return Grouped(by, codes, features)


def _parts(
    columns: FacetColumns, selected: Sequence[MonthRows], by: Sequence[Criterion]
) -> list[list[MonthRows]]:
    """Return the captures in parts with disjoint groups: by month or year."""
    periods = [name for name in by if name.source is Criterion.MONTH]

    def codes(some: MonthRows) -> list[int]:
        return [int(columns.codes(some, name)) for name in periods]

    return [list(part) for _, part in groupby(sorted(selected, key=codes), codes)]


def _one_group(
    columns: FacetColumns,
    selected: Sequence[MonthRows],
    by: Sequence[Criterion],
    cards: Sequence[int],
) -> tuple[Array, dict[str, Array]]:
    """Return the key of captures that form a single group, and its features."""
    key = 0
    for name, card in zip(by, cards, strict=True):
        key = key * card + int(columns.codes(selected[0], name))
    counted = count_features(columns, selected)
    features = {name: np.array([getattr(counted, name)]) for name in STORED_FEATURES}
    return np.array([key]), features


@dataclass(frozen=True, slots=True)
class _GroupedRows:
    """Captures of a month, and their groups (unsigned)."""

    some: MonthRows
    groups: Array

    def pieces(self, name: str, length: int) -> Iterator[_Piece]:
        """Yield a column and the groups, piece by piece."""
        column, rows = self.some.columns[name], self.some.rows
        for start in range(0, len(self.groups), length):
            piece = slice(start, start + length)
            yield column[piece if rows is None else rows[piece]], self.groups[piece]


@dataclass(frozen=True, slots=True)
class _Groups:
    """Captures in groups below `size`, month by month."""

    months: Sequence[_GroupedRows]
    size: int

    def __len__(self) -> int:
        return sum(len(one.groups) for one in self.months)

    @property
    def kind(self) -> "np.dtype[Any]":
        return self.months[0].groups.dtype

    def pieces(self, name: str) -> Iterator[_Piece]:
        """Yield a column and the groups, piece by piece."""
        work = current_work()
        for one in self.months:
            work.check()
            yield from one.pieces(name, max(PIECE, self.size))


def _many_groups(
    columns: FacetColumns,
    selected: Sequence[MonthRows],
    by: Sequence[Criterion],
    cards: Sequence[int],
    scratch: _Scratch,
) -> tuple[Array, dict[str, Array]]:
    """Return the keys of groups in order, and the features of each."""
    different, groups = _groups(selected, [_keys(columns, one, by, cards) for one in selected],
                                math.prod(cards))  # fmt: skip
    size = groups.size
    documents, (urls, (counts, added)) = together(
        lambda: _pairs(groups, "digest", columns.documents, scratch),
        lambda: (_pairs(groups, "url", columns.urls, scratch).counts(), _counts_and_bytes(groups)),
        in_parallel=len(groups) >= MANY_GROUPS,
    )
    features = {
        "captures": counts,
        "unique_documents": documents.counts(),
        "unique_urls": urls,
        "bytes": added,
        "unique_bytes": documents.sums(columns.sizes),
    }
    if any(len(columns.varied_rows(one.month)) for one in selected):
        features["unique_bytes"] += _varied_bytes(columns, groups)
    kept = np.flatnonzero(counts)
    keys = np.arange(size)[kept] if different is None else different[kept]
    return keys, {name: column[kept] for name, column in features.items()}


def _keys(
    columns: FacetColumns, some: MonthRows, by: Sequence[Criterion], cards: Sequence[int]
) -> Array:
    """Return the codes of each capture as one number, in the smallest suitable type."""
    keys: Array = np.zeros(len(some), dtype=np.min_scalar_type(math.prod(cards)))
    for name, card in zip(by, cards, strict=True):
        if name is not by[0]:
            keys *= keys.dtype.type(card)
        codes = columns.codes(some, name)
        keys += (
            codes.astype(keys.dtype) if isinstance(codes, np.ndarray) else keys.dtype.type(codes)
        )
    return keys


def _groups(
    selected: Sequence[MonthRows], keys: Sequence[Array], size: int
) -> tuple[Array | None, _Groups]:
    """Return the captures in groups; of many keys, only occurring ones are groups, in order."""
    different = None
    if size > _COUNTED_AT_ONCE:
        different, places = np.unique(np.concatenate(keys), return_inverse=True)
        size = len(different)
        if size > _MOST_GROUPS:
            check_bits(64)
        places = places.astype(np.min_scalar_type(size))
        keys = np.split(places, np.cumsum([len(one) for one in keys])[:-1])
    months = [_GroupedRows(one, found) for one, found in zip(selected, keys, strict=True)]
    return different, _Groups(months, size)


def _counts_and_bytes(groups: _Groups) -> tuple[Array, Array]:
    counts, added = np.zeros((2, groups.size), dtype=np.int64)
    for sizes, found in groups.pieces("size_bytes"):
        counts += np.bincount(found, minlength=groups.size)
        added += sums(found, sizes, groups.size)
    return counts, added


def _varied_bytes(columns: FacetColumns, groups: _Groups) -> Array:
    """Return the bytes of each group of documents whose captures differ in size."""
    pieces = []
    for one in groups.months:
        some = one.some
        rows = columns.varied_rows(some.month).astype(np.int64)
        places = rows
        if some.rows is not None:
            rows, places, _ = np.intersect1d(
                some.rows, rows, assume_unique=True, return_indices=True
            )
        sizes = some.columns["size_bytes"][rows].astype(np.int64)
        pieces.append((one.groups[places], some.columns["digest"][rows], sizes))
    cells, numbers, sizes = (np.concatenate(found) for found in zip(*pieces, strict=True))
    return varied_bytes(cells, numbers, sizes, groups.size)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Distinct pairs of a number and its group.

    Each array in `notes` has a group for each number; its highest possible value means none.
    `further` are the pairs that are in none of these arrays.
    """

    notes: Sequence[Array]
    further: Sequence[_Piece]
    size: int

    def counts(self) -> Array:
        """Return the number of pairs of each group."""
        found = np.zeros(self.size, dtype=np.int64)
        for _, groups in (*self.further, *self._noted()):
            found += np.bincount(groups, minlength=self.size)
        return found

    def sums(self, sizes: Array) -> Array:
        """Return the sum of the sizes of the numbers of each group."""
        found = np.zeros(self.size, dtype=np.int64)
        for numbers, groups in self.further:
            found += sums(groups, sizes[numbers], self.size)
        for piece, groups in self._noted(sizes):
            found += sums(groups, piece, self.size)
        return found

    def _noted(self, values: Array | None = None) -> Iterator[_Piece]:
        for notes in self.notes:
            for groups, of_numbers in _cut(notes, notes if values is None else values, self.size):
                there = groups != np.iinfo(notes.dtype).max
                yield of_numbers[there], groups[there]


def _pairs(groups: _Groups, name: str, highest: int, scratch: _Scratch) -> _Pairs:
    """Return the distinct pairs of groups and the numbers of a column, below `highest`.

    Most numbers are in one group or a few: each pass notes one group per number, and the pairs in
    other groups are processed again.
    """
    if len(groups) < highest * _NOTED_FROM:
        noted = scratch.setdefault(name, np.empty(highest, dtype=np.uint32))
        return _pairs_of_few(_joined(groups.pieces(name), groups.kind), noted, groups.size)
    notes: list[Array] = []
    pieces: _Pieces = partial(groups.pieces, name)
    total = len(groups)
    kind = groups.kind
    for _ in range(_NOTED_AT_MOST):
        if total < highest * MARKED_FROM:
            break
        noted = np.full(highest, np.iinfo(kind).max, dtype=kind)
        for numbers, found in pieces():
            noted[numbers] = found
        notes.append(noted)
        left = _joined(_others(noted, pieces()), kind)
        total = len(left[0])
        pieces = partial(_cut, *left, groups.size)
    further = _different(_joined(pieces(), kind), highest, groups.size)
    return _Pairs(notes, [further], groups.size)


def _pairs_of_few(pairs: _Piece, noted: Array, size: int) -> _Pairs:
    """Return the distinct pairs of some captures, noting one capture per number.

    `noted` is an array of all numbers; only positions written here are read.
    """
    numbers, groups = pairs
    highest = len(noted)
    found: list[_Piece] = []
    for _ in range(_NOTED_AT_MOST):
        if len(numbers) < highest * MARKED_FROM:
            break
        current_work().check()
        captures = np.arange(len(numbers), dtype=np.uint32)
        noted[numbers] = captures
        chosen = noted[numbers]
        own = np.flatnonzero(chosen == captures)
        found.append((numbers[own], groups[own]))
        others = np.flatnonzero(groups[chosen] != groups)
        numbers, groups = numbers[others], groups[others]
    return _Pairs([], [*found, _different((numbers, groups), highest, size)], size)


def _others(noted: Array, pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """Yield the pairs that are not noted."""
    for numbers, groups in pieces:
        places = np.flatnonzero(noted[numbers] != groups)
        if len(places):
            yield numbers[places], groups[places]


def _cut(first: Array, second: Array, size: int) -> Iterator[_Piece]:
    length = max(PIECE, size)
    for start in range(0, len(first), length):
        yield first[start : start + length], second[start : start + length]


def _joined(pieces: Iterable[_Piece], kind: np.dtype[Any]) -> _Piece:
    found = [(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=kind)), *pieces]
    numbers, groups = (np.concatenate(one) for one in zip(*found, strict=True))
    return numbers, groups


def _different(pairs: _Piece, highest: int, size: int) -> _Piece:
    """Return the distinct pairs of numbers below `highest` and groups below `size`, sorted."""
    check_bits((highest * size).bit_length())
    numbers, groups = pairs
    packed = numbers.astype(np.int64) * size + groups
    packed.sort()
    if len(packed):
        packed = packed[np.append(True, packed[1:] != packed[:-1])]
    return packed // size, packed % size

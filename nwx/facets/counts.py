"""Features counted from columns: vector comparisons, and marks over numbers of documents."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.work import current_work
from nwx.facets.codes import check_bits
from nwx.facets.columns import FacetColumns, MonthRows
from nwx.facets.criteria import Criterion
from nwx.facets.features import STORED_FEATURES, Features
from nwx.facets.question import FacetRow

_MARKED_FROM = 0.05
_COUNTED_AT_ONCE = 1 << 22
_OWNERS_LOOKED_AT = 4
_MANY = 300_000
_MOST_GROUPS = np.iinfo(np.int32).max
_EXACT_FLOAT = 1 << 53

One = TypeVar("One")
Other = TypeVar("Other")


def count_features(columns: FacetColumns, selected: Sequence[MonthRows]) -> Features:
    """Return the features of the selected captures."""
    current_work().check()
    captures = sum(map(len, selected))
    documents, urls = _together(
        captures,
        lambda: _taken(selected, "digest", columns.documents),
        lambda: _taken(selected, "url", columns.urls),
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
    """Different numbers: a mark for each, or a list."""

    marks: Array | None
    listed: Array

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.listed) if self.marks is None else int(np.count_nonzero(self.marks))

    def total(self, sizes: Array) -> int:
        """Return the sum of their sizes."""
        numbers = self.listed if self.marks is None else self.marks
        return int(sizes[numbers].sum(dtype=np.int64))


def _together(
    captures: int, first: Callable[[], One], second: Callable[[], Other]
) -> tuple[One, Other]:
    """Return the results of both, found at the same time where there is much to do."""
    if captures < _MANY:
        return first(), second()
    with ThreadPoolExecutor(1) as pool:
        # In the context of this thread, so that both know the deadline of the question.
        later = pool.submit(copy_context().run, second)
        return first(), later.result()


def _taken(selected: Sequence[MonthRows], name: str, size: int) -> _Numbers:
    return _different([one.take(name) for one in selected], size)


def _different(pieces: Sequence[Array], size: int) -> _Numbers:
    none = np.zeros(0, dtype=np.int64)
    if sum(map(len, pieces)) < size * _MARKED_FROM:
        return _Numbers(None, np.unique(np.concatenate(pieces)) if pieces else none)
    marks = np.zeros(size, dtype=bool)
    work = current_work()
    for numbers in pieces:
        work.check()
        marks[numbers] = True
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


@dataclass(frozen=True, slots=True)
class Grouped:
    """Groups of captures: the codes of their values by criterion, and their features."""

    by: Sequence[Criterion]
    codes: dict[Criterion, Array]
    features: dict[str, Array]

    def __len__(self) -> int:
        return len(self.features["captures"])

    def rows(self, columns: FacetColumns, places: Array | None = None) -> list[FacetRow]:
        """Return groups, those at these places or all, by the names of their values."""
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

    Raises EngineError where there are more groups than can be numbered.
    """
    cards = [len(columns.labels(name)) for name in by]
    check_bits(math.prod(cards).bit_length())
    pieces = [
        (_one_group if _are_periods(by) else _grouped)(columns, part, by, cards)
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


def _are_periods(by: Sequence[Criterion]) -> bool:
    """Tell whether the captures of a month have the same values of all criteria."""
    return all(name.source is Criterion.MONTH for name in by)


def _parts(
    columns: FacetColumns, selected: Sequence[MonthRows], by: Sequence[Criterion]
) -> list[list[MonthRows]]:
    """Return the captures in parts that have no group in common: those of a month or a year."""
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
    """Return the key of captures that are one group, and its features."""
    key = 0
    for name, card in zip(by, cards, strict=True):
        key = key * card + int(columns.codes(selected[0], name))
    counted = count_features(columns, selected)
    features = {name: np.array([getattr(counted, name)]) for name in STORED_FEATURES}
    return np.array([key]), features


def _grouped(
    columns: FacetColumns,
    selected: Sequence[MonthRows],
    by: Sequence[Criterion],
    cards: Sequence[int],
) -> tuple[Array, dict[str, Array]]:
    """Return the keys of groups in order, and the features of each."""
    current_work().check()
    different, groups, counts = _dense(_keys(columns, selected, by, cards), math.prod(cards))
    size = len(different)
    documents, (urls, added) = _together(
        len(groups),
        lambda: _pairs(_column(selected, "digest"), groups, columns.documents, size),
        lambda: (
            _pairs(_column(selected, "url"), groups, columns.urls, size).counts(size),
            sums(groups, _column(selected, "size_bytes"), size),
        ),
    )
    features = {
        "captures": counts,
        "unique_documents": documents.counts(size),
        "unique_urls": urls,
        "bytes": added,
        "unique_bytes": documents.sums(columns.sizes, size),
    }
    if any(len(columns.varied_rows(one.month)) for one in selected):
        features["unique_bytes"] += _varied_bytes(columns, selected, groups, size)
    kept = np.flatnonzero(counts)
    return different[kept], {name: column[kept] for name, column in features.items()}


def _column(selected: Sequence[MonthRows], name: str) -> Array:
    return np.concatenate([one.take(name) for one in selected])


def _varied_bytes(
    columns: FacetColumns, selected: Sequence[MonthRows], groups: Array, size: int
) -> Array:
    """Return the bytes of each group of documents whose captures differ in size."""
    pieces = []
    start = 0
    for one in selected:
        rows = columns.varied_rows(one.month).astype(np.int64)
        if one.rows is not None:
            _, rows, _ = np.intersect1d(one.rows, rows, assume_unique=True, return_indices=True)
        pieces.append(
            (
                groups[start + rows],
                one.take("digest")[rows],
                one.take("size_bytes")[rows].astype(np.int64),
            )
        )
        start += len(one)
    cells, numbers, sizes = (np.concatenate(found) for found in zip(*pieces, strict=True))
    return varied_bytes(cells, numbers, sizes, size)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Different pairs of a number and its group, in pieces."""

    numbers: list[Array]
    groups: list[Array]

    def counts(self, size: int) -> Array:
        """Return how many pairs each group has."""
        found = np.zeros(size, dtype=np.int64)
        for groups in self.groups:
            found += np.bincount(groups, minlength=size)
        return found

    def sums(self, sizes: Array, size: int) -> Array:
        """Return the sizes of the numbers of each group together."""
        found = np.zeros(size, dtype=np.int64)
        for numbers, groups in zip(self.numbers, self.groups, strict=True):
            found += sums(groups, sizes[numbers], size)
        return found


def _pairs(numbers: Array, groups: Array, highest: int, size: int) -> _Pairs:
    """Return the different pairs of numbers below `highest` and groups below `size`.

    Most numbers are in one group, or in few: of each number one group is
    noted at a time, and what is in others is looked at again.
    """
    found = _Pairs([], [])
    work = current_work()
    for _ in range(_OWNERS_LOOKED_AT):
        if len(numbers) < highest * _MARKED_FROM:
            break
        work.check()
        owners = np.full(highest, -1, dtype=np.int32)
        owners[numbers] = groups
        seen = np.flatnonzero(owners >= 0)
        found.numbers.append(seen)
        found.groups.append(owners[seen])
        others = np.flatnonzero(owners[numbers] != groups)
        numbers, groups = numbers[others], groups[others]
    check_bits((highest * size).bit_length())
    pairs = numbers.astype(np.int64) * size + groups
    pairs.sort()
    if len(pairs):
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
    found.numbers.append(pairs // size)
    found.groups.append(pairs % size)
    return found


def _keys(
    columns: FacetColumns,
    selected: Sequence[MonthRows],
    by: Sequence[Criterion],
    cards: Sequence[int],
) -> Array:
    kind = np.int32 if math.prod(cards) < 1 << 31 else np.int64
    pieces = []
    for one in selected:
        keys: Array = np.zeros(len(one), dtype=kind)
        for name, card in zip(by, cards, strict=True):
            keys *= card
            keys += columns.codes(one, name)
        pieces.append(keys)
    return np.concatenate(pieces)


def _dense(keys: Array, size: int) -> tuple[Array, Array, Array]:
    """Return keys in order, the place of each key among them, and how often it is."""
    if size > _COUNTED_AT_ONCE:
        different, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
        if len(different) > _MOST_GROUPS:
            check_bits(64)
        return different, places.astype(np.int32), counts
    return np.arange(size), keys, np.bincount(keys, minlength=size)


def sums(cells: Array, sizes: Array, size: int) -> Array:
    """Return the sum of the sizes of each cell below `size`, exactly (int64[size]).

    `cells` and `sizes` are unsigned integers of one length.
    """
    if int(sizes.max(initial=0)) * len(sizes) < _EXACT_FLOAT:
        return np.bincount(cells, weights=sizes, minlength=size).astype(np.int64)
    low = np.bincount(cells, weights=sizes & 0xFFFF, minlength=size).astype(np.int64)
    return low + (sums(cells, sizes >> 16, size) << 16)


def varied_bytes(cells: Array, numbers: Array, sizes: Array, size: int) -> Array:
    """Return the bytes of documents whose captures differ in size, by cell (int64[size]).

    In each cell the largest capture of a document counts. `cells`, `numbers`
    (of documents) and `sizes` are of captures.
    """
    order = np.lexsort((sizes, numbers, cells))
    cells, numbers, sizes = cells[order], numbers[order], sizes[order]
    last = np.ones(len(cells), dtype=bool)
    last[:-1] = (cells[1:] != cells[:-1]) | (numbers[1:] != numbers[:-1])
    return sums(cells[last], sizes[last], size)

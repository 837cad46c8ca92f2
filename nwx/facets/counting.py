"""Features counted from columns: vector comparisons, and marks over numbers of documents."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from nwx.engine.arrays import Array
from nwx.facets.criteria import Criterion
from nwx.facets.opened import Opened
from nwx.facets.payloads import PayloadColumns
from nwx.facets.question import STORED_FEATURES, FacetRow, Features
from nwx.facets.summing import sums, varied_bytes

_MARKED_FROM = 0.05
_FEW = 0.1
_COMPARED = 4
_COUNTED_AT_ONCE = 1 << 22
_OWNERS_LOOKED_AT = 4
_MANY = 300_000

One = TypeVar("One")
Other = TypeVar("Other")

Allowed = Mapping[Criterion, Array]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The captures of a month that were chosen: all of it where `rows` is None."""

    month: str
    columns: PayloadColumns
    rows: Array | None

    def __len__(self) -> int:
        return len(self.columns["status"] if self.rows is None else self.rows)

    def take(self, name: str) -> Array:
        """Return a column of the captures."""
        return self.columns[name] if self.rows is None else self.columns[name][self.rows]


def choose(opened: Opened, allowed: Allowed) -> Iterator[Chosen]:
    """Give the captures that are allowed in all criteria, month by month."""
    months = allowed.get(Criterion.MONTH)
    labels = opened.labels(Criterion.MONTH)
    wanted = None if months is None else {labels[code] for code in np.flatnonzero(months)}
    others = [(name, fits) for name, fits in allowed.items() if name is not Criterion.MONTH]
    # The rarest comes first, so that little is left to look at.
    others.sort(key=lambda item: float(item[1].mean()))
    for month, columns in opened.months.items():
        if wanted is None or month in wanted:
            rows = _rows(columns, others)
            if rows is None or len(rows):
                yield Chosen(month, columns, rows)


def _rows(columns: PayloadColumns, conditions: Sequence[tuple[Criterion, Array]]) -> Array | None:
    """Return the rows that meet all conditions, None where all rows do."""
    mask: Array | None = None
    rows: Array | None = None
    for name, fits in conditions:
        if rows is not None:
            rows = rows[_fitting(columns[name][rows], fits)]
            continue
        found = _fitting(columns[name], fits)
        mask = found if mask is None else mask & found
        if np.count_nonzero(mask) < _FEW * len(mask):
            rows = np.flatnonzero(mask)
    if rows is None and mask is not None and not mask.all():
        rows = np.flatnonzero(mask)
    return rows


def _fitting(codes: Array, fits: Array) -> Array:
    """Tell which codes fit; comparisons are much faster than looking each up."""
    places = np.flatnonzero(fits)
    others = np.flatnonzero(~fits)
    if not len(places) or not len(others):
        return np.full(len(codes), len(others) == 0)
    low, high = int(places[0]), int(places[-1])
    if high - low + 1 == len(places):
        return (codes >= low) & (codes <= high) if low < high else codes == low
    if len(others) <= _COMPARED:
        return ~_one_of(codes, others)
    if len(places) <= _COMPARED:
        return _one_of(codes, places)
    found: Array = fits[codes]
    return found


def _one_of(codes: Array, some: Array) -> Array:
    found: Array = codes == some[0]
    for code in some[1:]:
        found |= codes == code
    return found


def count_features(opened: Opened, chosen: Sequence[Chosen]) -> Features:
    """Return the features of captures."""
    captures = sum(map(len, chosen))
    documents, urls = _together(
        captures,
        lambda: _taken(chosen, "digest", opened.documents),
        lambda: _taken(chosen, "url", opened.urls),
    )
    varied = varied_of(opened, chosen)
    added = 0
    if varied:
        nothing = np.zeros(len(varied[0]), dtype=np.int64)
        added = int(varied_bytes(nothing, *varied, 1)[0])
    return Features(
        captures=captures,
        unique_documents=documents.count,
        unique_urls=urls.count,
        bytes=sum(int(one.take("size_bytes").sum(dtype=np.int64)) for one in chosen),
        unique_bytes=documents.total(opened.sizes) + added,
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
        later = pool.submit(second)
        return first(), later.result()


def _taken(chosen: Sequence[Chosen], name: str, size: int) -> _Numbers:
    return _different([one.take(name) for one in chosen], size)


def _different(pieces: Sequence[Array], size: int) -> _Numbers:
    none = np.zeros(0, dtype=np.int64)
    if sum(map(len, pieces)) < size * _MARKED_FROM:
        return _Numbers(None, np.unique(np.concatenate(pieces)) if pieces else none)
    marks = np.zeros(size, dtype=bool)
    for numbers in pieces:
        marks[numbers] = True
    return _Numbers(marks, none)


def varied_of(opened: Opened, chosen: Sequence[Chosen]) -> tuple[Array, Array] | None:
    """Return numbers and sizes of captures whose documents have captures of several sizes."""
    numbers, sizes = [], []
    for one in chosen:
        rows = opened.varied_rows(one.month)
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

    def rows(self, opened: Opened, places: Array | None = None) -> list[FacetRow]:
        """Return groups, those at these places or all, by the names of their values."""
        wanted = slice(None) if places is None else places
        labels = [opened.labels(name) for name in self.by]
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


def count_groups(opened: Opened, chosen: Sequence[Chosen], by: Sequence[Criterion]) -> Grouped:
    """Return the features of each value of a criterion, or of each pair of values of two."""
    if tuple(by) == (Criterion.MONTH,):
        return _by_month(opened, chosen)
    cards = [len(opened.labels(name)) for name in by]
    if Criterion.MONTH in by:
        # What is of different months is never one group, so that each month is by itself.
        pieces = [_grouped(opened, [one], by, cards) for one in chosen]
    else:
        pieces = [_grouped(opened, chosen, by, cards)] if chosen else []
    none = np.zeros(0, dtype=np.int64)
    keys = np.concatenate([none, *(found for found, _ in pieces)])
    codes = dict(zip(by, np.unravel_index(keys, tuple(cards)), strict=True))
    features = {
        name: np.concatenate([none, *(found[name] for _, found in pieces)])
        for name in STORED_FEATURES
    }
    return Grouped(by, codes, features)


def _by_month(opened: Opened, chosen: Sequence[Chosen]) -> Grouped:
    months = opened.labels(Criterion.MONTH)
    counted = [count_features(opened, [one]) for one in chosen]
    codes = np.array([months.index(one.month) for one in chosen], dtype=np.int64)
    features = {
        name: np.array([getattr(one, name) for one in counted], dtype=np.int64)
        for name in STORED_FEATURES
    }
    return Grouped((Criterion.MONTH,), {Criterion.MONTH: codes}, features)


def _grouped(
    opened: Opened, chosen: Sequence[Chosen], by: Sequence[Criterion], cards: Sequence[int]
) -> tuple[Array, dict[str, Array]]:
    """Return the keys of groups in order, and the features of each."""
    different, groups, counts = _dense(_keys(opened, chosen, by, cards), int(np.prod(cards)))
    size = len(different)
    documents, (urls, added) = _together(
        len(groups),
        lambda: _pairs(_column(chosen, "digest"), groups, opened.documents, size),
        lambda: (
            _pairs(_column(chosen, "url"), groups, opened.urls, size).counts(size),
            sums(groups, _column(chosen, "size_bytes"), size),
        ),
    )
    features = {
        "captures": counts,
        "unique_documents": documents.counts(size),
        "unique_urls": urls,
        "bytes": added,
        "unique_bytes": documents.sums(opened.sizes, size),
    }
    if any(len(opened.varied_rows(one.month)) for one in chosen):
        features["unique_bytes"] += _varied_bytes(opened, chosen, groups, size)
    kept = np.flatnonzero(counts)
    return different[kept], {name: column[kept] for name, column in features.items()}


def _column(chosen: Sequence[Chosen], name: str) -> Array:
    return np.concatenate([one.take(name) for one in chosen])


def _varied_bytes(opened: Opened, chosen: Sequence[Chosen], groups: Array, size: int) -> Array:
    """Return the bytes of each group of documents whose captures differ in size."""
    pieces = []
    start = 0
    for one in chosen:
        rows = opened.varied_rows(one.month).astype(np.int64)
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
    for _ in range(_OWNERS_LOOKED_AT):
        if len(numbers) < highest * _MARKED_FROM:
            break
        owners = np.full(highest, -1, dtype=np.int32)
        owners[numbers] = groups
        seen = np.flatnonzero(owners >= 0)
        found.numbers.append(seen)
        found.groups.append(owners[seen])
        others = np.flatnonzero(owners[numbers] != groups)
        numbers, groups = numbers[others], groups[others]
    pairs = numbers.astype(np.int64) * size + groups
    pairs.sort()
    if len(pairs):
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
    found.numbers.append(pairs // size)
    found.groups.append(pairs % size)
    return found


def _keys(
    opened: Opened, chosen: Sequence[Chosen], by: Sequence[Criterion], cards: Sequence[int]
) -> Array:
    months = opened.labels(Criterion.MONTH)
    kind = np.int32 if int(np.prod(cards)) < 1 << 31 else np.int64
    pieces = []
    for one in chosen:
        keys: Array = np.zeros(len(one), dtype=kind)
        for name, card in zip(by, cards, strict=True):
            keys *= card
            keys += months.index(one.month) if name is Criterion.MONTH else one.take(name)
        pieces.append(keys)
    return np.concatenate(pieces)


def _dense(keys: Array, size: int) -> tuple[Array, Array, Array]:
    """Return keys in order, the place of each key among them, and how often it is."""
    if size > _COUNTED_AT_ONCE:
        different, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return different, places.astype(np.int32), counts
    return np.arange(size), keys, np.bincount(keys, minlength=size)

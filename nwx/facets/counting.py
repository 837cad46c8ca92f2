"""Features counted from columns: vector comparisons, and marks over numbers of documents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nwx.engine.arrays import Array
from nwx.engine.cube import FEATURES
from nwx.facets.criteria import Criterion
from nwx.facets.groupings import Captures, features_of, repeats, varied_bytes
from nwx.facets.opened import Opened
from nwx.facets.payloads import Columns
from nwx.facets.question import FacetRow, Features

_MARKED_FROM = 0.05
_COUNTED_AT_ONCE = 1 << 22

Allowed = Mapping[Criterion, Array]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The captures of a month that were chosen: all of it where `rows` is None."""

    month: str
    columns: Columns
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


def _rows(columns: Columns, conditions: Sequence[tuple[Criterion, Array]]) -> Array | None:
    rows = None
    for name, fits in conditions:
        codes = columns[name] if rows is None else columns[name][rows]
        places = np.flatnonzero(fits)
        mask = codes == places[0] if len(places) == 1 else fits[codes]
        rows = np.flatnonzero(mask) if rows is None else rows[mask]
        if not len(rows):
            break
    return rows


def count(opened: Opened, chosen: Sequence[Chosen]) -> Features:
    """Return the features of captures."""
    captures = sum(map(len, chosen))
    documents = _different([one.take("digest") for one in chosen], opened.documents)
    urls = _different([one.take("url") for one in chosen], opened.urls)
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


def count_groups(
    opened: Opened, chosen: Sequence[Chosen], by: Sequence[Criterion]
) -> list[FacetRow]:
    """Return the features of each value of a criterion, or of each pair of values of two."""
    if not chosen:
        return []
    cards = [len(opened.labels(name)) for name in by]
    if Criterion.MONTH in by:
        # What is of different months is never one group, so that each month is by itself.
        pieces = [_grouped(opened, [one], by, cards) for one in chosen]
    else:
        pieces = [_grouped(opened, chosen, by, cards)]
    return [row for keys, features in pieces for row in _named(opened, by, cards, keys, features)]


def _grouped(
    opened: Opened, chosen: Sequence[Chosen], by: Sequence[Criterion], cards: Sequence[int]
) -> tuple[Array, dict[str, Array]]:
    """Return the keys of groups in order, and the features of each."""
    keys = np.concatenate([_keys(opened, one, by, cards) for one in chosen])
    different, groups, counts = _dense(keys, int(np.prod(cards)))
    columns = {
        name: np.concatenate([one.take(name) for one in chosen])
        for name in ("size_bytes", "digest", "url")
    }
    captures = Captures(
        {},
        columns["size_bytes"],
        columns["digest"],
        columns["url"],
        opened.sizes,
        _varied_marks(opened, chosen),
    )
    rows = np.arange(len(groups))
    documents = repeats(captures.documents, groups)
    urls = repeats(captures.urls, groups)
    return different, features_of(captures, rows, groups, counts, documents, urls)


def _varied_marks(opened: Opened, chosen: Sequence[Chosen]) -> Array | None:
    varied = varied_of(opened, chosen)
    if varied is None:
        return None
    marks = np.zeros(opened.documents, dtype=bool)
    marks[varied[0]] = True
    return marks


def _keys(opened: Opened, one: Chosen, by: Sequence[Criterion], cards: Sequence[int]) -> Array:
    keys = np.zeros(len(one), dtype=np.int64)
    for name, card in zip(by, cards, strict=True):
        keys *= card
        if name is Criterion.MONTH:
            keys += opened.labels(name).index(one.month)
        else:
            keys += one.take(name)
    return keys


def _dense(keys: Array, size: int) -> tuple[Array, Array, Array]:
    """Return different keys in order, the place of each key among them, and how often it is."""
    if size > _COUNTED_AT_ONCE:
        return np.unique(keys, return_inverse=True, return_counts=True)
    counts = np.bincount(keys, minlength=size)
    different = np.flatnonzero(counts)
    places = np.zeros(size, dtype=np.int64)
    places[different] = np.arange(len(different))
    return different, places[keys], counts[different]


def _named(
    opened: Opened,
    by: Sequence[Criterion],
    cards: Sequence[int],
    keys: Array,
    features: Mapping[str, Array],
) -> Iterator[FacetRow]:
    codes = np.unravel_index(keys, tuple(cards))
    values = [
        [opened.labels(name)[code] for code in found.tolist()]
        for name, found in zip(by, codes, strict=True)
    ]
    numbers = [features[name].tolist() for name in FEATURES]
    for place in range(len(keys)):
        found = {name: column[place] for name, column in zip(FEATURES, numbers, strict=True)}
        yield FacetRow(tuple(column[place] for column in values), Features(**found))

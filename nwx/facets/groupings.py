"""The combinations of criteria that have many captures, with all their features.

The groupings are gone through from the coarse to the fine: a grouping is its
parent refined by one more criterion, and only captures of combinations that
are heavy in the parent are looked at. A combination that has all captures of
its parent has its features too. Of the others each unique count is that of
the documents (or URLs) that occur once, which can simply be added up, and of
the different pairs of combination and document among the rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from nwx.engine.arrays import Array, narrow
from nwx.engine.cube import FEATURES
from nwx.facets.criteria import CUBE, Criterion

_ORDER = (
    Criterion.SITE,
    Criterion.TLD,
    Criterion.MONTH,
    Criterion.TYPE,
    Criterion.SIZE,
    Criterion.DEPTH,
)
"""What refines most comes first, so that much is left out early."""

_COUNTED_AT_ONCE = 1 << 26
_EXACT = 1 << 53

Columns = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Kind:
    """Documents or URLs of captures: their numbers, and whether each occurs only once.

    `sizes` are the bytes of each number, None where nothing is to be added
    up; those of `varied` numbers differ from capture to capture.
    """

    numbers: Array
    alone: Array
    sizes: Array | None = None
    varied: Array | None = None


@dataclass(frozen=True, slots=True)
class Captures:
    """The captures of one status: codes of the criteria, sizes, documents and URLs."""

    codes: Mapping[Criterion, Array]
    size_bytes: Array
    documents: Kind
    urls: Kind


@dataclass(frozen=True, slots=True)
class Grouping:
    """Heavy combinations: their codes and features; `rows` are their captures, `cells` whose.

    `implied` are the codes of criteria that divide them no further, as the
    site divides into no more than the site and its TLD.
    """

    criteria: tuple[Criterion, ...]
    codes: dict[Criterion, Array]
    features: dict[str, Array]
    rows: Array
    cells: Array
    implied: dict[Criterion, Array] = field(default_factory=dict)

    def with_implied(self) -> Iterator["Grouping"]:
        """Give the grouping, and those that it becomes by each choice of what is implied."""
        for size in range(len(self.implied) + 1):
            for some in combinations(self.implied, size):
                codes = self.codes | {name: self.implied[name] for name in some}
                yield replace(self, criteria=(*self.criteria, *some), codes=codes)

    def divides_no_more_than(self, parent: "Grouping") -> bool:
        """Tell whether each combination has all captures of one of the parent's."""
        return len(self.rows) == len(parent.rows) and (
            len(self.features["captures"]) == len(parent.features["captures"])
        )

    @property
    def name(self) -> str:
        """The name of the grouping: its criteria in the order of CUBE."""
        return ",".join(name for name in CUBE if name in self.criteria)


def all_groupings() -> list[str]:
    """Return the names of all groupings."""
    return [",".join(some) for size in range(len(CUBE) + 1) for some in combinations(CUBE, size)]


def heavy_combinations(
    captures: Captures, least: int, pool: Executor, wanted: Sequence[Criterion] = CUBE
) -> Iterator[Grouping]:
    """Give each grouping with the combinations that have at least so many captures.

    Only those of the `wanted` criteria.
    """
    counter = _Counter(captures, pool)
    root = counter.root()
    if int(root.features["captures"][0]) >= least:
        yield from _finer(counter, root, [name for name in _ORDER if name in wanted], least)


def _finer(
    counter: "_Counter", grouping: Grouping, further: Sequence[Criterion], least: int
) -> Iterator[Grouping]:
    yield from grouping.with_implied()
    for place, criterion in enumerate(further, 1):
        refined = counter.refine(grouping, criterion, least)
        if refined.divides_no_more_than(grouping):
            yield from refined.with_implied()
            implied = grouping.implied | {criterion: refined.codes[criterion]}
            grouping = replace(grouping, implied=implied)
        elif len(refined.rows):
            yield from _finer(counter, refined, further[place:], least)


class _Counter:
    """Counts the combinations of the captures of one status."""

    def __init__(self, captures: Captures, pool: Executor) -> None:
        self._captures = captures
        self._pool = pool
        self._cards = {
            name: int(codes.max(initial=0)) + 1 for name, codes in captures.codes.items()
        }

    def root(self) -> Grouping:
        """Return the one combination of all captures."""
        total = len(self._captures.size_bytes)
        rows = np.arange(total, dtype=np.uint32 if total < 1 << 32 else np.int64)
        cells = np.zeros(total, dtype=np.uint32)
        counts = np.array([total], dtype=np.int64)
        return Grouping((), {}, self._count(rows, cells, counts), rows, cells)

    def refine(self, parent: Grouping, criterion: Criterion, least: int) -> Grouping:
        """Return the heavy combinations of a grouping and one more criterion."""
        card = self._cards[criterion]
        keys = parent.cells.astype(np.int64)
        keys *= card
        keys += self._captures.codes[criterion][parent.rows]
        heavy, counts, cells = _heavy(keys, len(parent.features["captures"]) * card, least)
        kept = cells >= 0
        if kept.all():
            rows, cells = parent.rows, cells.astype(np.uint32)
        else:
            rows, cells = parent.rows[kept], cells[kept].astype(np.uint32)
        above = heavy // card
        codes = {name: column[above] for name, column in parent.codes.items()}
        codes[criterion] = heavy % card
        features = self._features(parent, above, counts, rows, cells)
        implied = {name: column[above] for name, column in parent.implied.items()}
        return Grouping((*parent.criteria, criterion), codes, features, rows, cells, implied)

    def _features(
        self, parent: Grouping, above: Array, counts: Array, rows: Array, cells: Array
    ) -> dict[str, Array]:
        """Return the features of combinations: their parent's where they have all its captures."""
        features = {name: parent.features[name][above] for name in FEATURES}
        split = np.flatnonzero(features["captures"] != counts)
        if not len(split):
            return features
        numbers = np.full(len(counts), -1, dtype=np.int32)
        numbers[split] = np.arange(len(split), dtype=np.int32)
        of_split = numbers[cells]
        if len(split) < len(counts):
            chosen = of_split >= 0
            rows, of_split = rows[chosen], of_split[chosen]
        for name, found in self._count(rows, of_split, counts[split]).items():
            features[name][split] = found
        return features

    def _count(self, rows: Array, cells: Array, counts: Array) -> dict[str, Array]:
        """Return the features of the captures in `rows` by their cells."""
        size = len(counts)
        urls = self._pool.submit(unique, self._captures.urls, rows, cells, size, None)
        sizes = self._captures.size_bytes
        documents, unique_bytes = unique(self._captures.documents, rows, cells, size, sizes)
        added = sums(cells, sizes[rows], size)
        return {
            "captures": counts,
            "unique_documents": documents,
            "unique_urls": urls.result()[0],
            "bytes": added,
            "unique_bytes": unique_bytes,
        }


def _heavy(keys: Array, size: int, least: int) -> tuple[Array, Array, Array]:
    """Return the keys that occur often, how often, and the place of each key among them, or -1."""
    if size <= max(_COUNTED_AT_ONCE, 2 * len(keys)):
        counts = np.bincount(keys, minlength=size)
        heavy = np.flatnonzero(counts >= max(least, 1))
        places = np.full(size, -1, dtype=np.int32)
        places[heavy] = np.arange(len(heavy), dtype=np.int32)
        return heavy, counts[heavy], places[keys]
    different, among, counts = np.unique(keys, return_inverse=True, return_counts=True)
    often = np.flatnonzero(counts >= least)
    places = np.full(len(different), -1, dtype=np.int32)
    places[often] = np.arange(len(often), dtype=np.int32)
    return different[often], counts[often], places[among]


def unique(
    kind: Kind, rows: Array, cells: Array, size: int, sizes: Array | None
) -> tuple[Array, Array]:
    """Return how many different numbers each cell has, and their bytes."""
    alone = kind.alone[rows]
    once = cells[alone]
    counts = np.bincount(once, minlength=size)
    added = np.zeros(size, dtype=np.int64)
    if sizes is not None:
        added += sums(once, sizes[rows[alone]], size)
    rest = ~alone
    rows, cells = rows[rest], cells[rest]
    numbers = kind.numbers[rows]
    if kind.varied is not None and sizes is not None:
        differs = kind.varied[numbers]
        if differs.any():
            added += varied_bytes(cells[differs], numbers[differs], sizes[rows[differs]], size)
    bits = np.uint64(max(size - 1, 1).bit_length())
    pairs = numbers.astype(np.uint64) << bits | cells.astype(np.uint64)
    pairs.sort()
    pairs = pairs[_changes(pairs)]
    of_pairs = (pairs & np.uint64((1 << int(bits)) - 1)).astype(np.int64)
    counts += np.bincount(of_pairs, minlength=size)
    if kind.sizes is not None:
        added += sums(of_pairs, kind.sizes[(pairs >> bits).astype(np.int64)], size)
    return counts, added


def varied_bytes(cells: Array, numbers: Array, sizes: Array, size: int) -> Array:
    """Return the bytes of documents whose captures differ in size: the largest in a cell counts."""
    order = np.lexsort((sizes, numbers, cells))
    cells, numbers, sizes = cells[order], numbers[order], sizes[order]
    last = np.ones(len(cells), dtype=bool)
    last[:-1] = (cells[1:] != cells[:-1]) | (numbers[1:] != numbers[:-1])
    return sums(cells[last], sizes[last], size)


def sums(cells: Array, sizes: Array, size: int) -> Array:
    """Return the sum of the sizes of each cell, exactly."""
    if int(sizes.max(initial=0)) * len(sizes) < _EXACT:
        return np.bincount(cells, weights=sizes, minlength=size).astype(np.int64)
    low = np.bincount(cells, weights=sizes & 0xFFFF, minlength=size).astype(np.int64)
    return low + (sums(cells, sizes >> 16, size) << 16)


def _changes(ordered: Array) -> Array:
    """Tell of each value whether it differs from the one before."""
    changes = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return changes


def stored(grouping: Grouping, status: int) -> dict[str, Array]:
    """Return the columns of a grouping as they are stored."""
    size = len(grouping.features["captures"])
    columns = {"status": np.full(size, status, dtype=np.uint8)}
    columns |= {name.value: narrow(codes) for name, codes in grouping.codes.items()}
    return columns | {name: narrow(grouping.features[name]) for name in FEATURES}

"""The combinations of criteria that have many captures, with all their features.

The groupings are gone through from the coarse to the fine: a grouping is its
parent refined by one more criterion, and only captures of combinations that
are heavy in the parent are looked at. A combination that has all captures of
its parent has its features too. Of the others, the unique documents are all
captures but those that repeat one of their combination: a capture that
shares its document with no other of a combination shares it with none of a
finer one, so that the finer the grouping, the fewer captures are left that
may repeat another. URLs likewise.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from nwx.engine.arrays import Array, narrow
from nwx.facets.adding import Before, Numbers, added
from nwx.facets.criteria import CUBE, Criterion
from nwx.facets.question import STORED_FEATURES
from nwx.facets.summing import sums, varied_bytes

_ORDER = (
    Criterion.MONTH,
    Criterion.SITE,
    Criterion.TLD,
    Criterion.TYPE,
    Criterion.SIZE,
    Criterion.DEPTH,
)
"""What leaves the fewest captures that repeat others comes first, then what refines most."""

_COUNTED_AT_ONCE = 1 << 26

GroupingColumns = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Captures(Numbers):
    """Captures: codes of their criteria, bytes, and numbers of their documents and URLs.

    `sizes` are the bytes of documents by their numbers. `varied` tells which
    documents have captures of several sizes, whose `sizes` are 0; None where
    there are none.
    """

    codes: Mapping[Criterion, Array]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Heavy combinations: their codes and features; `rows` are their captures, `cells` whose.

    `repeating` tells which of the captures may share their document with
    another of the combination, and which their URL.
    `implied` are the codes of criteria that divide them no further, as the
    site divides into no more than the site and its TLD.
    """

    criteria: tuple[Criterion, ...]
    codes: dict[Criterion, Array]
    features: dict[str, Array]
    rows: Array
    cells: Array
    repeating: tuple[Array, Array]
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
    captures: Captures,
    least: int,
    pool: Executor,
    wanted: Sequence[Criterion] = CUBE,
    before: Before | None = None,
) -> Iterator[Grouping]:
    """Give each grouping with the combinations that have at least so many captures.

    Only those of the `wanted` criteria. What is known from `before` is not
    counted again: the new captures are added.
    """
    counter = _Counter(captures, pool, before)
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

    def __init__(self, captures: Captures, pool: Executor, before: Before | None) -> None:
        self._captures = captures
        self._before = before
        self._pool = pool
        self._cards = {
            name: int(codes.max(initial=0)) + 1 for name, codes in captures.codes.items()
        }

    def root(self) -> Grouping:
        """Return the one combination of all captures."""
        total = len(self._captures.size_bytes)
        rows = np.arange(total, dtype=np.uint32 if total < 1 << 32 else np.int64)
        cells = np.zeros(total, dtype=np.uint32)
        repeating = np.ones(total, dtype=bool), np.ones(total, dtype=bool)
        counts = np.array([total], dtype=np.int64)
        unset = {name: np.zeros(1, dtype=np.int64) for name in STORED_FEATURES}
        grouping = Grouping((), {}, unset, rows, cells, repeating)
        split = np.ones(1, dtype=bool)
        return replace(grouping, features=self._features(grouping, counts, split))

    def refine(self, parent: Grouping, criterion: Criterion, least: int) -> Grouping:
        """Return the heavy combinations of a grouping and one more criterion."""
        card = self._cards[criterion]
        keys = parent.cells.astype(np.int64)
        keys *= card
        keys += self._captures.codes[criterion][parent.rows]
        heavy, counts, cells = _heavy(keys, len(parent.features["captures"]) * card, least)
        kept = np.flatnonzero(cells >= 0)
        rows, cells = parent.rows[kept], cells[kept].astype(np.uint32)
        repeating = parent.repeating[0][kept], parent.repeating[1][kept]
        above = heavy // card
        features = {name: parent.features[name][above] for name in STORED_FEATURES}
        split = features["captures"] != counts
        codes = {name: column[above] for name, column in parent.codes.items()}
        codes[criterion] = heavy % card
        implied = {name: column[above] for name, column in parent.implied.items()}
        criteria = (*parent.criteria, criterion)
        refined = Grouping(criteria, codes, features, rows, cells, repeating, implied)
        if split.any():
            refined = replace(refined, features=self._features(refined, counts, split))
        return refined

    def _features(self, grouping: Grouping, counts: Array, split: Array) -> dict[str, Array]:
        """Return the features of a grouping, which it has but for the split cells."""
        features, rows, cells = grouping.features, grouping.rows, grouping.cells
        repeating = grouping.repeating
        if self._before is not None:
            known, found = self._before.find(grouping.codes, self._cards, len(counts))
            known &= split
            split = split & ~known
            if known.any():
                more = added(self._captures, self._before, rows, cells, len(counts), self._pool)
                features = {
                    name: np.where(known, found[name] + more[name], features[name])
                    for name in STORED_FEATURES
                }
            # Only few cells are new ones, and none of all others is looked at.
            some = np.flatnonzero(split[cells])
            rows, cells = rows[some], cells[some]
            repeating = repeating[0][some], repeating[1][some]
        if split.any():
            counted = self._count(rows, cells, counts, split, repeating)
            features = {
                name: np.where(split, counted[name], features[name]) for name in STORED_FEATURES
            }
        return features

    def _count(
        self,
        rows: Array,
        cells: Array,
        counts: Array,
        wanted: Array,
        repeating: tuple[Array, Array],
    ) -> dict[str, Array]:
        """Return the features of the wanted cells.

        Captures that turn out to repeat no other are no longer `repeating`.
        """
        captures = self._captures
        open_rows = [_open(some, cells, wanted) for some in repeating]
        of_documents, of_urls = open_rows
        in_pool = self._pool.submit(repeats, captures.urls[rows[of_urls]], cells[of_urls])
        documents = repeats(captures.documents[rows[of_documents]], cells[of_documents])
        urls = in_pool.result()
        repeating[0][of_documents[~documents.suspected]] = False
        repeating[1][of_urls[~urls.suspected]] = False
        return features_of(captures, rows, cells, counts, documents, urls)


def _open(repeating: Array, cells: Array, wanted: Array) -> Array:
    """Return the places of captures that may repeat others of the wanted cells."""
    places = np.flatnonzero(repeating)
    return places if wanted.all() else places[wanted[cells[places]]]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Captures that repeat another of their cell: the cell and the number of each.

    `suspected` tells of all that were looked at whether they may be among
    those that share a number, the first ones of each included.
    """

    cells: Array
    numbers: Array
    suspected: Array


def repeats(numbers: Array, cells: Array) -> Repeats:
    """Return the captures whose number another capture of the same cell had before."""
    suspected = _suspected(numbers, cells)
    numbers, cells = numbers[suspected], cells[suspected]
    bits = int(cells.max(initial=1)).bit_length()
    pairs = numbers.astype(np.uint64) << np.uint64(bits) | cells.astype(np.uint64)
    pairs.sort()
    again = pairs[1:][pairs[1:] == pairs[:-1]].view(np.int64)
    return Repeats(again & ((1 << bits) - 1), again >> bits, suspected)


def _suspected(numbers: Array, cells: Array) -> Array:
    """Tell of each pair whether another one falls into its slot: most that are alone do not."""
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


def features_of(
    captures: Captures,
    rows: Array,
    cells: Array,
    counts: Array,
    documents: Repeats,
    urls: Repeats,
) -> dict[str, Array]:
    """Return the features of cells from their captures, and from which of them repeat others."""
    size = len(counts)
    sizes = captures.size_bytes[rows]
    added = sums(cells, sizes, size)
    # The sizes of varied documents are 0 there.
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


def stored(grouping: Grouping, status: int) -> dict[str, Array]:
    """Return the columns of a grouping as they are stored."""
    size = len(grouping.features["captures"])
    columns = {"status": np.full(size, status, dtype=np.uint8)}
    columns |= {name.value: narrow(codes) for name, codes in grouping.codes.items()}
    return columns | {name: narrow(grouping.features[name]) for name in STORED_FEATURES}

"""Texts packed in arrays, and counts of links: distinct URLs, hosts, domains, anchors by target."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nwx.bulk.arrays import Array, is_new

_FEW = 8
"""Looking up one in this many texts one by one costs as much as reading all."""


def packed_texts(texts: Sequence[str], name: str) -> dict[str, Array]:
    """Return texts as two arrays, `<name>_bytes` and `<name>_starts`."""
    encoded = list(map(str.encode, texts))
    starts = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=starts[1:])
    joined = np.frombuffer(b"".join(encoded), np.uint8)
    return {f"{name}_bytes": joined, f"{name}_starts": starts}


class Texts:
    """Texts by number, from the arrays of `packed_texts`."""

    def __init__(self, arrays: Mapping[str, Array], name: str) -> None:
        self._bytes = arrays[f"{name}_bytes"].data
        self._starts = arrays[f"{name}_starts"]
        self._name = name

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self._encoded(number).decode()

    def _encoded(self, number: int) -> bytes:
        return bytes(self._bytes[self._starts[number] : self._starts[number + 1]])

    def take(self, numbers: Iterable[int]) -> list[str]:
        """Return the texts with these numbers."""
        return [self[number] for number in numbers]

    def all(self) -> list[str]:
        """Return all texts."""
        return self.between(0, len(self))

    def between(self, begin: int, end: int) -> list[str]:
        """Return the texts from one number up to, excluding, another."""
        starts = self._starts[begin : end + 1].tolist()
        whole = bytes(self._bytes[starts[0] : starts[-1]])
        offset = starts[0]
        return [whole[one - offset : other - offset].decode() for one, other in pairwise(starts)]

    def cut(self, begin: int, end: int) -> dict[str, Array]:
        """Return the arrays of the texts from one number up to, excluding, another."""
        starts = self._starts[begin : end + 1]
        cut = np.frombuffer(self._bytes, np.uint8)[int(starts[0]) : int(starts[-1])]
        return {f"{self._name}_bytes": cut, f"{self._name}_starts": starts - starts[0]}

    def place(self, text: str) -> int:
        """Return the number of the first text not less than `text`, by bisection.

        The texts must be sorted by their bytes.
        """
        wanted = text.encode()
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._encoded(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, text: str) -> int | None:
        """Return the number of a text, None if it is missing; the texts must be sorted."""
        place = self.place(text)
        return place if place < len(self) and self[place] == text else None

    def places(self, texts: Sequence[str]) -> list[int]:
        """Return the results of `place` for several sorted texts."""
        if len(texts) * _FEW < len(self):
            return list(map(self.place, texts))
        found, among, place = [], self.all(), 0
        for text in texts:
            place = bisect_left(among, text, place)
            found.append(place)
        return found


def merged_texts(
    base: Texts, new: Sequence[str], name: str
) -> tuple[dict[str, Array], Array, Array]:
    """Return the arrays of old and new texts merged in order, each text once.

    The other two arrays map the old and the new texts to their numbers in it.
    """
    places = np.array(base.places(new), dtype=np.int64)
    pairs = zip(places.tolist(), new, strict=True)
    known = np.array([at < len(base) and base[at] == text for at, text in pairs], dtype=bool)
    inserted = places[~known]
    of_base = np.arange(len(base)) + np.searchsorted(inserted, np.arange(len(base)), side="right")
    of_new = np.zeros(len(new), dtype=np.int64)
    of_new[known] = of_base[places[known]]
    of_new[~known] = inserted + np.arange(len(inserted))
    added = [text.encode() for text, is_known in zip(new, known, strict=True) if not is_known]
    return _inserted(base.cut(0, len(base)), inserted, added, name), of_base, of_new


def _inserted(
    arrays: Mapping[str, Array], places: Array, texts: Sequence[bytes], name: str
) -> dict[str, Array]:
    """Return the arrays of texts with others inserted before the given positions."""
    whole, starts = arrays[f"{name}_bytes"], arrays[f"{name}_starts"]
    pieces: list[bytes | memoryview] = []
    view, before = whole.data, 0
    for offset, text in zip(starts[places].tolist(), texts, strict=True):
        pieces += (view[before:offset], text)
        before = offset
    pieces.append(view[before:])
    lengths = np.insert(np.diff(starts), places, list(map(len, texts)))
    return {
        f"{name}_bytes": np.frombuffer(b"".join(pieces), np.uint8),
        f"{name}_starts": np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
    }


def chosen_texts(arrays: Mapping[str, Array], numbers: Array, name: str) -> dict[str, Array]:
    """Return the arrays of the texts with these numbers."""
    starts = arrays[f"{name}_starts"]
    _, places = spread(starts, numbers)
    lengths = starts[numbers + 1] - starts[numbers]
    return {
        f"{name}_bytes": arrays[f"{name}_bytes"][places],
        f"{name}_starts": np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
    }


def joined_texts(parts: Iterable[Mapping[str, Array]], name: str) -> dict[str, Array]:
    """Return the concatenated arrays of the texts of several parts."""
    parts = list(parts)
    lengths = np.concatenate([np.diff(one[f"{name}_starts"]) for one in parts])
    return {
        f"{name}_bytes": np.concatenate([one[f"{name}_bytes"] for one in parts]),
        f"{name}_starts": np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
    }


def spread(starts: Array, numbers: Array) -> tuple[Array, Array]:
    """Return the positions of all items in the lists `numbers`, which begin at `starts`.

    The first array gives the index into `numbers` for each of these positions.
    """
    begins = starts[numbers].astype(np.int64)
    lengths = starts[numbers + 1].astype(np.int64) - begins
    ends = np.cumsum(lengths)
    of = np.repeat(np.arange(len(numbers)), lengths)
    places = np.arange(len(of)) + np.repeat(begins - ends + lengths, lengths)
    return of, places


_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_LEVELS = ("source", "host", "domain")


class CellRows(NamedTuple):
    """Links by cell: one row for each cell of each link.

    Sorted by cell, then by link. `place` is the position of the first and last date in the cells of
    all documents.
    """

    cell: Array
    link: Array
    place: Array


class CellCounts(NamedTuple):
    """Counts of cells, in the order of target and cell code; equally long arrays."""

    target: Array
    cell: Array
    documents: Array
    hosts: Array
    domains: Array
    first: Array
    last: Array


def cell_rows(documents: Array, table: Mapping[str, Array]) -> CellRows:
    """Return one row for each cell of each link; links are given by their documents.

    `table` has the arrays of the linking documents.
    """
    link, places = spread(table["cell_starts"], documents)
    cells = table["cell_code"][places]
    # NumPy sorts numbers of 16 bits without comparisons (radix sort).
    order = np.argsort(cells, kind="stable")
    return CellRows(cells[order], link[order], places[order])


def count_linked_cells(targets: Array, documents: Array, table: Mapping[str, Array]) -> CellCounts:
    """Return the counts of the cells of targets.

    Links are sorted by target, links to one target by linking document (`order` of the table): a
    domain, host and URL are contiguous.
    """
    if not len(targets):
        none = np.zeros(0, dtype=np.int64)
        return CellCounts(none, none, none, none, none, none, none)
    rows = cell_rows(documents, table)
    target = targets[rows.link]
    new = is_new(target) | is_new(rows.cell)
    starts = np.flatnonzero(new)
    counts = {}
    for level in _LEVELS:
        differs = is_new(table[level][documents][rows.link])
        counts[level] = np.add.reduceat(differs | new, starts, dtype=np.int64)
    found = CellCounts(
        target=target[starts],
        cell=rows.cell[starts],
        documents=counts["source"],
        hosts=counts["host"],
        domains=counts["domain"],
        first=np.minimum.reduceat(table["cell_first"][rows.place], starts),
        last=np.maximum.reduceat(table["cell_last"][rows.place], starts),
    )
    return ordered_counts(found)


def ordered_counts(counts: CellCounts) -> CellCounts:
    """Return counts in the order of target and cell."""
    order = np.argsort(counts.target.astype(np.uint64) << _HALF | counts.cell.astype(np.uint64))
    return CellCounts(*(column[order] for column in counts))


def count_distinct(groups: Array, values: Array, size: int) -> Array:
    """Return the number of distinct values (below 2**32) in each of `size` groups."""
    keys = groups.astype(np.uint64) << _HALF | values.astype(np.uint64)
    keys.sort()
    return np.bincount((keys[is_new(keys)] >> _HALF).astype(np.int64), minlength=size)


class AnchorCounts(NamedTuple):
    """The number of URLs and hosts that use an anchor in a group; sorted by group and anchor."""

    group: Array
    anchor: Array
    documents: Array
    hosts: Array


def count_anchors(
    groups: Array, anchors: Array, documents: Array, table: Mapping[str, Array]
) -> AnchorCounts:
    """Return the anchor counts of links by group (below 2**32); anchor 0 means none."""
    there = anchors > 0
    groups, anchors, documents = groups[there], anchors[there], documents[there]
    keys = groups.astype(np.uint64) << _HALF | anchors.astype(np.uint64)
    order = np.argsort(keys)
    keys = keys[order]
    new = is_new(keys)
    number = np.cumsum(new) - 1
    heads = keys[new]
    found = documents[order]
    return AnchorCounts(
        (heads >> _HALF).astype(np.int64),
        (heads & _LOW).astype(np.int64),
        count_distinct(number, table["source"][found], len(heads)),
        count_distinct(number, table["host"][found], len(heads)),
    )


def most_frequent(counts: AnchorCounts, most: int) -> AnchorCounts:
    """Return the most frequent anchors of each group, ties by their numbers; groups in order."""
    order = np.lexsort((counts.anchor, -counts.documents, counts.group))
    groups = counts.group[order]
    starts = np.flatnonzero(is_new(groups))
    ranks = np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))
    return AnchorCounts(*(column[order[ranks < most]] for column in counts))

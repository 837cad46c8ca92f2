"""Counting links: distinct linking URLs, hosts and domains by target and cell, and anchors."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nwx.bulk.arrays import Array

U64 = npt.NDArray[np.uint64]
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class CellCounts(NamedTuple):
    """Counts of cells, in the order of target and cell code; equally long arrays."""

    target: Array
    cell: Array
    documents: Array
    hosts: Array
    domains: Array
    first: Array
    last: Array


class CellRows(NamedTuple):
    """Links by the cells that they are in: a row for each cell of each link.

    `group` numbers the cells of targets from 0 on, in order; `link` is the
    place of the link.
    """

    target: Array
    cell: Array
    group: Array
    link: Array
    first: Array
    last: Array


def spread(starts: Array, numbers: Array) -> tuple[Array, Array]:
    """Return for lists that begin at `starts` the places of all that is in some of them.

    The first array has for each of these places which of `numbers` it is of.
    """
    begins = starts[numbers].astype(np.int64)
    lengths = starts[numbers + 1].astype(np.int64) - begins
    ends = np.cumsum(lengths)
    of = np.repeat(np.arange(len(numbers)), lengths)
    places = np.arange(len(of)) + np.repeat(begins - ends + lengths, lengths)
    return of, places


def cell_rows(targets: Array, documents: Array, table: Mapping[str, Array]) -> CellRows:
    """Return the links, by target and document, in each of the cells that their documents are in.

    `table` has the arrays of the linking documents.
    """
    link, places = spread(table["cell_starts"], documents)
    cells = table["cell_code"][places]
    keys = targets[link].astype(np.uint64) << _HALF | cells
    order = np.argsort(keys)
    keys = keys[order]
    new = _new(keys)
    group = np.cumsum(new) - 1
    heads = keys[new]
    return CellRows(
        (heads >> _HALF).astype(np.int64),
        (heads & _LOW).astype(np.int64),
        group,
        link[order],
        table["cell_first"][places][order],
        table["cell_last"][places][order],
    )


def count_linked_cells(rows: CellRows, documents: Array, table: Mapping[str, Array]) -> CellCounts:
    """Return the counts of cells; `documents` are those of the links that the rows are of."""
    size = len(rows.target)
    if not size:
        none = np.zeros(0, dtype=np.int64)
        return CellCounts(none, none, none, none, none, none, none)
    found = documents[rows.link]
    starts = np.flatnonzero(_new(rows.group))
    distinct = {
        name: count_distinct(rows.group, table[name][found], size)
        for name in ("source", "host", "domain")
    }
    return CellCounts(
        target=rows.target,
        cell=rows.cell,
        documents=distinct["source"],
        hosts=distinct["host"],
        domains=distinct["domain"],
        first=np.minimum.reduceat(rows.first, starts),
        last=np.maximum.reduceat(rows.last, starts),
    )


def count_distinct(groups: Array, values: Array, size: int) -> Array:
    """Return how many different values (below 2**32) each of `size` groups has."""
    keys = groups.astype(np.uint64) << _HALF | values.astype(np.uint64)
    keys.sort()
    return np.bincount((keys[_new(keys)] >> _HALF).astype(np.int64), minlength=size)


class AnchorCounts(NamedTuple):
    """How many URLs and hosts use an anchor in a group; in the order of both."""

    group: Array
    anchor: Array
    documents: Array
    hosts: Array


def count_anchors(
    groups: Array, anchors: Array, documents: Array, table: Mapping[str, Array]
) -> AnchorCounts:
    """Return the counts of the anchors of links by group (below 2**32); 0 is no anchor."""
    there = anchors > 0
    groups, anchors, documents = groups[there], anchors[there], documents[there]
    keys = groups.astype(np.uint64) << _HALF | anchors.astype(np.uint64)
    order = np.argsort(keys)
    keys = keys[order]
    new = _new(keys)
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
    starts = np.flatnonzero(_new(groups))
    ranks = np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))
    return AnchorCounts(*(column[order[ranks < most]] for column in counts))


def _new(keys: Array) -> npt.NDArray[np.bool_]:
    """Tell of sorted keys which differ from the one before."""
    found = np.ones(len(keys), dtype=bool)
    found[1:] = keys[1:] != keys[:-1]
    return found

"""Counting links: distinct linking URLs, hosts and domains by target and cell, and anchors."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.texts import spread

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_LEVELS = ("source", "host", "domain")


class CellRows(NamedTuple):
    """Links by the cells that they are in: a row for each cell of each link.

    In the order of cell, and then of the links. `place` is that of first
    and last date among the cells of all documents.
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
    """Return links, given by their documents, in each of the cells that these are in.

    `table` has the arrays of the linking documents.
    """
    link, places = spread(table["cell_starts"], documents)
    cells = table["cell_code"][places]
    # Numbers of 16 bits are put in order without comparing them.
    order = np.argsort(cells, kind="stable")
    return CellRows(cells[order], link[order], places[order])


def count_linked_cells(targets: Array, documents: Array, table: Mapping[str, Array]) -> CellCounts:
    """Return the counts of the cells of targets.

    Links are in the order of their targets, and those to one target in the
    order of the linking documents (`order` of the table): all of a domain,
    host and URL lie together.
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
    """Return how many different values (below 2**32) each of `size` groups has."""
    keys = groups.astype(np.uint64) << _HALF | values.astype(np.uint64)
    keys.sort()
    return np.bincount((keys[is_new(keys)] >> _HALF).astype(np.int64), minlength=size)


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


def is_new(keys: Array) -> npt.NDArray[np.bool_]:
    """Tell which keys differ from the one before."""
    found = np.ones(len(keys), dtype=bool)
    found[1:] = keys[1:] != keys[:-1]
    return found

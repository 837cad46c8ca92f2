"""Resources in the order in which capturing them makes most pages whole.

A page is whole when everything that it lacks is captured. A page that lacks
n things counts 1/n for each of these, n being what is left of them: so what
many pages lack together with little else comes first, and what completes
pages comes before what begins with others.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.counts import is_new, spread
from nwx.quality.repairs.lacks import Lacks

_WHOLE = 26_771_144_400
"""What a page counts in all: 1 to 26 divide it, and the sum of 300 million pages fits 64 bits."""

_CHOSEN = -1
_BLOCK = 1_024


class Repaired(NamedTuple):
    """A resource by its number, and how many pages it makes whole after those before it."""

    resource: int
    whole: int


def greedy_order(lacks: Lacks) -> Iterator[Repaired]:
    """Yield all resources, always the one next that counts most, of equal ones the first.

    Shares are whole numbers, so that the order does not depend on that of
    pages. Pages that lack the same are counted as one group, and the highest
    of each block of resources is kept: it only grows until it is chosen.
    """
    order = _Order(_grouped(lacks), lacks.resources)
    for _ in range(lacks.resources):
        yield order.next()


class _Groups(NamedTuple):
    """Groups of pages that lack the same.

    Group g lacks `resource[starts[g]:starts[g + 1]]`. `pages` is how many
    they are, `left` how much each of them lacks.
    """

    starts: Array
    resource: Array
    pages: Array
    left: Array


def _grouped(lacks: Lacks) -> _Groups:
    begins = np.flatnonzero(np.diff(lacks.page, prepend=-1))
    if not len(begins):
        none = np.zeros(0, dtype=np.int64)
        return _Groups(np.zeros(1, dtype=np.int64), none, none, none)
    lengths = np.diff(begins, append=len(lacks.page))
    beyond = lacks.beyond[lacks.page[begins]].astype(np.int64)
    codes = np.random.default_rng(1).integers(0, 1 << 64, (2, lacks.resources), np.uint64)
    # Two sums of 64 bits tell sets of resources apart.
    sums = [np.add.reduceat(one[lacks.resource], begins) for one in codes]
    order = np.lexsort((beyond, lengths, *sums))
    new = np.zeros(len(order), dtype=bool)
    for column in (beyond, lengths, *sums):
        new |= is_new(column[order])
    first = order[new]
    counts = np.diff(np.flatnonzero(new), append=len(order))
    of, places = spread(np.append(begins, len(lacks.page)), first)
    sizes = np.bincount(of, minlength=len(first))
    return _Groups(_starts(sizes), lacks.resource[places], counts, sizes + beyond[first])


def _starts(sizes: Array) -> Array:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


class _Order:
    """What resources count, which changes while they are chosen."""

    def __init__(self, groups: _Groups, resources: int) -> None:
        self._groups = groups
        self._left = groups.left.copy()
        group = np.repeat(np.arange(len(groups.pages)), np.diff(groups.starts))
        self._groups_of = group[np.argsort(groups.resource, kind="stable")]
        self._group_starts = _starts(np.bincount(groups.resource, minlength=resources))
        blocks = -(-resources // _BLOCK)
        # What is behind the last resource counts as chosen.
        self._counted = np.full(blocks * _BLOCK, _CHOSEN, dtype=np.int64)
        self._counted[:resources] = 0
        np.add.at(self._counted, groups.resource, self._shares(group))
        self._best = self._counted.reshape(blocks, _BLOCK).max(axis=1, initial=_CHOSEN)

    def _shares(self, groups: Array) -> Array:
        """Return what each resource that is left of some groups counts for it."""
        shares: Array = self._groups.pages[groups] * (_WHOLE // self._left[groups])
        return shares

    def next(self) -> Repaired:
        """Choose the resource that counts most."""
        block = int(self._best.argmax())
        counted = self._counted[block * _BLOCK : (block + 1) * _BLOCK]
        place = int(counted.argmax())
        counted[place] = _CHOSEN
        self._best[block] = counted.max()
        chosen = block * _BLOCK + place
        groups = self._groups_of[self._group_starts[chosen] : self._group_starts[chosen + 1]]
        return Repaired(chosen, self._capture(groups))

    def _capture(self, groups: Array) -> int:
        """Note that one of what some groups lack is captured; return the pages whole by that."""
        before = self._shares(groups)
        self._left[groups] -= 1
        more = groups[self._left[groups] > 0]
        gains = self._shares(more) - before[self._left[groups] > 0]
        of, places = spread(self._groups.starts, more)
        resources = self._groups.resource[places]
        waiting = self._counted[resources] != _CHOSEN
        resources = resources[waiting]
        np.add.at(self._counted, resources, gains[of[waiting]])
        np.maximum.at(self._best, resources // _BLOCK, self._counted[resources])
        return int(self._groups.pages[groups[self._left[groups] == 0]].sum())

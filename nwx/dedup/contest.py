"""Which captures of a key are duplicates, found among entries that are rows of numbers.

An entry is one capture: the number of its key (two words), its id, and
its rank among the captures of this key (one or two words, lowest first;
what they leave equal the id decides). Where the rank does not tell it, a
last word says what a line of a list would say of it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nwx.bulk.key_parts import KEY, Entries

KEY_REST, ID, RANK, TIE = range(1, 5)
"""The words of an entry behind `KEY`."""

_NO_RANK = np.uint64(0xFFFFFFFFFFFFFFFF)


class Contest(NamedTuple):
    """Which entries are duplicates, of how many keys, and how many were spared."""

    beaten: NDArray[np.bool_]
    keys: int
    spared: int


def contest(entries: Entries, ranks: int, spared_by: int | None) -> Contest:
    """Find the entries that are not the best of their key.

    The best is the lowest in the first `ranks` words of its rank, and then
    by id. Those that have the same as the best in the column `spared_by`
    are no duplicates, captures that are held (of rank 0) aside.
    """
    rows, starts = _shared(entries)
    beaten = np.zeros(len(entries), np.bool_)
    if not len(rows):
        return Contest(beaten, len(entries), 0)
    among = entries[rows]
    lost = ~_best(among, starts, ranks)
    keys = len(entries) - int(np.count_nonzero(lost))
    spared = 0
    if spared_by is not None:
        counts = np.diff(starts, append=len(rows))
        same = among[:, spared_by] == np.repeat(among[~lost, spared_by], counts)
        same &= among[:, RANK] > 0
        spared = int(np.count_nonzero(lost & same))
        lost &= ~same
    beaten[rows] = lost
    return Contest(beaten, keys, spared)


def bests(entries: Entries, ranks: int) -> tuple[Entries, NDArray[np.int64]]:
    """Return the best entry of each key, and how many entries the key has."""
    rows, starts = _shared(entries)
    best = np.ones(len(entries), np.bool_)
    counts = np.ones(len(entries), np.int64)
    if len(rows):
        won = _best(entries[rows], starts, ranks)
        best[rows] = won
        counts[rows[won]] = np.diff(starts, append=len(rows))
    return entries[best], counts[best]


def _shared(entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of keys that have several, key by key, and where each key begins."""
    order = np.argsort(entries[:, KEY])
    keys = entries[order, KEY]
    same = keys[1:] == keys[:-1]
    several = np.zeros(len(entries), np.bool_)
    several[1:] |= same
    several[:-1] |= same
    rows = order[several]
    later = np.zeros(len(entries), np.bool_)
    later[1:] = same
    rest = entries[rows, KEY_REST]
    later = later[several]
    if (rest[1:] != rest[:-1])[later[1:]].any():
        # different keys with the same first half: seen once in billions of years
        rows = rows[np.lexsort((rest, entries[rows, KEY]))]
        pairs = entries[rows, :ID]
        later[1:] = (pairs[1:] == pairs[:-1]).all(axis=1)
    return rows, np.flatnonzero(~later)


def _best(entries: Entries, starts: NDArray[np.int64], ranks: int) -> NDArray[np.bool_]:
    """Return which entries are the lowest of their group, by rank and then by id."""
    counts = np.diff(starts, append=len(entries))
    best = np.ones(len(entries), np.bool_)
    for column in (*range(RANK, RANK + ranks), ID):
        values = np.where(best, entries[:, column], _NO_RANK)
        best = values == np.repeat(np.minimum.reduceat(values, starts), counts)
    return best

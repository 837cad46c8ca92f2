"""Of the entries of a key all but the best are duplicates."""

import numpy as np

from nwx.bulk.key_parts import KEY
from nwx.dedup.contest import ID, RANK, bests, contest


def test_keys_that_share_their_first_half_are_told_apart() -> None:
    rows = [(5, 1, 0, 10), (5, 2, 1, 10), (5, 1, 2, 9), (5, 2, 3, 10), (6, 1, 4, 1)]
    entries = np.array(rows, np.uint64)
    assert entries[:, KEY].tolist() == [5, 5, 5, 5, 6]
    beaten, keys, spared = contest(entries, 1, None)
    assert beaten.tolist() == [True, False, False, True, False]
    assert (keys, spared) == (3, 0)
    beaten, keys, spared = contest(entries, 1, RANK)
    assert beaten.tolist() == [True, False, False, False, False]
    assert (keys, spared) == (3, 1)


def test_a_second_rank_decides_before_the_id() -> None:
    entries = np.array([(1, 0, 0, 5, 9), (1, 0, 1, 5, 8), (1, 0, 2, 6, 1)], np.uint64)
    assert contest(entries, 2, None).beaten.tolist() == [True, False, True]
    assert contest(entries, 1, None).beaten.tolist() == [False, True, True]


def test_no_entries_have_no_duplicates() -> None:
    beaten, keys, spared = contest(np.empty((0, 4), np.uint64), 1, RANK)
    assert (len(beaten), keys, spared) == (0, 0, 0)


def test_what_is_held_is_never_spared() -> None:
    """Held captures have rank 0, and none is a duplicate that a list could name."""
    rows = [(1, 0, 0, 0, 0), (1, 0, 1, 0, 0), (1, 0, 2, 5, 9), (2, 0, 3, 5, 7), (2, 0, 4, 6, 7)]
    entries = np.array(rows, np.uint64)
    found = contest(entries, 1, -1)
    assert (found.beaten.tolist(), found.spared) == ([False, True, True, False, False], 1)


def test_the_best_of_each_key_and_how_many_it_has() -> None:
    entries = np.array([(1, 0, 0, 5), (2, 0, 1, 5), (1, 0, 2, 4), (1, 0, 3, 4)], np.uint64)
    best, counts = bests(entries, 1)
    assert (best[:, ID].tolist(), counts.tolist()) == ([1, 2], [1, 3])
    assert [len(found) for found in bests(entries[:0], 1)] == [0, 0]

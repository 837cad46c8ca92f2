"""Work shared by processes gives what it gives in one."""

import os
import signal

import pytest

from nwx.bulk.pool import Pool
from nwx.bulk.progress import WorkProgress
from nwx.errors import SourceError


def test_results_come_in_order_from_any_number_of_processes() -> None:
    work = [(number, 2) for number in range(40)]
    for workers in (1, 2):
        with Pool(workers) as pool:
            assert list(pool.map(pow, work)) == [number**2 for number in range(40)]
            assert list(pool.map(pow, [])) == []


def test_it_is_shown_how_much_is_done() -> None:
    shown: list[WorkProgress] = []
    with Pool(1) as pool:
        work = [(1, 1), (2, 1)]
        results = pool.map_shown(pow, work, shown.append, "counting", [10, 5])
        assert list(results) == [1, 2]
    assert shown == [WorkProgress("counting", 10, 15), WorkProgress("counting", 15, 15)]


def test_a_process_that_was_killed_is_told() -> None:
    with Pool(2) as pool, pytest.raises(SourceError, match="was killed"):
        list(pool.map(_killed, [(1,), (2,)]))


def _killed(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)

"""Loads that are closed while others go on."""

import threading

import pytest

from nwx.engine.embedded.captures.ended_loads import EndedLoads


class _Load:
    """A load that takes until it may end, if it takes a while."""

    def __init__(self, *, long: bool) -> None:
        self._long = long
        self.may_end = threading.Event()
        self.steps: list[str] = []

    def unlock(self) -> bool:
        self.steps.append("unlocked")
        return self._long

    def close(self) -> None:
        if self._long:
            assert self.may_end.wait(10)
        self.steps.append("closed")


def test_a_short_load_is_closed_at_once() -> None:
    load = _Load(long=False)
    EndedLoads().end(load)
    assert load.steps == ["unlocked", "closed"]


@pytest.mark.parametrize("number", [1, 2])
def test_long_loads_are_closed_by_threads_and_waited_for(number: int) -> None:
    loads, ended = [_Load(long=True) for _ in range(number)], EndedLoads()
    for load in loads:
        ended.end(load)
        assert load.steps == ["unlocked"]
    for load in loads:
        load.may_end.set()
    ended.wait()
    assert all(load.steps == ["unlocked", "closed"] for load in loads)

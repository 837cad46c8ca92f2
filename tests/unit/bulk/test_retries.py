"""Waiting for an engine, without waiting."""

import pytest

from nwx.bulk import retries
from nwx.errors import EngineFullError, EngineUnavailableError


class Clock:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(retries, "time", clock)
    return clock


def away_until(clock: Clock, moment: float) -> str:
    if clock.now < moment:
        raise EngineUnavailableError("away")
    return "back"


def test_an_engine_that_comes_back_is_waited_for(clock: Clock) -> None:
    assert retries.retry_unavailable(lambda: away_until(clock, 40), 60) == "back"
    assert 40 <= clock.now < 50


def test_patience_ends(clock: Clock) -> None:
    with pytest.raises(EngineUnavailableError):
        retries.retry_unavailable(lambda: away_until(clock, 1000), 60)
    assert 59 < clock.now < 61


def test_whoever_stops_does_not_wait(clock: Clock) -> None:
    with pytest.raises(EngineUnavailableError):
        retries.retry_unavailable(lambda: away_until(clock, 1000), 60, lambda: clock.now > 3)
    assert clock.now < 4


def test_other_errors_are_not_waited_out(clock: Clock) -> None:
    def full() -> None:
        raise EngineFullError("no space left")

    with pytest.raises(EngineFullError):
        retries.retry_unavailable(full, 60)
    assert clock.now == 0

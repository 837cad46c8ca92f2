"""Progress of work as a value."""

from pathlib import Path
from threading import Event

import pytest

from nwx.bulk import progress
from nwx.bulk.progress import Tally, WorkProgress, batches, estimated_total, no_progress
from nwx.errors import EngineFullError, EngineUnavailableError, SourceError


def test_what_is_not_told_is_not_known() -> None:
    now = WorkProgress("reading", 5)
    assert (now.total, now.in_bytes, now.files, dict(now.counts)) == (0, False, (0, 0), {})
    no_progress(now)


def test_a_total_from_what_was_found_so_far() -> None:
    assert estimated_total(0, 0, 90) == 0
    assert estimated_total(10, 30, 90) == 30
    assert estimated_total(10, 90, 90) == 10
    assert estimated_total(10, 95, 90) == 10


def test_what_pieces_tell_is_added_up_and_shown(tmp_path: Path) -> None:
    shown: list[WorkProgress] = []
    come = Event()

    def progress(now: WorkProgress) -> None:
        shown.append(now)
        if now.done == 25:
            come.set()

    tally = Tally(tmp_path / "tally")
    with tally.shown("reading", [10, 20], progress):
        with tally.noting(1) as note:
            note(5)
            note(15)
        with tally.noting(0) as note:
            note(10)
        assert come.wait(60)
        with tally.noting(1) as note:
            note(40)  # an unknown size, or a grown file
    assert WorkProgress("reading", 25, 30) in shown
    assert shown[-1] == WorkProgress("reading", 50, 50)


def test_there_may_be_no_work(tmp_path: Path) -> None:
    shown: list[WorkProgress] = []
    with Tally(tmp_path / "tally").shown("reading", [], shown.append):
        pass
    assert shown == [WorkProgress("reading", 0, 0)]


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(SourceError, match="cannot be written"),
        Tally(tmp_path / "none" / "tally").shown("reading", [1], lambda *_: None),
    ):
        pass


def test_all_values_come_in_order_and_the_last_list_is_shorter() -> None:
    assert list(batches(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(batches(iter(()), 2)) == []
    assert list(map(len, batches(range(15), 1, 5))) == [1, 2, 4, 5, 3]


class Clock:
    """A clock that advances with each sleep."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def away_until(clock: Clock, moment: float) -> str:
    if clock.now < moment:
        raise EngineUnavailableError("away")
    return "back"


def test_an_engine_that_comes_back_is_waited_for(clock: Clock) -> None:
    assert progress.retry_unavailable(lambda: away_until(clock, 40), 60) == "back"
    assert 40 <= clock.now < 50


def test_patience_ends(clock: Clock) -> None:
    with pytest.raises(EngineUnavailableError):
        progress.retry_unavailable(lambda: away_until(clock, 1000), 60)
    assert 59 < clock.now < 61


def test_whoever_stops_does_not_wait(clock: Clock) -> None:
    with pytest.raises(EngineUnavailableError):
        progress.retry_unavailable(lambda: away_until(clock, 1000), 60, lambda: clock.now > 3)
    assert clock.now < 4


def test_other_errors_are_not_waited_out(clock: Clock) -> None:
    def full() -> None:
        raise EngineFullError("no space left")

    with pytest.raises(EngineFullError):
        progress.retry_unavailable(full, 60)
    assert clock.now == 0

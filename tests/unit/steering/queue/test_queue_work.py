"""Delivery from the outbox: in order, retried after failures, each update exactly once."""

import threading
from collections.abc import Sequence

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import QueueCounts, UrlUpdate
from nwx.errors import CrawlerError, CrawlerUnavailableError, NwxError
from nwx.steering.queue import queue_work
from nwx.steering.queue.queue_work import DeliveryReport, _Delivery, deliver_updates

QUEUE = "http://queue.example"
UPDATES = [UrlUpdate(f"http://a.example/{n}", n / 2_000) for n in range(1_200)]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_work, "_FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(queue_work, "_LOOK_SECONDS", 0.001)


class Target:
    """A queue that fails on demand, and records accepted updates."""

    def __init__(self, failures: Sequence[NwxError] = (), refuses: str = "") -> None:
        self.taken: list[UrlUpdate] = []
        self.orders: list[int] = []
        self.requests = 0
        self._failures = list(failures)
        self._refuses = refuses

    def put(self, updates: Sequence[UrlUpdate], sender: str, orders: Sequence[int]) -> None:
        self.requests += 1
        if self._failures:
            raise self._failures.pop(0)
        for place, update in enumerate(updates):
            if update.url == self._refuses:
                raise CrawlerError("not that one", place)
        self.taken += updates
        self.orders += orders


def run(engine: Engine, target: Target, told: list[NwxError] | None = None) -> DeliveryReport:
    tell = (lambda error: None) if told is None else told.append
    outbox = engine.outbox()
    return _Delivery(outbox, QUEUE, target, threading.Event(), tell).run(until_empty=True)


def test_everything_is_delivered_in_order(engine: Engine) -> None:
    engine.outbox().add(UPDATES, QUEUE)
    target = Target()
    assert run(engine, target) == DeliveryReport(delivered=1_200)
    assert target.taken == UPDATES
    assert target.orders == sorted(set(target.orders))
    assert engine.outbox().queues() == {}
    assert run(engine, target) == DeliveryReport()


def test_a_queue_that_is_away_is_asked_again(engine: Engine) -> None:
    engine.outbox().add(UPDATES[:10], QUEUE)
    target = Target([CrawlerUnavailableError("away")] * 3)
    told: list[NwxError] = []
    assert run(engine, target, told) == DeliveryReport(delivered=10, failures=3)
    assert [str(error) for error in told] == ["away"] * 3
    assert target.taken == UPDATES[:10]


def test_what_is_refused_is_told_and_left_out(engine: Engine) -> None:
    engine.outbox().add(UPDATES[:10], QUEUE)
    target = Target(refuses=UPDATES[4].url)
    told: list[NwxError] = []
    assert run(engine, target, told) == DeliveryReport(delivered=9, refused=1)
    assert target.taken == [*UPDATES[:4], *UPDATES[5:10]]
    assert [str(error) for error in told] == ["not that one"]


def test_a_queue_that_takes_nothing_is_an_error_and_nothing_is_lost(engine: Engine) -> None:
    engine.outbox().add(UPDATES[:10], QUEUE)
    with pytest.raises(CrawlerError, match="token"):
        run(engine, Target([CrawlerError("wrong token")]))
    assert engine.outbox().queues() == {QUEUE: 10}


def test_pauses_grow(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    pauses: list[float] = []

    class Ending(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout or 0.0)
            return False

    monkeypatch.setattr(queue_work, "_FIRST_PAUSE_SECONDS", 1.0)
    engine.outbox().add(UPDATES[:1], QUEUE)
    failures = [CrawlerUnavailableError("away") for _ in range(8)]
    target = Target([*failures, CrawlerUnavailableError("later", retry_seconds=500)])
    _Delivery(engine.outbox(), QUEUE, target, Ending(), lambda error: None).run(until_empty=True)
    for attempt, pause in enumerate(pauses[:8]):
        longest = min(2.0**attempt, 60.0)
        assert longest / 2 <= pause <= longest
    assert pauses[8] == 500


def test_requests_are_bounded(engine: Engine) -> None:
    long = [UrlUpdate(f"http://a.example/{n}{'x' * 7_000}", 0.5) for n in range(200)]
    engine.outbox().add(long, QUEUE)
    target = Target()
    run(engine, target)
    assert target.taken == long
    assert target.requests > 5


def test_it_ends_when_that_is_wanted(engine: Engine) -> None:
    ending = threading.Event()
    target = Target()
    running = threading.Thread(
        target=_Delivery(engine.outbox(), QUEUE, target, ending, lambda error: None).run,
        kwargs={"until_empty": False},
    )
    running.start()
    engine.outbox().add(UPDATES[:5], QUEUE)
    while len(target.taken) < 5:
        ending.wait(0.001)
    ending.set()
    running.join()
    assert target.taken == UPDATES[:5]


def test_the_archives_own_queue(engine: Engine) -> None:
    engine.outbox().add(UPDATES, "")
    report = deliver_updates(engine.outbox(), "", own=engine.crawl_queue(), until_empty=True)
    assert report == DeliveryReport(delivered=1_200)
    assert engine.crawl_queue().counts() == QueueCounts(waiting=1_200)

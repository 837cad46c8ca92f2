"""A thread leases ahead; waiting is for what happens, never for a time."""

import time
from collections.abc import Callable

from nwx.steering.adapters.lease_thread import LeaseOptions, LeaseThread
from tests.unit.steering.adapters.fake_queue import FakeQueue

URLS = [f"http://a.example/{number}" for number in range(6)]
OPTIONS = LeaseOptions(ahead=3, poll_seconds=0.01)


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


def queue_of(urls: list[str]) -> FakeQueue:
    return FakeQueue({url: 1 - number / 10 for number, url in enumerate(urls)})


def test_urls_are_leased_ahead_and_reported_when_they_are_fetched() -> None:
    queue = queue_of(URLS)
    leases = LeaseThread(queue, OPTIONS)
    leases.start()
    wait_until(lambda: len(queue.leased) == 3)
    assert [one.url for one in leases.take()] == URLS[:3]
    assert leases.idle_seconds() == 0
    leases.finish(f"lease-{URLS[1]}")
    leases.finish(f"lease-{URLS[1]}")
    leases.finish("another's lease")
    wait_until(lambda: len(queue.leased) == 4)
    assert queue.finished == [URLS[1]]
    leases.stop()
    assert sorted(queue.released) == sorted([URLS[0], *URLS[2:4]])


def test_a_queue_that_is_away_is_asked_again_and_no_report_is_lost() -> None:
    queue = queue_of(URLS[:1])
    leases = LeaseThread(queue, OPTIONS)
    leases.start()
    wait_until(lambda: queue.leased == URLS[:1])
    queue.away = True
    leases.finish(f"lease-{URLS[0]}")
    wait_until(lambda: leases.idle_seconds() > 0.02)
    queue.away = False
    wait_until(lambda: queue.finished == URLS[:1])
    leases.stop()


def test_an_end_while_the_queue_is_away_is_an_end() -> None:
    queue = queue_of(URLS)
    leases = LeaseThread(queue, OPTIONS)
    leases.start()
    wait_until(lambda: len(queue.leased) == 3)
    queue.away = True
    leases.stop()
    assert queue.released == []

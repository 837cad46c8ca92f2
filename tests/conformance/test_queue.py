"""The crawler's queue: priorities, leases, limits; no URL is leased twice at once."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import (
    CrawlQueue,
    LeaseLimits,
    PutCounts,
    QueueCounts,
    QueuedUrl,
    UrlState,
    UrlUpdate,
)
from nwx.errors import UsageError
from nwx.model import Batch, IndexName
from tests.conformance.engines import ENGINES, Opener

A, B, C = (f"http://{host}.example/" for host in "abc")

BATCHES: list[Batch] = []
"""The archive of this module has only a queue, which is emptied for each test."""


@pytest.fixture
def engine(archive: Engine, kind: str) -> Engine:
    ENGINES[kind].empty_queue(archive)
    return archive


@pytest.fixture
def queue(engine: Engine) -> CrawlQueue:
    return engine.crawl_queue()


def urls(found: list[QueuedUrl]) -> list[str]:
    return [one.url for one in found]


def put(queue: CrawlQueue, **priorities: float | None) -> PutCounts:
    """Put URLs named by their hosts."""
    return queue.put([UrlUpdate(f"http://{host}.example/", p) for host, p in priorities.items()])


def state(queue: CrawlQueue, url: str) -> UrlState:
    (found,) = (one for one in queue.scan() if one.url == url)
    return found.state


def test_an_empty_queue(queue: CrawlQueue) -> None:
    assert queue.counts() == QueueCounts()
    assert queue.lease(5) == []
    assert list(queue.scan()) == []
    assert queue.crawls() == []
    assert queue.finish(["0" * 32 + "-x"]) == queue.release([]) == 0
    assert queue.put([]) == PutCounts()


def test_the_highest_priority_comes_first_and_older_before_newer(queue: CrawlQueue) -> None:
    put(queue, a=0.5, b=0.9, c=0.5, d=0.5)
    put(queue, e=0.5, f=1.0)
    assert urls(queue.lease(4)) == [f"http://{host}.example/" for host in "fbac"]
    assert urls(queue.lease(4)) == [f"http://{host}.example/" for host in "de"]


def test_a_later_update_wins(queue: CrawlQueue) -> None:
    assert put(queue, a=0.5, b=0.4) == PutCounts(new=2)
    assert put(queue, a=0.1, b=0.4) == PutCounts(changed=1, unchanged=1)
    assert queue.put([UrlUpdate(A, 0.2), UrlUpdate(A, 0.3)]) == PutCounts(changed=2)
    assert [(one.url, one.priority) for one in queue.lease(2)] == [(B, 0.4), (A, 0.3)]


def test_blacklisted_is_for_ever_unless_lifted(queue: CrawlQueue) -> None:
    put(queue, a=0.5, b=0.4)
    assert put(queue, a=None, c=None) == PutCounts(new=1, changed=1)
    assert put(queue, a=0.9, c=1.0) == PutCounts(blacklisted=2)
    assert put(queue, a=None) == PutCounts(unchanged=1)
    assert urls(queue.lease(5)) == [B]
    assert queue.counts() == QueueCounts(leased=1, blacklisted=2)
    lifted = [UrlUpdate(A, None, lifted=True), UrlUpdate(C, 0.7, lifted=True)]
    assert queue.put(lifted) == PutCounts(changed=2)
    assert [(one.url, one.priority) for one in queue.lease(5)] == [(C, 0.7), (A, 0.5)]


def test_lifting_what_is_not_blacklisted_changes_nothing(queue: CrawlQueue) -> None:
    put(queue, a=0.5)
    lifted = [UrlUpdate(A, None, lifted=True), UrlUpdate(B, None, lifted=True)]
    assert queue.put(lifted) == PutCounts(unchanged=2)
    assert urls(list(queue.scan())) == [A]


def test_blacklisting_ends_a_lease(queue: CrawlQueue) -> None:
    put(queue, a=0.5)
    (leased,) = queue.lease(1)
    put(queue, a=None)
    assert queue.finish([leased.lease]) == 0
    assert queue.counts() == QueueCounts(blacklisted=1)


def test_what_is_leased_is_given_to_nobody_else(queue: CrawlQueue) -> None:
    put(queue, a=0.5)
    (leased,) = queue.lease(5)
    assert (leased.state, leased.host) == (UrlState.LEASED, "a.example")
    assert time.time() < leased.leased_until
    assert queue.lease(5) == []
    put(queue, a=0.9)
    assert queue.lease(5) == []
    assert queue.counts() == QueueCounts(leased=1)


def test_finished_is_not_fetched_again_unless_asked(queue: CrawlQueue) -> None:
    put(queue, a=0.5)
    leases = [one.lease for one in queue.lease(1)]
    assert queue.finish([*leases, "0" * 32 + "-none"]) == 1
    assert queue.finish(leases) == 0
    assert queue.release(leases) == 0
    assert put(queue, a=0.9) == PutCounts(changed=1)
    assert queue.lease(1) == []
    assert queue.counts() == QueueCounts(done=1)
    assert queue.put([UrlUpdate(A, 0.9, again=True)]) == PutCounts(changed=1)
    assert urls(queue.lease(1)) == [A]


def test_released_waits_again(queue: CrawlQueue) -> None:
    put(queue, a=0.5)
    leases = [one.lease for one in queue.lease(1)]
    assert queue.release(leases) == 1
    assert queue.release(leases) == 0
    assert queue.finish(leases) == 0
    (again,) = queue.lease(1)
    assert (again.url, again.lease != leases[0]) == (A, True)


def test_leases_expire(queue: CrawlQueue) -> None:
    put(queue, a=0.5, b=0.4)
    first = queue.lease(2, seconds=-1)
    (second,) = queue.lease(1)
    assert second.url == first[0].url == A
    # Its URL has since been leased again; that of the other has not.
    assert queue.finish([first[0].lease]) == 0
    assert queue.finish([first[1].lease]) == 1
    assert queue.finish([second.lease]) == 1
    assert queue.counts() == QueueCounts(done=2)


@pytest.mark.parametrize("host", ["a." * 300 + "example", "ä\N{SNOWMAN}" * 120])
def test_a_host_with_a_long_name_is_leased_as_others(queue: CrawlQueue, host: str) -> None:
    queue.put([UrlUpdate(f"http://{host}/", 0.9), UrlUpdate("http://b.example/", 0.5)])
    found = queue.lease(2, limits=lambda crawl: LeaseLimits(delay_seconds=60))
    assert urls(found) == [f"http://{host}/", "http://b.example/"]


def test_of_two_leases_of_a_url_the_one_that_lasts_is_finished(queue: CrawlQueue) -> None:
    put(queue, a=0.5)
    (first,) = queue.lease(1, seconds=-1)
    (second,) = queue.lease(1)
    assert queue.finish([second.lease, first.lease]) == 1
    assert state(queue, A) is UrlState.DONE


def test_only_of_a_host(queue: CrawlQueue) -> None:
    put(queue, a=0.5, b=0.9)
    assert urls(queue.lease(5, host="a.example")) == [A]
    assert queue.lease(5, host="nowhere.example") == []


def test_each_crawl_has_its_own(queue: CrawlQueue) -> None:
    queue.put([UrlUpdate(A, 0.5, B, "one"), UrlUpdate(A, 0.6, C, "two"), UrlUpdate(B, None)])
    queue.put([UrlUpdate(A, None, crawl="two")])
    assert queue.crawls() == ["", "one", "two"]
    assert queue.counts("one") == QueueCounts(waiting=1)
    assert queue.counts("two") == QueueCounts(blacklisted=1)
    assert queue.counts("three") == QueueCounts()
    assert queue.counts() == QueueCounts(waiting=1, blacklisted=2)
    assert [(one.url, one.via, one.crawl) for one in queue.scan("one")] == [(A, B, "one")]
    assert queue.lease(5, crawl="two") == []
    (leased,) = queue.lease(5)
    assert (leased.crawl, leased.via) == ("one", B)


def test_a_sender_may_send_twice(queue: CrawlQueue) -> None:
    updates = [UrlUpdate(A, 0.1), UrlUpdate(B, 0.2), UrlUpdate(A, 0.3)]
    assert queue.put(updates, "crawl-1", [1, 2, 3]) == PutCounts(new=2, changed=1)
    put(queue, a=0.9)
    assert queue.put(updates, "crawl-1", [1, 2, 3]) == PutCounts(unchanged=3)
    more = [*updates[1:], UrlUpdate(A, 0.4)]
    assert queue.put(more, "crawl-1", [2, 3, 4]) == PutCounts(changed=1, unchanged=2)
    assert queue.put([UrlUpdate(A, 0.5)], "crawl-2", [1]) == PutCounts(changed=1)
    assert queue.put([UrlUpdate(A, 0.4)], "crawl-1", [4]) == PutCounts(unchanged=1)
    with pytest.raises(UsageError, match="1 numbers were given for 2 updates"):
        queue.put(updates[:2], "crawl-1", [7])


PAGES = [UrlUpdate(f"http://{host}.example/{n}", 0.5) for host in "ab" for n in range(5)]


def test_a_delay_between_leases_of_a_host(queue: CrawlQueue) -> None:
    queue.put(PAGES)
    slow = LeaseLimits(delay_seconds=60)
    found = queue.lease(5, limits=lambda crawl: slow)
    assert urls(found) == ["http://a.example/0", "http://b.example/0"]
    assert queue.lease(5, limits=lambda crawl: slow) == []
    at_once = queue.lease(1, limits=lambda crawl: replace(slow, delay_seconds=0))
    assert urls(at_once) == ["http://a.example/1"]


def test_a_clock_that_is_set_back_holds_no_url_and_no_host(
    queue: CrawlQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.put(PAGES[:1])
    limits = LeaseLimits(delay_seconds=60, in_flight=1)
    now = time.time()
    with monkeypatch.context() as future:
        future.setattr(time, "time", lambda: now + 1e9)
        assert urls(queue.lease(1, limits=lambda crawl: limits)) == [PAGES[0].url]
    assert urls(queue.lease(1, limits=lambda crawl: limits)) == [PAGES[0].url]
    assert queue.lease(1, limits=lambda crawl: limits) == []


def test_each_port_of_a_host_has_its_own_delay_and_pages(queue: CrawlQueue) -> None:
    first, other = "http://a.example/", "http://a.example:8080/"
    queue.put([UrlUpdate(first, 0.5), UrlUpdate(f"{first}2", 0.9), UrlUpdate(other, 0.4)])
    limits = LeaseLimits(delay_seconds=60, pages_per_host=1)
    assert urls(queue.lease(3, limits=lambda crawl: limits)) == [f"{first}2", other]
    queue.put([UrlUpdate(f"{other}2", 0.1)])
    assert urls(queue.lease(3, host="a.example:8080")) == [f"{other}2"]


def test_so_many_of_a_host_at_the_same_time(queue: CrawlQueue) -> None:
    queue.put(PAGES)
    few = LeaseLimits(in_flight=2)
    first = queue.lease(10, limits=lambda crawl: few)
    assert sorted(one.host for one in first) == ["a.example"] * 2 + ["b.example"] * 2
    assert queue.lease(10, limits=lambda crawl: few) == []
    of_a = [one.lease for one in first if one.host == "a.example"]
    queue.finish(of_a[:1])
    assert urls(queue.lease(10, limits=lambda crawl: few)) == ["http://a.example/2"]
    queue.release(of_a[1:])
    assert urls(queue.lease(10, limits=lambda crawl: few)) == ["http://a.example/1"]


def test_leases_that_have_ended_are_in_flight_no_more(queue: CrawlQueue) -> None:
    queue.put(PAGES)
    one = LeaseLimits(in_flight=1)
    assert len(queue.lease(10, seconds=1.0, limits=lambda crawl: one)) == 2
    found: list[QueuedUrl] = []
    while not found:
        found = queue.lease(10, limits=lambda crawl: one)
    assert {other.url for other in found} <= {page.url for page in PAGES}
    assert len({other.host for other in found}) == len(found)


def test_so_many_pages_of_a_host(queue: CrawlQueue) -> None:
    queue.put(PAGES)
    queue.put([UrlUpdate("http://a.example/0", 0.1, crawl="other")])
    three = LeaseLimits(pages_per_host=3)
    found = queue.lease(10, crawl="", limits=lambda crawl: three if not crawl else LeaseLimits())
    assert len(found) == 7
    queue.finish([one.lease for one in found])
    assert queue.lease(10, limits=lambda crawl: three) == []
    assert len(queue.lease(10)) == 4


def test_so_many_pages_of_a_crawl(queue: CrawlQueue) -> None:
    queue.put(PAGES)
    four = LeaseLimits(pages=4)
    found = queue.lease(3, limits=lambda crawl: four)
    queue.finish([one.lease for one in found])
    assert len(queue.lease(10, limits=lambda crawl: four)) == 1
    assert queue.lease(10, limits=lambda crawl: four) == []


def test_the_order_is_kept_over_many_hosts(queue: CrawlQueue) -> None:
    updates = [
        UrlUpdate(f"http://h{n % 17}.example/{n}", (n * 7919 % 101) / 100) for n in range(210)
    ]
    queue.put(updates)
    expected = [one.url for one in sorted(updates, key=lambda one: -(one.priority or 0))]
    found = []
    while leased := queue.lease(70):
        found += urls(leased)
    assert found == expected


def test_many_at_once_get_each_url_once(open_archive: Opener) -> None:
    with open_archive() as first:
        first.create()
        first.crawl_queue().put([UrlUpdate(f"http://h{n % 5}.example/{n}", 0.5) for n in range(60)])

        def work(_: int) -> list[str]:
            found = []
            with open_archive() as engine:
                queue = engine.crawl_queue()
                while leased := queue.lease(7):
                    found += urls(leased)
                    assert queue.finish([one.lease for one in leased]) == len(leased)
            return found

        with ThreadPoolExecutor(4) as pool:
            found = [url for part in pool.map(work, range(4)) for url in part]
        assert len(found) == len(set(found)) == 60
        assert first.crawl_queue().counts() == QueueCounts(done=60)


def test_many_who_write_at_once_lose_nothing(open_archive: Opener) -> None:
    with open_archive() as first:
        first.create()

        def work(number: int) -> PutCounts:
            with open_archive() as engine:
                updates = [UrlUpdate(f"http://h.example/{n}", number / 10) for n in range(50)]
                return engine.crawl_queue().put(updates)

        with ThreadPoolExecutor(4) as pool:
            counts = list(pool.map(work, range(4)))
        assert sum(one.new for one in counts) == 50
        assert sum(one.new + one.changed for one in counts) == 200
        assert first.crawl_queue().counts() == QueueCounts(waiting=50)


def test_it_is_one_of_the_indices(engine: Engine, queue: CrawlQueue) -> None:
    put(queue, a=0.5, b=None)
    queue.lease(1)
    engine.refresh()
    assert engine.count(IndexName.QUEUE) == engine.stats()[IndexName.QUEUE].entries == 2
    entries = list(engine.scan(IndexName.QUEUE))
    assert [entry["id"] for entry in entries] == sorted(entry["id"] for entry in entries)
    states = {entry["url"]: entry["state"] for entry in entries}
    assert states == {A: "leased", B: "blacklisted"}
    with pytest.raises(UsageError, match="blacklist"):
        engine.delete(IndexName.QUEUE, [entries[0]["id"]])


def test_a_queue_is_kept(open_archive: Opener) -> None:
    with open_archive() as engine:
        put(engine.crawl_queue(), a=0.5)
    with open_archive() as engine:
        assert urls(engine.crawl_queue().lease(1)) == [A]


def test_older_entries_get_the_port_of_their_server(engine: Engine, queue: CrawlQueue) -> None:
    queue.put([UrlUpdate("http://a.example:8080/", 0.5), UrlUpdate(B, 0.4)])
    if not engine.traits.is_local:  # a folder is upgraded when it is opened
        store = engine.entry_store(IndexName.QUEUE)
        store.put([one | {"host": "a.example"} for one in store.find({"host": "a.example:8080"})])
        engine.refresh()
    engine.upgrade()
    assert {one.host for one in queue.scan()} == {"a.example:8080", "b.example"}
    assert urls(queue.lease(5, host="a.example:8080")) == ["http://a.example:8080/"]

"""The crawler's queue behaves like a plain list under any sequence of operations."""

from collections import Counter
from dataclasses import dataclass
from random import Random

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import (
    CrawlQueue,
    LeaseLimits,
    QueueCounts,
    UrlState,
    UrlUpdate,
)

ABOVE_ENGINES = True

HOSTS, PATHS, CRAWLS = "abcd", 6, ("", "one")
STEPS = {"embedded": 400, "elastic": 60, "opensearch": 60}
LIMITS = (
    LeaseLimits(),
    LeaseLimits(in_flight=2),
    LeaseLimits(pages_per_host=3),
    LeaseLimits(in_flight=1, pages_per_host=4, pages=9),
)


@dataclass(slots=True)
class ModelUrl:
    """A URL in the model."""

    host: str
    crawl: str
    priority: float | None
    state: UrlState
    lease: str = ""

    @property
    def given(self) -> bool:
        return self.state in (UrlState.LEASED, UrlState.DONE)


class ModelQueue:
    """A queue in memory that scans all its URLs each time."""

    def __init__(self) -> None:
        self.urls: dict[tuple[str, str], ModelUrl] = {}

    def put(self, update: UrlUpdate) -> None:
        key = update.crawl, update.url
        found = self.urls.get(key)
        if found is None:
            if update.priority is not None or not update.lifted:
                state = UrlState.BLACKLISTED if update.priority is None else UrlState.WAITING
                host = update.url.split("/")[2]
                self.urls[key] = ModelUrl(host, update.crawl, update.priority, state)
        elif found.state is UrlState.BLACKLISTED:
            if update.lifted:
                found.state = UrlState.WAITING
                if update.priority is not None or found.priority is None:
                    found.priority = update.priority or 0.0
        elif update.priority is None:
            if not update.lifted:
                found.state = UrlState.BLACKLISTED
        else:
            found.priority = update.priority
            if update.again and found.state is UrlState.DONE:
                found.state = UrlState.WAITING

    def may_be_leased(self, count: int, host: str, crawl: str, limits: LeaseLimits) -> list[str]:
        of_hosts = Counter(one.host for one in self.urls.values() if one.state is UrlState.LEASED)
        of_queues = Counter((one.crawl, one.host) for one in self.urls.values() if one.given)
        of_crawls = Counter(one.crawl for one in self.urls.values() if one.given)
        chosen: list[str] = []
        waiting = [
            (key, one)
            for key, one in self.urls.items()
            if one.state is UrlState.WAITING and host in ("", one.host) and crawl in ("", one.crawl)
        ]
        for (_, url), one in sorted(waiting, key=lambda each: -(each[1].priority or 0.0)):
            if len(chosen) == count:
                break
            bounds = (
                (of_hosts[one.host], limits.in_flight),
                (of_queues[one.crawl, one.host], limits.pages_per_host),
                (of_crawls[one.crawl], limits.pages),
            )
            if all(most is None or number < most for number, most in bounds):
                chosen.append(f"{one.crawl} {url}")
                of_hosts[one.host] += 1
                of_queues[one.crawl, one.host] += 1
                of_crawls[one.crawl] += 1
        return chosen

    def counts(self, crawl: str) -> QueueCounts:
        states = Counter(str(one.state) for one in self.urls.values() if crawl in ("", one.crawl))
        return QueueCounts(**states)


def some_update(chance: Random) -> UrlUpdate:
    url = f"http://{chance.choice(HOSTS)}.example/{chance.randrange(PATHS)}"
    kind = chance.random()
    # Priorities are distinct, so that the order does not depend on insertion.
    priority = None if kind < 0.15 else chance.random()
    lifted, again = 0.1 < kind < 0.3, kind > 0.85
    return UrlUpdate(url, priority, "", chance.choice(CRAWLS), lifted, again)


def step(queue: CrawlQueue, model: ModelQueue, chance: Random) -> None:
    """Apply a random operation to both, and compare the results."""
    kind = chance.random()
    leases = [one.lease for one in model.urls.values() if one.lease]
    if kind < 0.4:
        updates = [some_update(chance) for _ in range(chance.randint(1, 6))]
        assert sum(queue_counts(queue, updates)) == len(updates)
        for update in updates:
            model.put(update)
    elif kind < 0.7:
        count, limits = chance.randint(1, 5), chance.choice(LIMITS)
        host = chance.choice(["", "", "a.example"])
        crawl = chance.choice(CRAWLS)
        expected = model.may_be_leased(count, host, crawl, limits)
        found = queue.lease(count, host, crawl, limits=lambda name: limits)
        assert [f"{one.crawl} {one.url}" for one in found] == expected
        for one in found:
            known = model.urls[one.crawl, one.url]
            known.state, known.lease = UrlState.LEASED, one.lease
    else:
        some = chance.sample(leases, min(len(leases), chance.randint(0, 4)))
        is_finish = chance.random() < 0.6
        held = [
            one for one in model.urls.values() if one.lease in some and one.state is UrlState.LEASED
        ]
        done = queue.finish(some) if is_finish else queue.release(some)
        assert done == len(held)
        for known in held:
            known.state = UrlState.DONE if is_finish else UrlState.WAITING


def queue_counts(queue: CrawlQueue, updates: list[UrlUpdate]) -> tuple[int, ...]:
    counts = queue.put(updates)
    return counts.new, counts.changed, counts.unchanged, counts.blacklisted


@pytest.mark.parametrize("seed", [1, 2])
def test_a_queue_does_what_its_model_does(engine: Engine, kind: str, seed: int) -> None:
    queue, model, chance = engine.crawl_queue(), ModelQueue(), Random(seed)
    for _ in range(STEPS[kind] // (1 if kind == "embedded" else seed)):
        step(queue, model, chance)
        crawl = chance.choice(CRAWLS)
        assert queue.counts(crawl) == model.counts(crawl)
    assert list(queue.problems()) == []
    found = {(one.crawl, one.url): (one.priority, one.state) for one in queue.scan()}
    assert found == {
        key: (None if one.state is UrlState.BLACKLISTED else one.priority, one.state)
        for key, one in model.urls.items()
    }

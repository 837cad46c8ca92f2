"""An in-memory queue for tests of adapters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from nwx.engine.indices.crawl_queue import QueuedUrl
from nwx.errors import CrawlerUnavailableError


@dataclass
class FakeQueue:
    """Returns URLs by priority; can be made unavailable."""

    waiting: dict[str, float] = field(default_factory=dict)
    leased: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    away: bool = False

    def lease(self, count: int, seconds: float) -> list[QueuedUrl]:
        self._check()
        best = sorted(self.waiting, key=lambda url: -self.waiting[url])[:count]
        found = [QueuedUrl(url, "", self.waiting.pop(url), lease=f"lease-{url}") for url in best]
        self.leased += best
        return found

    def finish(self, leases: Sequence[str]) -> int:
        self._check()
        self.finished += [lease.removeprefix("lease-") for lease in leases]
        return len(leases)

    def release(self, leases: Sequence[str]) -> int:
        self._check()
        self.released += [lease.removeprefix("lease-") for lease in leases]
        return len(leases)

    def _check(self) -> None:
        if self.away:
            raise CrawlerUnavailableError("the queue is away")

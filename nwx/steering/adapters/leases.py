"""Sources of leased URLs, in the archive or over HTTP, and a thread that leases ahead."""

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import NO_LIMITS, CrawlQueue, LimitsOf, QueuedUrl, no_limits
from nwx.errors import CrawlerError


class UrlSource(Protocol):
    """A queue that leases the best URLs of a crawl and accepts reports of fetches."""

    def lease(self, count: int, seconds: float) -> list[QueuedUrl]:
        """Return up to `count` URLs, best first, leased exclusively for `seconds`."""

    def finish(self, leases: Sequence[str]) -> int:
        """Mark leased URLs as fetched; return how many changed."""

    def release(self, leases: Sequence[str]) -> int:
        """Mark leased URLs as waiting again; return how many changed."""


@dataclass(frozen=True, slots=True)
class ArchiveUrls(UrlSource):
    """The queue of an open archive, for one crawl."""

    queue: CrawlQueue
    crawl: str
    limits: LimitsOf = no_limits

    def lease(self, count: int, seconds: float) -> list[QueuedUrl]:
        return self.queue.lease(count, crawl=self.crawl, seconds=seconds, limits=self.limits)

    def finish(self, leases: Sequence[str]) -> int:
        return self.queue.finish(leases)

    def release(self, leases: Sequence[str]) -> int:
        return self.queue.release(leases)


def archive_urls(engine: Engine, crawl: str) -> UrlSource:
    """Return the queue of an archive for a crawler with its own politeness."""
    # Imported here: crawlers that lease over HTTP have fewer packages installed.
    from nwx.steering.specifications.specification_store import SpecificationLimits

    return ArchiveUrls(engine.crawl_queue(), crawl, SpecificationLimits(engine, NO_LIMITS))


_LOG = logging.getLogger(__name__)
_LONGEST_PAUSE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """How many URLs to lease ahead, for how long, and how often to poll an empty queue."""

    ahead: int = 16
    lease_seconds: float = 600.0
    poll_seconds: float = 1.0


class LeaseThread:
    """Leases URLs while there is capacity, and finishes them, in a separate thread.

    An unavailable queue is retried at growing intervals; reports wait until it is available.
    """

    def __init__(self, source: UrlSource, options: LeaseOptions) -> None:
        self._source, self._options = source, options
        self._lock = threading.Lock()
        self._arrived: deque[QueuedUrl] = deque()
        self._open: set[str] = set()
        self._fetched: list[str] = []
        self._wake, self._ended = threading.Event(), threading.Event()
        self._busy = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="nwx-leases", daemon=True)

    def start(self) -> None:
        """Start leasing."""
        self._thread.start()

    def stop(self) -> None:
        """Report the fetched URLs, release the others, and end.

        URLs that cannot be reported now are leased again when their lease ends.
        """
        self._ended.set()
        self._wake.set()
        self._thread.join()
        try:
            self._report()
            if self._open:
                self._source.release(sorted(self._open))
        except CrawlerError as error:
            _LOG.warning("%s; its leases end by themselves", error)

    def take(self) -> list[QueuedUrl]:
        """Return the URLs that have arrived since the last call."""
        with self._lock:
            taken = list(self._arrived)
            self._arrived.clear()
        return taken

    def finish(self, lease: str) -> None:
        """Report a URL as fetched, without waiting."""
        with self._lock:
            if lease not in self._open:
                return
            self._open.discard(lease)
            self._fetched.append(lease)
            self._busy = time.monotonic()
        self._wake.set()

    def idle_seconds(self) -> float:
        """Return the seconds since the last lease or fetch, 0 while URLs are leased."""
        with self._lock:
            return 0.0 if self._open else time.monotonic() - self._busy

    def _run(self) -> None:
        pause = self._options.poll_seconds
        while not self._ended.is_set():
            self._wake.clear()
            try:
                self._report()
                leased = self._lease()
            except CrawlerError as error:
                _LOG.warning("%s; trying again in %g s", error, pause)
                self._ended.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            pause = self._options.poll_seconds
            if not leased:
                self._wake.wait(pause)

    def _report(self) -> None:
        with self._lock:
            fetched = list(self._fetched)
        if fetched:
            self._source.finish(fetched)
            with self._lock:
                del self._fetched[: len(fetched)]

    def _lease(self) -> bool:
        with self._lock:
            room = self._options.ahead - len(self._open)
        if room <= 0:
            return False
        leased = self._source.lease(room, self._options.lease_seconds)
        with self._lock:
            self._open.update(one.lease for one in leased)
            self._arrived.extend(leased)
            if leased:
                self._busy = time.monotonic()
        return bool(leased)

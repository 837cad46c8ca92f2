"""A scheduler for Scrapy that gets its requests from the queue (extra `nwx[scrapy]`).

In the settings of a project, or with `-s` on the command line:

    SCHEDULER = "nwx.steering.adapters.scrapy_scheduler.QueueScheduler"
    NWX_QUEUE = "http://127.0.0.1:8080"     # `nwx queue` or `nwx serve`
    NWX_QUEUE_TOKEN = "…"                   # or in the environment
    NWX_CRAWL = "floods"                    # the name of the specification

Other settings, with defaults: NWX_AHEAD (CONCURRENT_REQUESTS) URLs are leased at a time for
NWX_LEASE_SECONDS (600); the spider is closed after NWX_IDLE_SECONDS (0: never) with nothing to
fetch.
"""

import heapq
import logging
import os
from itertools import count
from typing import Any, Self

from scrapy import Request, signals

from nwx.engine.indices.crawl_queue import QueuedUrl
from nwx.errors import UsageError
from nwx.steering.queue.url_sources import LeaseOptions, LeaseThread, QueueClient

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 0.2
_LEASE, _PRIORITY, _KEPT = "nwx_lease", "nwx_priority", "nwx_kept"
_FIRST = 2.0
"""Above all priorities: for start requests, redirects and retries."""


class QueueScheduler:
    """A Scrapy scheduler that schedules the URLs of the queue, in its order.

    It schedules start requests, leased URLs, redirects and retries of these, and requests that a
    spider marks by `meta={"nwx_kept": True}`. Other requests of a spider are dropped: nwx reads the
    links of a page from its WARC record, and scores them.
    """

    def __init__(self, crawler: Any, leases: LeaseThread, idle_seconds: float) -> None:
        self._crawler, self._leases, self._idle_seconds = crawler, leases, idle_seconds
        self._waiting: list[tuple[float, int, Request]] = []
        self._order = count()
        self._started: set[str] = set()
        self._loop: Any = None

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        """Return a scheduler for the settings of a crawler."""
        settings = crawler.settings
        address, crawl = settings.get("NWX_QUEUE"), settings.get("NWX_CRAWL")
        if not address or not crawl:
            raise UsageError("the settings NWX_QUEUE and NWX_CRAWL are missing")
        token = settings.get("NWX_QUEUE_TOKEN") or os.environ.get("NWX_QUEUE_TOKEN", "")
        usual = LeaseOptions()
        options = LeaseOptions(
            settings.getint("NWX_AHEAD") or settings.getint("CONCURRENT_REQUESTS"),
            settings.getfloat("NWX_LEASE_SECONDS") or usual.lease_seconds,
            settings.getfloat("NWX_POLL_SECONDS") or usual.poll_seconds,
        )
        source = QueueClient(address, token, crawl)
        return cls(crawler, LeaseThread(source, options), settings.getfloat("NWX_IDLE_SECONDS"))

    def open(self, spider: Any) -> None:
        """Start leasing."""
        self._crawler.signals.connect(self._received, signal=signals.response_received)
        self._leases.start()
        self._loop = _looping_call(self._look)
        self._loop.start(_LOOK_SECONDS, now=False)

    def close(self, reason: str) -> None:
        """Release the leased URLs that were not fetched."""
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        self._leases.stop()

    def has_pending_requests(self) -> bool:
        """Return whether there are requests to fetch, now or possibly soon."""
        if self._waiting or not self._idle_seconds:
            return True
        return self._leases.idle_seconds() < self._idle_seconds

    def enqueue_request(self, request: Request) -> bool:
        """Add a request; drop links found by a spider and return False."""
        meta = request.meta
        is_start = bool(meta.get("is_start_request"))
        if not (_LEASE in meta or is_start or meta.get(_KEPT)):
            self._count("dropped")
            return False
        if is_start:
            self._started.add(request.url)
        again = "redirect_times" in meta or "retry_times" in meta
        priority = meta.get(_PRIORITY, _FIRST) + _FIRST * again
        heapq.heappush(self._waiting, (-priority, next(self._order), request))
        return True

    def next_request(self) -> Request | None:
        """Return the next request to fetch, None if none is ready."""
        return heapq.heappop(self._waiting)[2] if self._waiting else None

    def _look(self) -> None:
        """Pass leased URLs to the engine, which enqueues them in this scheduler."""
        for queued in self._leases.take():
            if queued.url in self._started:
                self._leases.finish(queued.lease)
                continue
            try:
                request = self._request(queued)
            except ValueError as error:
                _LOG.warning("%s cannot be fetched: %s", queued.url, error)
                self._leases.finish(queued.lease)
                continue
            self._count("leased")
            self._crawler.engine.crawl(request)

    def _request(self, queued: QueuedUrl) -> Request:
        meta = {_LEASE: queued.lease, _PRIORITY: queued.priority or 0.0}
        headers = {"Referer": queued.via} if queued.via else None
        return Request(
            queued.url, headers=headers, meta=meta, errback=self._failed, dont_filter=True
        )

    def _received(self, response: Any, request: Request) -> None:
        self._finish(request)

    def _failed(self, failure: Any) -> None:
        self._finish(failure.request)

    def _finish(self, request: Request) -> None:
        if _LEASE in request.meta:
            self._leases.finish(request.meta[_LEASE])

    def _count(self, what: str) -> None:
        self._crawler.stats.inc_value(f"nwx_queue/{what}")


def _looping_call(function: Any) -> Any:
    """Return a repeatable call on Scrapy's event loop; Scrapy 2.14 selects the loop."""
    try:
        from scrapy.utils.asyncio import create_looping_call
    except ImportError:
        from twisted.internet.task import LoopingCall

        return LoopingCall(function)
    return create_looping_call(function)

"""The crawl queue without the URLs hidden from the viewer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from nwx.access.restricted.entry_store import VisibleEntries
from nwx.access.restricted.hidden_urls import HiddenUrls
from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.crawl_queue import (
    LEASE_SECONDS,
    CrawlQueue,
    LimitsOf,
    PutCounts,
    QueueCounts,
    QueuedUrl,
    UrlUpdate,
    no_limits,
)

_AT_ONCE = 500


class RestrictedCrawlQueue(CrawlQueue):
    """The queue of an archive, listed and counted without hidden URLs.

    Crawlers put, lease and finish as usual: access rules do not restrict fetching.
    """

    def __init__(self, engine: Engine, urls: HiddenUrls) -> None:
        self._queue = engine.crawl_queue()
        self._urls = urls

    def put(
        self, updates: Sequence[UrlUpdate], sender: str = "", orders: Sequence[int] = ()
    ) -> PutCounts:
        """Take updates in their order."""
        return self._queue.put(updates, sender, orders)

    def lease(
        self,
        count: int,
        host: str = "",
        crawl: str = "",
        seconds: float = LEASE_SECONDS,
        limits: LimitsOf = no_limits,
    ) -> list[QueuedUrl]:
        """Return up to `count` waiting URLs, hidden ones included."""
        return self._queue.lease(count, host, crawl, seconds, limits)

    def finish(self, leases: Sequence[str]) -> int:
        """Note that leased URLs were fetched; return of how many that is new."""
        return self._queue.finish(leases)

    def release(self, leases: Sequence[str]) -> int:
        """Let leased URLs wait again; return of how many that is new."""
        return self._queue.release(leases)

    def counts(self, crawl: str = "") -> QueueCounts:
        """Count the visible URLs of a crawl; "" means all crawls."""
        states = Counter(str(one.state) for one in self.scan(crawl))
        return QueueCounts(**states)

    def scan(self, crawl: str = "") -> Iterator[QueuedUrl]:
        """Stream the URLs of a crawl that are not hidden, nor found on a hidden page."""
        waiting = self._queue.scan(crawl)
        while some := list(islice(waiting, _AT_ONCE)):
            hidden = self._urls.among({url for one in some for url in (one.url, one.via)})
            for one in some:
                if one.url not in hidden:
                    yield one._replace(via="") if one.via in hidden else one

    def crawls(self) -> list[str]:
        """Return the names of the crawls that have URLs, in order."""
        return self._queue.crawls()

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what contradicts the URLs."""
        return self._queue.problems()


class VisibleQueueEntries(VisibleEntries):
    """The URLs that are not hidden, without hidden pages that link to them."""

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        urls = {one[name] for one in entries for name in ("url", "via") if one.get(name)}
        hidden = self._restricted.hidden_urls(urls)
        for entry in entries:
            if entry.get("url") not in hidden:
                if entry.get("via") in hidden:
                    del entry["via"]
                yield entry

"""The crawl queue without the URLs hidden from the viewer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from nwx.access.restricted.captures import forwarded
from nwx.access.restricted.entry_store import VisibleEntries
from nwx.access.restricted.hidden_urls import HiddenUrls
from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.crawl_queue import CrawlQueue, QueueCounts, QueuedUrl

_AT_ONCE = 500


class RestrictedCrawlQueue(CrawlQueue):
    """The queue of an archive, listed and counted without hidden URLs.

    Crawlers put, lease and finish as usual: access rules do not restrict fetching.
    """

    def __init__(self, engine: Engine, urls: HiddenUrls) -> None:
        self._queue = engine.crawl_queue()
        self._urls = urls

    put = forwarded("_queue")
    lease = forwarded("_queue")
    finish = forwarded("_queue")
    release = forwarded("_queue")
    crawls = forwarded("_queue")
    problems = forwarded("_queue")

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

"""How much is leased of each crawl: what its specification says, or else what is usual."""

import threading
from dataclasses import replace

from cachetools import LRUCache, TTLCache

from nwx.engine.crawls.crawl_index import CrawlIndex, StoredSpecification
from nwx.engine.queue.crawl_queue import LeaseLimits
from nwx.steering.specifications.specification import Limits
from nwx.steering.specifications.specification_store import specification_of

POLITE_LIMITS = LeaseLimits(delay_seconds=1.0, in_flight=1)
"""What a server keeps to where it is told nothing else: what crawlers do of their own accord."""

_KNOWN_SECONDS = 5.0
_KNOWN_CRAWLS = 1_000
_KNOWN_TEXTS = 20


class SpecificationLimits:
    """The limits of crawls by their names (`LimitsOf`); changes are heeded after a few seconds.

    The delay and the leases in flight are the `usual` ones; pages, and pages
    of a host, are those of the crawl's specification where it has them.
    """

    def __init__(self, crawls: CrawlIndex, usual: LeaseLimits) -> None:
        self._crawls = crawls
        self._usual = usual
        self._known: TTLCache[str, LeaseLimits] = TTLCache(_KNOWN_CRAWLS, _KNOWN_SECONDS)
        # A large specification takes seconds to read, and changes rarely.
        self._of_texts: LRUCache[StoredSpecification, Limits] = LRUCache(_KNOWN_TEXTS)
        self._guard = threading.Lock()

    def __call__(self, crawl: str) -> LeaseLimits:
        """Return the limits of a crawl."""
        with self._guard:
            found = self._known.get(crawl)
            if found is None:
                found = self._known[crawl] = self._read(crawl)
            return found

    def _read(self, crawl: str) -> LeaseLimits:
        stored = self._crawls.specification(crawl) if crawl else None
        if stored is None:
            return self._usual
        limits = self._of_texts.get(stored)
        if limits is None:
            limits = self._of_texts[stored] = specification_of(stored).limits
        pages = self._usual.pages if limits.pages is None else limits.pages
        of_host = limits.pages_per_host
        of_host = self._usual.pages_per_host if of_host is None else of_host
        return replace(self._usual, pages=pages, pages_per_host=of_host)

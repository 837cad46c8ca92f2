"""Which links a crawl still follows: the limits of its specification, over what is captured."""

from collections import Counter

from nwx.engine.crawls.crawl_index import CrawlIndex
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.values.urls import url_parts

_NOT_LINKS = frozenset("REPI")
"""Hops of Heritrix that lead no deeper: redirect, embed, prerequisite, inferred."""


def link_depth(hops: str) -> int:
    """Return how many links lead from a seed to a page; 0 where its hops are not recorded."""
    return sum(hop not in _NOT_LINKS for hop in hops)


class LinkLimits:
    """Counts the pages of a crawl, in all and by host, and tells which links go beyond."""

    def __init__(self, specification: CrawlSpecification, index: CrawlIndex) -> None:
        self._limits = specification.limits
        self._pages = 0
        self._hosts: Counter[str] = Counter()
        if self._limits.pages_per_host is not None:
            for score in index.document_scores(specification.name):
                self.count(score.url)
        elif self._limits.pages is not None:
            self._pages = sum(v.documents for v in index.analysed_versions(specification.name)[:1])

    def count(self, url: str) -> None:
        """Count a page that was captured."""
        self._pages += 1
        if self._limits.pages_per_host is not None:
            self._hosts[url_parts(url).host] += 1

    def allow(self, url: str, depth: int) -> bool:
        """Tell whether a URL at a depth may be fetched."""
        limits = self._limits
        if limits.depth is not None and depth > limits.depth:
            return False
        if limits.pages is not None and self._pages >= limits.pages:
            return False
        if limits.pages_per_host is None:
            return True
        return self._hosts[url_parts(url).host] < limits.pages_per_host

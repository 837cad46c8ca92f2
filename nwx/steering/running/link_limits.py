"""Which links a crawl still follows: the limits of its specification, over what is captured."""

from collections import Counter
from dataclasses import dataclass, field

from nwx.engine.crawls.crawl_index import AnalysedVersion, CrawlIndex
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.values.urls import url_parts

_NOT_LINKS = frozenset("REPI")
"""Hops of Heritrix that lead no deeper: redirect, embed, prerequisite, inferred."""


def link_depth(hops: str) -> int:
    """Return how many links lead from a seed to a page; 0 where its hops are not recorded."""
    return sum(hop not in _NOT_LINKS for hop in hops)


@dataclass(slots=True)
class _Pages:
    """Pages that were captured, in all and by host."""

    total: int = 0
    hosts: Counter[str] = field(default_factory=Counter)


class LinkLimits:
    """Counts the pages of a crawl, in all and by host, and tells which links go beyond.

    The pages of another version of the specification are analysed anew and
    counted once: the version that has more of them counts.
    """

    def __init__(self, specification: CrawlSpecification, index: CrawlIndex) -> None:
        self._limits = specification.limits
        self._pages = self._earlier = _Pages()
        if self._limits.pages is None and self._limits.pages_per_host is None:
            return
        name, version = specification.name, specification.version()
        held = {each.version: each for each in index.analysed_versions(name)}
        self._pages = self._captured(index, name, held.pop(version, None))
        fullest = max(held.values(), key=lambda each: each.documents, default=None)
        self._earlier = self._captured(index, name, fullest)

    def _captured(self, index: CrawlIndex, name: str, held: AnalysedVersion | None) -> _Pages:
        if held is None:
            return _Pages()
        if self._limits.pages_per_host is None:
            return _Pages(held.documents)
        scores = index.document_scores(name, held.version)
        return _Pages(held.documents, Counter(url_parts(score.url).host for score in scores))

    def count(self, url: str) -> None:
        """Count a page that was captured."""
        self._pages.total += 1
        if self._limits.pages_per_host is not None:
            self._pages.hosts[url_parts(url).host] += 1

    def allow(self, url: str, depth: int) -> bool:
        """Tell whether a URL at a depth may be fetched."""
        limits, counted = self._limits, (self._pages, self._earlier)
        if limits.depth is not None and depth > limits.depth:
            return False
        if limits.pages is not None and max(each.total for each in counted) >= limits.pages:
            return False
        if limits.pages_per_host is None:
            return True
        host = url_parts(url).host
        return max(each.hosts[host] for each in counted) < limits.pages_per_host

"""The orders in which simulated crawlers fetch pages: breadth first, and by priority.

Each generator yields the numbers of pages as they are fetched and ends when
it knows of no more; whoever reads it stops it at a budget.
"""

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from nwx.steering.simulation.page_graph import UNSCORED, PageGraph

SEED_PRIORITY = 1.0


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """How deep a crawl goes, and how many pages it fetches of a host; None is without limit."""

    depth: int | None = None
    pages_per_host: int | None = None


UNLIMITED = CrawlLimits()


class FetchedPages:
    """The pages that were fetched, the depths of those known, and the limits on both."""

    def __init__(self, graph: PageGraph, limits: CrawlLimits) -> None:
        self._graph, self._limits = graph, limits
        self._pages: set[int] = set()
        self._hosts: Counter[str] = Counter()
        self._depths: dict[int, int] = {}

    def reach(self, page: int, via: int | None) -> bool:
        """Note that a page was found; return whether it is within the depth."""
        depth = 0 if via is None else self._depths[via] + 1
        self._depths[page] = depth = min(depth, self._depths.get(page, depth))
        return self._limits.depth is None or depth <= self._limits.depth

    def add(self, page: int) -> bool:
        """Fetch a page; return whether it was not fetched before and its host may be."""
        host, most = self._graph.hosts[page], self._limits.pages_per_host
        if page in self._pages or (most is not None and self._hosts[host] >= most):
            return False
        self._hosts[host] += 1
        self._pages.add(page)
        return True

    def __contains__(self, page: int) -> bool:
        return page in self._pages


def breadth_first(
    graph: PageGraph, seeds: Sequence[int], limits: CrawlLimits = UNLIMITED
) -> Iterator[int]:
    """Yield pages in the order in which they are found."""
    fetched, queue, found = FetchedPages(graph, limits), deque(seeds), set(seeds)
    for seed in seeds:
        fetched.reach(seed, None)
    while queue:
        number = queue.popleft()
        if not fetched.add(number):
            continue
        yield number
        for target in graph.page(number).targets:
            if target not in found and fetched.reach(target, number):
                found.add(target)
                queue.append(target)


def best_first(
    graph: PageGraph, seeds: Sequence[int], limits: CrawlLimits = UNLIMITED, follow: float = 0.0
) -> Iterator[int]:
    """Yield pages in the order of their priorities, of equal ones the first known first.

    Priorities are those that a crawler is told: links below `follow` are not
    sent, of several to a page the most relevant counts, and a page that was
    blacklisted once is never fetched.
    """
    fetched = FetchedPages(graph, limits)
    priorities: dict[int, float] = {}
    heap: list[tuple[float, int, int]] = []
    places = count()
    for seed in dict.fromkeys(seeds):
        fetched.reach(seed, None)
        priorities[seed] = SEED_PRIORITY
        heappush(heap, (-SEED_PRIORITY, next(places), seed))
    while heap:
        negative, _, number = heappop(heap)
        if priorities[number] != -negative or not fetched.add(number):
            continue
        yield number
        page = graph.page(number)
        for target, relevance in zip(page.targets, page.relevances, strict=True):
            if target in fetched or math.isnan(priorities.get(target, UNSCORED)):
                continue
            if math.isnan(relevance):
                priorities[target] = relevance
                continue
            is_higher = relevance > priorities.get(target, UNSCORED)
            if relevance >= follow and fetched.reach(target, number) and is_higher:
                priorities[target] = relevance
                heappush(heap, (-relevance, next(places), target))

"""The order of a crawler that knows all links and all relevant pages, to compare steering with.

The very best order is a Steiner tree and takes too long to find; this one
goes the shortest way to the next relevant page, again and again.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from nwx.steering.simulation.crawl_orders import UNLIMITED, CrawlLimits, FetchedPages
from nwx.steering.simulation.page_graph import PageGraph

_MOST_LINKS = 20_000_000
"""So many links are looked at in all searches together; then the rest comes breadth first."""


def oracle_order(
    graph: PageGraph, seeds: Sequence[int], limits: CrawlLimits = UNLIMITED
) -> Iterator[int]:
    """Yield the numbers of pages as they are fetched.

    Relevant pages that are known come first, then the nearest ones that
    are not known yet with the pages that lead to them, then all others.
    """
    yield from _Oracle(graph, seeds, limits).pages()


class _Oracle:
    """What was fetched, what is known and not fetched, and which of that is relevant."""

    def __init__(self, graph: PageGraph, seeds: Sequence[int], limits: CrawlLimits) -> None:
        self._graph = graph
        self._fetched = FetchedPages(graph, limits)
        self._known: dict[int, None] = {}
        self._relevant: deque[int] = deque()
        self._out_of_reach: set[int] = set()
        self._links_left = _MOST_LINKS
        for seed in seeds:
            self._learn(seed, None)

    def pages(self) -> Iterator[int]:
        """Yield pages as they are fetched."""
        while True:
            while self._relevant:
                yield from self._fetch(self._relevant.popleft())
            ways = self._ways()
            if not ways:
                break
            for way in ways:
                yield from self._follow(way)
        while self._known:
            yield from self._fetch(next(iter(self._known)))

    def _learn(self, page: int, via: int | None) -> None:
        if page in self._known or page in self._fetched:
            return
        if self._fetched.reach(page, via):
            self._known[page] = None
            if self._graph.is_relevant(page):
                self._relevant.append(page)

    def _fetch(self, page: int) -> Iterator[int]:
        self._known.pop(page, None)
        if self._fetched.add(page):
            yield page
            for target in self._graph.page(page).targets:
                self._learn(target, page)

    def _follow(self, way: Sequence[int]) -> Iterator[int]:
        for page in way:
            if page in self._known:
                yield from self._fetch(page)
        if way[-1] not in self._fetched:
            self._out_of_reach.add(way[-1])  # too deep, or of a host that gives no more

    def _ways(self) -> list[list[int]]:
        """Return the ways from known pages to the nearest relevant ones, all equally long."""
        parents: dict[int, int | None] = dict.fromkeys(self._known)
        level = list(self._known)
        while level and self._links_left > 0:
            found = [page for page in level if self._is_wanted(page)]
            if found:
                return [_way(page, parents) for page in found]
            level = self._next_level(level, parents)
        return []

    def _next_level(self, level: Sequence[int], parents: dict[int, int | None]) -> list[int]:
        further = []
        for page in level:
            targets = self._graph.page(page).targets
            self._links_left -= len(targets)
            for target in targets:
                if target not in parents and target not in self._fetched:
                    parents[target] = page
                    further.append(target)
        return further

    def _is_wanted(self, page: int) -> bool:
        return page not in self._out_of_reach and self._graph.is_relevant(page)


def _way(page: int, parents: dict[int, int | None]) -> list[int]:
    way = [page]
    while (parent := parents[way[-1]]) is not None:
        way.append(parent)
    return way[::-1]

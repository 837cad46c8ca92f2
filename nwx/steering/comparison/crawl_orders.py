"""Orders in which a simulated crawler fetches pages: breadth first, best first, by an oracle."""

import math
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from types import MappingProxyType

from nwx.steering.analysis.link_learner import EXPLORED, Exploration, LinkFeatures, LinkLearner
from nwx.steering.specifications.specification import Limits

UNSCORED = -1.0
"""The relevance of a link that was not scored."""

BLACKLISTED = math.nan
"""The relevance of a link that is never to be followed."""


@dataclass(frozen=True, slots=True)
class GraphPage:
    """Document score and links of a fetched page.

    `targets` are the numbers of the linked pages, distinct, in document order; `relevances` and
    `features` belong to the links in the same order, features are None without a relevance.
    """

    score: float
    targets: "array[int]"
    relevances: "array[float]"
    features: tuple[LinkFeatures | None, ...] = ()


class PageGraph:
    """Pages of a web by number, analysed on first access.

    `hosts` has the host of each page; `judgements` override the `threshold` of relevant scores.
    """

    def __init__(
        self,
        hosts: list[str],
        analyse: Callable[[int], GraphPage],
        threshold: float,
        judgements: Mapping[int, bool] = MappingProxyType({}),
    ) -> None:
        self._judgements = judgements
        self.hosts = hosts
        self._analyse = analyse
        self.threshold = threshold
        self._known: list[GraphPage | None] = [None] * len(hosts)

    def __len__(self) -> int:
        return len(self._known)

    def page(self, number: int) -> GraphPage:
        """Return a page by its number."""
        known = self._known[number]
        if known is None:
            known = self._known[number] = self._analyse(number)
        return known

    def is_relevant(self, number: int) -> bool:
        """Return the judgement of a page, or else whether its score reaches the threshold."""
        if number in self._judgements:
            return self._judgements[number]
        return self.page(number).score >= self.threshold


SEED_PRIORITY = 1.0


UNLIMITED = Limits()


class FetchedPages:
    """The fetched pages, the depths of known pages, and the limits of both."""

    def __init__(self, graph: PageGraph, limits: Limits) -> None:
        self._graph, self._limits = graph, limits
        self._pages: set[int] = set()
        self._hosts: Counter[str] = Counter()
        self._depths: dict[int, int] = {}

    def reach(self, page: int, via: int | None) -> bool:
        """Record a found page; return whether it is within the depth limit."""
        depth = 0 if via is None else self._depths[via] + 1
        self._depths[page] = depth = min(depth, self._depths.get(page, depth))
        return self._limits.depth is None or depth <= self._limits.depth

    def add(self, page: int) -> bool:
        """Fetch a page; return False if it was fetched before or its host's limit is reached."""
        host, most = self._graph.hosts[page], self._limits.pages_per_host
        if page in self._pages or (most is not None and self._hosts[host] >= most):
            return False
        self._hosts[host] += 1
        self._pages.add(page)
        return True

    def __contains__(self, page: int) -> bool:
        return page in self._pages


def breadth_first(
    graph: PageGraph, seeds: Sequence[int], limits: Limits = UNLIMITED
) -> Iterator[int]:
    """Yield pages in order of discovery."""
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
    graph: PageGraph,
    seeds: Sequence[int],
    limits: Limits = UNLIMITED,
    follow: float = 0.0,
    learner: LinkLearner | None = None,
) -> Iterator[int]:
    """Yield pages by priority; equal priorities are in order of discovery.

    Priorities follow the crawler's queue: links below `follow` are not sent, the most relevant of
    several links to a page counts, and a page blacklisted once is never fetched. A learner adjusts
    the priorities by the fetched pages.
    """
    queue = _Queue(learner)
    fetched = FetchedPages(graph, limits)
    for seed in dict.fromkeys(seeds):
        fetched.reach(seed, None)
        queue.put(seed, SEED_PRIORITY, None)
    while (number := queue.pop()) is not None:
        if not fetched.add(number):
            continue
        yield number
        page = graph.page(number)
        queue.learn(number, page.score)
        features = page.features or (None,) * len(page.targets)
        for target, relevance, known in zip(page.targets, page.relevances, features, strict=True):
            if target in fetched:
                continue
            if math.isnan(relevance):
                queue.forbid(target)
            elif relevance >= follow and fetched.reach(target, number):
                queue.put(target, relevance, known)


_GROWTH, _FEW = 1.1, 1
"""Priorities are renewed when the number of learned pages grows by this factor and number."""


class _Queue:
    """The waiting pages by priority, which changes as the learner learns."""

    def __init__(self, learner: LinkLearner | None) -> None:
        self._learner = learner
        self._next = float(_FEW)
        self._places = count()
        self._heap: list[tuple[float, int, int]] = []
        self._waiting: dict[int, tuple[float, LinkFeatures | None]] = {}
        self._features: dict[int, LinkFeatures | None] = {}
        self._forbidden: set[int] = set()
        self._exploration: Exploration[int] = Exploration()
        self._found: set[int] = set()

    def put(self, page: int, relevance: float, features: LinkFeatures | None) -> None:
        """Queue a page, unless it waits with the relevance of a better link."""
        if self._learner is not None and features is not None:
            relevance += self._learner.change(features)
        if page not in self._forbidden and relevance > self._waiting.get(page, _UNKNOWN)[0]:
            self._waiting[page] = relevance, features
            heappush(self._heap, (-relevance, next(self._places), page))
            if page not in self._found:
                self._found.add(page)
                self._exploration.find(page)

    def pop(self) -> int | None:
        """Return the page with the highest priority, None if none waits.

        With a learner, some pages are explored instead.
        """
        explored = self._exploration.next(self._waiting.__contains__) if self._learner else None
        while self._heap:
            negative, _, page = heappop(self._heap)
            if self._waiting.get(page, _UNKNOWN)[0] != -negative:
                continue
            if explored is not None and -negative < EXPLORED:
                heappush(self._heap, (negative, next(self._places), page))
                page, negative = explored, -EXPLORED
            self._features[page] = self._waiting.pop(page)[1]
            self._exploration.fetch(-negative)
            return page
        return None

    def forbid(self, page: int) -> None:
        """Never fetch a page."""
        self._forbidden.add(page)
        self._waiting.pop(page, None)

    def learn(self, page: int, score: float) -> None:
        """Train the learner with the score of a fetched page."""
        features = self._features.pop(page, None)
        if self._learner is None or features is None:
            return
        self._learner.learn(features, score)
        if self._learner.pages >= self._next:
            self._next = max(self._next * _GROWTH, self._next + _FEW)
            self._renew(self._learner)

    def _renew(self, learner: LinkLearner) -> None:
        places = {page: place for _, place, page in sorted(self._heap, reverse=True)}
        for page, (relevance, features) in self._waiting.items():
            if features is not None:
                relevance = features.relevance + learner.change(features)
                self._waiting[page] = relevance, features
        self._heap = [(-one[0], places[page], page) for page, one in self._waiting.items()]
        heapify(self._heap)


_UNKNOWN: tuple[float, None] = (UNSCORED, None)


_MOST_LINKS = 20_000_000
"""Links examined in all searches together; after that, the rest comes breadth first."""


def oracle_order(
    graph: PageGraph, seeds: Sequence[int], limits: Limits = UNLIMITED
) -> Iterator[int]:
    """Yield the numbers of pages in the order an oracle would fetch them.

    Known relevant pages are first, then the nearest unknown relevant pages with the pages on the
    way to them, then all others.
    """
    yield from _Oracle(graph, seeds, limits).pages()


class _Oracle:
    """State of an oracle crawl: fetched, known and relevant pages."""

    def __init__(self, graph: PageGraph, seeds: Sequence[int], limits: Limits) -> None:
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
            self._out_of_reach.add(way[-1])  # too deep, or its host's limit is reached

    def _ways(self) -> list[list[int]]:
        """Return the shortest paths from known pages to the nearest relevant ones."""
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

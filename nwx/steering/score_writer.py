"""Scores written to the archive, and links sent to the crawler's queue."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from cachetools import LRUCache

from nwx.bulk.progress import retry_unavailable
from nwx.captures import PagePlace
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import (
    AnalysedVersion,
    CrawlIndex,
    DocumentScore,
    LinkScore,
    link_rank,
)
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.errors import EngineBusyError, EngineUnavailableError
from nwx.model import IndexName
from nwx.steering.analysis.document_scorer import TermStatistics, term_statistics
from nwx.steering.analysis.link_learner import (
    EXPLORED,
    LEARNED,
    Exploration,
    LinkFeatures,
    LinkLearner,
    link_features,
)
from nwx.steering.options import SteeringReport
from nwx.steering.queue.protocol import queue_url
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.values.urls import host_with_port

if TYPE_CHECKING:
    from nwx.steering.triples.capture_graphs import CaptureGraph
    from nwx.steering.triples.triple_store import TripleWriter


_NOT_LINKS = frozenset("REPI")
"""Hops of Heritrix that lead no deeper: redirect, embed, prerequisite, inferred."""


def link_depth(hops: str) -> int:
    """Return the number of links from a seed to a page; 0 if its hops are not recorded."""
    return sum(hop not in _NOT_LINKS for hop in hops)


@dataclass(slots=True)
class _Pages:
    """Numbers of captured pages, in total and by host."""

    total: int = 0
    hosts: Counter[str] = field(default_factory=Counter)


class LinkLimits:
    """Counts the pages of a crawl, in total and by host, and finds links above the limits.

    Pages of another version of the specification are analysed again and counted once: the version
    with more of them counts.
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
        return _Pages(held.documents, Counter(host_with_port(score.url) for score in scores))

    def count(self, url: str) -> None:
        """Count a captured page."""
        self._pages.total += 1
        if self._limits.pages_per_host is not None:
            self._pages.hosts[host_with_port(url)] += 1

    def allow(self, url: str, depth: int) -> bool:
        """Return whether a URL at a depth may be fetched."""
        limits, counted = self._limits, (self._pages, self._earlier)
        if limits.depth is not None and depth > limits.depth:
            return False
        if limits.pages is not None and max(each.total for each in counted) >= limits.pages:
            return False
        if limits.pages_per_host is None:
            return True
        host = host_with_port(url)
        return max(each.hosts[host] for each in counted) < limits.pages_per_host


_LOOK_SECONDS = 30.0
_GROWTH, _FEW_DOCUMENTS = 4, 100


class CurrentStatistics:
    """The term statistics of a specification, `terms`, as last read.

    They are read again when the archive has grown by a factor, which is checked at intervals: an
    archive may be empty at first.
    """

    def __init__(self, engine: Engine, specification: CrawlSpecification) -> None:
        self._engine, self._specification = engine, specification
        self._next = time.monotonic() + _LOOK_SECONDS
        self._documents = engine.count(IndexName.DOCUMENTS)
        self.terms: TermStatistics = term_statistics(engine, specification)

    def renew(self) -> bool:
        """Read the statistics again if due; return whether they were read."""
        if time.monotonic() < self._next:
            return False
        try:
            documents = self._engine.count(IndexName.DOCUMENTS)
            if documents <= _GROWTH * (self._documents + _FEW_DOCUMENTS):
                return False
            self.terms = term_statistics(self._engine, self._specification)
        except (EngineBusyError, EngineUnavailableError):
            return False  # retried later
        finally:
            self._next = time.monotonic() + _LOOK_SECONDS
        self._documents = documents
        return True


_T = TypeVar("_T")

_FLUSH_PAGES, _FLUSH_LINKS, _FLUSH_SECONDS = 100, 20_000, 0.25
_REMEMBERED_URLS = 200_000
_LEARNED_URLS, _CHANGED_URLS, _NOTABLE = 20_000, 4_000, 0.02
"""Waiting URLs to learn from, new priorities at a time, and the least change of a priority."""

_EXPLORED_URLS = 1_000

_RELEARNED_PAGES = 2_000
"""Pages of earlier runs to learn from at the start."""


class ScoreWriter:
    """Writes analysis results: first triples and updates for the queue, then the scores.

    A page counts as analysed once its scores are stored. After a kill before that, the same results
    are stored and sent again, which changes nothing.
    """

    def __init__(
        self,
        engine: Engine,
        specification: CrawlSpecification,
        report: SteeringReport,
        patience_seconds: float,
        triples: "TripleWriter | None" = None,
    ) -> None:
        self._triples = triples
        self._graphs: list[CaptureGraph] = []
        self._engine, self._specification = engine, specification
        self._index = engine.crawl_index()
        self._limits = LinkLimits(specification, self._index)
        self._report, self._patience = report, patience_seconds
        self._scores: list[DocumentScore] = []
        self._updates: list[UrlUpdate] = []
        self._links = 0
        self._since = time.monotonic()
        self._priorities: LRUCache[str, float] = LRUCache(_REMEMBERED_URLS)
        self._waiting: dict[str, LinkFeatures] = {}
        self._exploration: Exploration[str] = Exploration()
        self._raised: LRUCache[str, LinkFeatures] = LRUCache(_EXPLORED_URLS)
        self._learner = LinkLearner(specification.thresholds.relevant)
        stored = self._index.document_scores(specification.name, report.version)
        self._learner.learn_stored(islice(stored, _RELEARNED_PAGES))

    @property
    def is_due(self) -> bool:
        """Whether it is time to `flush`."""
        if not self._scores:
            return False
        full = len(self._scores) >= _FLUSH_PAGES or self._links >= _FLUSH_LINKS
        return full or time.monotonic() - self._since >= _FLUSH_SECONDS

    def send_seeds(self) -> None:
        """Send the seeds of the specification, so that a crawl can begin with the queue alone."""
        name = self._specification.name
        seeds = [UrlUpdate(url, 1.0, "", name) for url in self._specification.seeds]
        self._priorities.update((seed.url, 1.0) for seed in seeds)
        if seeds:
            self._retried(partial(self._send, seeds))

    def add(
        self, place: PagePlace, score: DocumentScore, graphs: "Iterable[CaptureGraph]" = ()
    ) -> None:
        """Add the scores of a page, and the graphs of its triples."""
        self._graphs.extend(graphs)
        if not self._scores:
            self._since = time.monotonic()
        if known := self._waiting.pop(score.url, None) or self._raised.pop(score.url, None):
            self._learner.learn(known, score.score)
            self._exploration.fetch(self._priorities.get(score.url, EXPLORED))
        links = tuple(self._learned(link, score.url) for link in score.links)
        score = replace(score, links=links)
        self._scores.append(score)
        self._links += len(score.links)
        self._limits.count(score.url)
        self._updates += self._news(place, score)
        self._updates += self._explored()
        report = self._report
        report.analysed += 1
        report.relevant += score.score >= self._specification.thresholds.relevant
        report.links += len(score.links)
        report.blacklisted += sum(link.relevance is None for link in score.links)

    def _news(self, place: PagePlace, score: DocumentScore) -> Iterator[UrlUpdate]:
        """Yield updates for links of a page that the queue does not know yet.

        A URL keeps the highest priority of its links.
        """
        depth, via = link_depth(place.hops) + 1, _encodable(place.url)
        for link in score.links:
            priority = link_rank(link.relevance)
            known = self._priorities.get(link.url, -1.0)
            if priority > known and self._is_sent(link, depth):
                self._priorities[link.url] = priority
                if link.relevance is None:
                    self._waiting.pop(link.url, None)
                elif known < 0:
                    self._exploration.find(link.url)
                yield UrlUpdate(link.url, link.relevance, via, self._specification.name)

    def _explored(self) -> Iterator[UrlUpdate]:
        """Yield an update for a URL to explore, if one is due."""
        url = self._exploration.next(self._waiting.__contains__)
        if url is not None and self._priorities.get(url, 1.0) < EXPLORED:
            self._priorities[url], self._raised[url] = EXPLORED, self._waiting.pop(url)
            yield UrlUpdate(url, EXPLORED, crawl=self._specification.name)

    def _learned(self, link: LinkScore, page: str) -> LinkScore:
        """Return a link with the learned part of its relevance; keep its features for learning.

        Links below the threshold `follow` by the specification are returned unchanged.
        """
        if link.relevance is None or link.relevance < self._specification.thresholds.follow:
            return link
        features = link_features(link, page)
        change = self._learner.change(features)
        relevance = max(link.relevance + change, self._specification.thresholds.follow)
        if relevance > self._priorities.get(link.url, -1.0):
            self._waiting.pop(link.url, None)
            self._waiting[link.url] = features
            if len(self._waiting) > _LEARNED_URLS:
                del self._waiting[next(iter(self._waiting))]
        if not change:
            return link
        parts = {**link.parts, LEARNED: round(relevance - link.relevance, 6)}
        return link._replace(relevance=relevance, parts=parts)

    def _changed(self, least_change: float) -> Iterator[UrlUpdate]:
        """Yield updates of waiting URLs whose priority has changed, the oldest first."""
        least = self._specification.thresholds.follow
        for url, features in list(islice(self._waiting.items(), _CHANGED_URLS)):
            del self._waiting[url]
            self._waiting[url] = features  # the next call begins with others
            priority = max(least, features.relevance + self._learner.change(features))
            if abs(priority - self._priorities.get(url, priority)) >= least_change:
                self._priorities[url] = priority
                yield UrlUpdate(url, priority, crawl=self._specification.name)

    def _is_sent(self, link: LinkScore, depth: int) -> bool:
        follow = self._specification.thresholds.follow
        if link.relevance is not None and not (
            link.relevance >= follow and self._limits.allow(link.url, depth)
        ):
            return False
        # A lone surrogate makes a URL invalid, and queues accept no very long ones.
        return link.url == _encodable(link.url) and bool(queue_url(link.url))

    def flush(self, least_change: float = _NOTABLE) -> list[str]:
        """Store all collected results; return the ids of their documents.

        Priorities of waiting URLs are sent if they changed by at least `least_change`.
        """
        scores, updates, graphs = self._scores, self._updates, self._graphs
        self._scores, self._updates, self._graphs, self._links = [], [], [], 0
        if graphs and self._triples:
            self._report.triples += self._triples.put(graphs)
        if updates and (news := self._without_lower(updates)):
            self._retried(partial(self._send, news))
            self._report.sent += len(news)
        if changed := list(self._changed(least_change)):
            self._retried(partial(self._send, changed))
        if scores:
            self._retried(partial(self._index.put_scores, scores))
        return [score.document_id for score in scores]

    def _without_lower(self, updates: list[UrlUpdate]) -> list[UrlUpdate]:
        """Drop updates that do not exceed the relevance earlier runs sent for a URL.

        With a depth limit all updates are kept: it is unknown whether a scored link was sent.
        """
        specification = self._specification
        if specification.limits.depth is not None:
            return updates
        urls = {update.url for update in updates}
        known = self._retried(
            lambda: self._index.relevances(specification.name, self._report.version, urls)
        )
        return [
            update
            for update in updates
            if update.url not in known or link_rank(update.priority) > link_rank(known[update.url])
        ]

    def _send(self, updates: list[UrlUpdate]) -> None:
        queue = self._specification.queue
        if queue:
            self._engine.outbox().add(updates, queue)
        else:
            self._engine.crawl_queue().put(updates)

    def _retried(self, call: Callable[[], _T]) -> _T:
        return retry_unavailable(call, self._patience)


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

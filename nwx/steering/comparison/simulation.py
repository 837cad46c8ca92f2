"""Simulated crawls of a collection: breadth first, steered by a specification, and by an oracle."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.captures import is_page, is_url_list
from nwx.engine.base import Engine
from nwx.errors import UrlError, UsageError
from nwx.model import Capture
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import term_statistics
from nwx.steering.analysis.link_learner import LinkFeatures, LinkLearner, link_features
from nwx.steering.analysis.page_view import PageView
from nwx.steering.comparison.crawl_orders import (
    BLACKLISTED,
    UNSCORED,
    GraphPage,
    PageGraph,
    best_first,
    breadth_first,
    oracle_order,
)
from nwx.steering.comparison.relevance import JudgedSample, SimulationTruth, precision_of
from nwx.steering.pages import StoredPages
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    LinkRule,
    LinkRules,
    RuleAction,
)
from nwx.values.urlkeys import urlkey
from nwx.values.urls import FRAME, NAVIGATIONAL, host_with_port, present_kind

_MOST_REDIRECTS = 10
_MOST_VERSIONS = 100
"""The newest versions of a URL in which its page is searched for."""

_OK, _REDIRECTION, _ERROR = 200, 300, 400
_FIRST, _BEHIND_ALL = "", "\U0010ffff"
_PAGES_SHOWN_EVERY = 4_096


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A page: the location of its record and the timestamp of its newest capture.

    `capture` has the payload; it is an older one if the newest is a revisit.
    """

    capture: Capture
    timestamp: str


class ArchivedWeb:
    """The pages of a collection, numbered in the order of their urlkeys, and the redirects."""

    def __init__(self, pages: Iterable[ArchivedPage], redirects: dict[str, str]) -> None:
        self.pages = tuple(pages)
        self._numbers = {page.capture.urlkey: number for number, page in enumerate(self.pages)}
        self._redirects = redirects

    def page_at(self, url: str) -> int | None:
        """Return the number of the page a URL leads to through redirects, or None if no page."""
        for _ in range(_MOST_REDIRECTS):
            try:
                key = urlkey(url)
            except UrlError:
                return None
            if key in self._numbers:
                return self._numbers[key]
            url = self._redirects.get(key, "")
            if not url:
                return None
        return None


def archived_web(
    engine: Engine, collection: str, progress: ShowProgress = no_progress
) -> ArchivedWeb:
    """Return the web of a collection, of the whole archive for ""."""
    pages: list[ArchivedPage] = []
    redirects: dict[str, str] = {}
    captures = _shown(engine.captures(_FIRST, _BEHIND_ALL), progress)
    for key, versions in groupby(captures, key=lambda one: one.urlkey):
        newest = _Newest(collection)
        for capture in versions:
            newest.add(capture)
        if page := newest.page():
            pages.append(page)
        elif newest.redirect:
            redirects[key] = newest.redirect
    return ArchivedWeb(pages, redirects)


class _Newest:
    """The newest page among the captures of a urlkey, added in order."""

    def __init__(self, collection: str) -> None:
        self._collection = collection
        self._payloads: dict[str, Capture] = {}
        self._pages: dict[str, str] = {}
        self.redirect = ""

    def add(self, capture: Capture) -> None:
        """Add the next capture."""
        status = capture.status_code or _OK
        if is_page(capture) or is_url_list(capture):
            self._payloads[capture.document_id] = capture
            if len(self._payloads) > _MOST_VERSIONS:
                del self._payloads[next(iter(self._payloads))]
        if self._collection not in ("", capture.collection) or not capture.document_id:
            return
        if status < _REDIRECTION:
            self._pages.pop(capture.document_id, None)
            self._pages[capture.document_id] = capture.timestamp
            if len(self._pages) > _MOST_VERSIONS:
                del self._pages[next(iter(self._pages))]
        elif status < _ERROR and capture.redirect_to:
            self.redirect = capture.redirect_to

    def page(self) -> ArchivedPage | None:
        """Return the newest page with a payload, or None."""
        for id, timestamp in reversed(self._pages.items()):
            if id in self._payloads:
                return ArchivedPage(self._payloads[id], timestamp)
        return None


def _shown(captures: Iterable[Capture], progress: ShowProgress) -> Iterator[Capture]:
    for number, capture in enumerate(captures):
        if number % _PAGES_SHOWN_EVERY == 0:
            progress(WorkProgress("reading captures", number))
        yield capture


_FOLLOWED = NAVIGATIONAL | {FRAME}
_NOTHING = GraphPage(0.0, array("l"), array("d"))


class AnalysedWeb:
    """Analyses the pages of a web one by one, as a crawl does.

    URLs that no `only` rule covers are outside every simulated crawl. `links` counts the links
    within the web.
    """

    def __init__(
        self, web: ArchivedWeb, stored: StoredPages, analyzer: Analyzer, rules: Sequence[LinkRule]
    ) -> None:
        self._web, self._stored, self._analyzer = web, stored, analyzer
        self._scope = LinkRules([rule for rule in rules if rule.action is RuleAction.ONLY])
        self.links = 0

    def analyse(self, number: int) -> GraphPage:
        """Return the score and links of a page; an unreadable page has score 0 and no links."""
        page = self._web.pages[number]
        try:
            view = self._stored.view(page.capture, page.timestamp)
            if view is None:
                return _NOTHING
            scores = self._analyzer.analyse(view, page.capture.document_id)
        except MemoryError:
            self._stored.counts.unreadable += 1
            return _NOTHING
        relevances = dict.fromkeys(self._targets(number, view), UNSCORED)
        features: dict[int, LinkFeatures | None] = dict.fromkeys(relevances)
        for link in scores.links:
            target = self._web.page_at(link.url)
            if target not in relevances:
                continue
            if link.relevance is not None:
                relevances[target] = link.relevance
                features[target] = link_features(link, view.url)
            elif self._is_its_own(link.url, self._web.pages[target]):
                relevances[target] = BLACKLISTED
        self.links += len(relevances)
        return GraphPage(
            scores.score,
            array("l", relevances),
            array("d", relevances.values()),
            tuple(features.values()),
        )

    def within(self, url: str) -> bool:
        """Return whether a URL is within the scope of the crawl."""
        return not self._scope.verdict(url).outside

    def _targets(self, number: int, view: PageView) -> Iterator[int]:
        for link in view.links:
            if present_kind(link.kind) in _FOLLOWED and self.within(link.url):
                target = self._web.page_at(link.url)
                if target is not None and target != number:
                    yield target

    def _is_its_own(self, url: str, page: ArchivedPage) -> bool:
        """Return whether a URL is the page's own and not only a redirect to it.

        A page can be fetched by its own URL even if a redirecting URL is blacklisted.
        """
        try:
            return urlkey(url) == page.capture.urlkey
        except UrlError:
            return False


def seeds_within(web: ArchivedWeb, seeds: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the distinct pages that seeds lead to, and the seeds without a page."""
    found: dict[int, None] = {}
    missing = []
    for seed in seeds:
        page = web.page_at(seed)
        if page is None:
            missing.append(seed)
        else:
            found[page] = None
    return list(found), missing


THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
"""Document scores from which pages are counted, to help choose a threshold."""

_SHOWN_EVERY = 16


@dataclass(frozen=True, slots=True)
class SimulatedCrawl:
    """Numbers of fetched and relevant pages of one simulated crawl.

    `curve` has the number of relevant pages after each page.
    """

    fetched: int
    relevant: int
    curve: tuple[int, ...]

    @property
    def harvest_rate(self) -> float:
        """The share of relevant pages among those fetched."""
        return self.relevant / self.fetched if self.fetched else 0.0


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """Results of the simulated crawls.

    `relevant_total` counts the relevant pages of the collection, `relevant_reachable` the ones
    linked from the seeds within the limits of the specification; `pages` and `reachable` count all
    pages likewise. `scores` has, for each of THRESHOLDS, the number of pages with at least that
    document score. `judged` compares the scores with judgements. `from_index` pages were analysed
    from the index because their records were unreadable; `unreadable` pages were not analysed.
    """

    crawl: str
    version: str
    collection: str
    threshold: float
    budget: int
    relevant_total: int
    breadth_first: SimulatedCrawl
    steered: SimulatedCrawl
    oracle: SimulatedCrawl
    relevant_reachable: int
    pages: int
    reachable: int
    links: int
    scores: tuple[int, ...]
    missing_seeds: tuple[str, ...]
    from_index: int
    unreadable: int
    judged: JudgedSample | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, budget and crawls first."""
        values = asdict(self)
        first = ("budget", "relevant_total", "breadth_first", "steered", "oracle")
        crawls = ("breadth_first", "steered", "oracle")
        for name in crawls:
            values[name]["harvest_rate"] = round(getattr(self, name).harvest_rate, 4)
            values[name]["curve"] = list(values[name]["curve"])
        values["scores"] = [
            {"from": threshold, "pages": pages}
            for threshold, pages in zip(THRESHOLDS, self.scores, strict=True)
        ]
        values["missing_seeds"] = list(self.missing_seeds)
        return {**{name: values[name] for name in first}, **values}


def simulate(
    engine: Engine,
    specification: CrawlSpecification,
    collection: str,
    budget: int | None = None,
    progress: ShowProgress = no_progress,
    truth: SimulationTruth | None = None,
) -> SimulationReport:
    """Simulate crawls of a collection ("" for the whole archive) and return the results.

    `budget` is a number of pages, None a quarter of the reachable ones. Every page is analysed
    once. Raises UsageError if the collection has no page, or none at any seed.
    """
    truth = truth or SimulationTruth()
    web = archived_web(engine, collection, progress)
    seeds, missing = _seeds(web, specification, collection)
    stored = StoredPages(engine)
    analyzer = _analyzer(engine, specification, truth)
    analysed = AnalysedWeb(web, stored, analyzer, specification.rules)
    hosts = [host_with_port(page.capture.url) for page in web.pages]
    judgements = truth.by_page(hosts, web.page_at)
    graph = PageGraph(hosts, analysed.analyse, specification.thresholds.relevant, judgements)
    _analyse_all(graph, progress)
    limits = specification.limits
    reachable = list(breadth_first(graph, seeds, limits))
    if budget is None:
        budget = -(-len(reachable) // 4)
    most = min(budget, limits.pages or budget)
    plain = _crawled(graph, reachable, most)
    steered = _crawled(graph, _steered(graph, seeds, specification), most)
    oracle = _crawled(graph, oracle_order(graph, seeds, limits), most)
    return SimulationReport(
        crawl=specification.name,
        version=specification.version(),
        collection=collection,
        threshold=specification.thresholds.relevant,
        budget=budget,
        relevant_total=sum(map(graph.is_relevant, range(len(graph)))),
        breadth_first=plain,
        steered=steered,
        # The oracle is not an exact optimum; a crawl that finds more is closer to it.
        oracle=max((oracle, steered, plain), key=lambda crawl: crawl.relevant),
        relevant_reachable=sum(map(graph.is_relevant, reachable)),
        pages=len(graph),
        reachable=len(reachable),
        links=analysed.links,
        scores=_pages_by_score(graph),
        missing_seeds=tuple(missing),
        from_index=stored.counts.index,
        unreadable=stored.counts.unreadable,
        judged=precision_of(graph, judgements),
    )


def _analyzer(
    engine: Engine, specification: CrawlSpecification, truth: SimulationTruth
) -> Analyzer:
    statistics = term_statistics(engine, specification)
    return Analyzer(specification, statistics, None, truth.spam_hosts)


def _steered(
    graph: PageGraph, seeds: Sequence[int], specification: CrawlSpecification
) -> Iterator[int]:
    follow, learner = specification.thresholds.follow, LinkLearner(graph.threshold)
    return best_first(graph, seeds, specification.limits, follow, learner)


def _analyse_all(graph: PageGraph, progress: ShowProgress) -> None:
    for number in range(len(graph)):
        graph.page(number)
        if number % _SHOWN_EVERY == 0:
            progress(WorkProgress("analysing pages", number, len(graph)))


def _seeds(
    web: ArchivedWeb, specification: CrawlSpecification, collection: str
) -> tuple[list[int], list[str]]:
    where = f"the collection {collection}" if collection else "the archive"
    if not web.pages:
        raise UsageError(f"{where} has no page; `nwx stats` and `nwx files` show what is there")
    seeds, missing = seeds_within(web, specification.seeds)
    if not seeds:
        raise UsageError(
            f"{where} has no capture of any of the {len(missing)} seeds of {specification.name};"
            " add one of its URLs to `seeds` of the specification"
        )
    return seeds, missing


def _pages_by_score(graph: PageGraph) -> tuple[int, ...]:
    scores = [graph.page(number).score for number in range(len(graph))]
    return tuple(sum(score >= threshold for score in scores) for threshold in THRESHOLDS)


def _crawled(graph: PageGraph, order: Iterable[int], budget: int) -> SimulatedCrawl:
    relevant, curve = 0, []
    for number in islice(order, budget):
        relevant += graph.is_relevant(number)
        curve.append(relevant)
    return SimulatedCrawl(len(curve), relevant, tuple(curve))

"""Simulated crawls of a collection: breadth first, steered by a specification, and by an oracle."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import term_statistics
from nwx.steering.running.pages import StoredPages
from nwx.steering.simulation.archived_web import (
    AnalysedWeb,
    ArchivedWeb,
    archived_web,
    seeds_within,
)
from nwx.steering.simulation.crawl_orders import (
    PageGraph,
    best_first,
    breadth_first,
    oracle_order,
)
from nwx.steering.specifications.specification import CrawlSpecification

THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
"""Document scores at which the pages are counted, for whoever looks for a threshold."""

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
    document score. `from_index` pages were analysed from the index because their records were
    unreadable; `unreadable` pages were not analysed.
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
) -> SimulationReport:
    """Simulate crawls of a collection ("" for the whole archive) and return the results.

    `budget` is a number of pages, None a quarter of the reachable ones. Every page is analysed
    once. Raises UsageError if the collection has no page, or none at any seed.
    """
    web = archived_web(engine, collection, progress)
    seeds, missing = _seeds(web, specification, collection)
    stored = StoredPages(engine)
    analyzer = Analyzer(specification, term_statistics(engine, specification))
    analysed = AnalysedWeb(web, stored, analyzer, specification.rules)
    hosts = [page.capture.host for page in web.pages]
    graph = PageGraph(hosts, analysed.analyse, specification.thresholds.relevant)
    for number in range(len(graph)):
        graph.page(number)
        if number % _SHOWN_EVERY == 0:
            progress(WorkProgress("analysing pages", number, len(graph)))
    limits = specification.limits
    reachable = list(breadth_first(graph, seeds, limits))
    if budget is None:
        budget = -(-len(reachable) // 4)
    most = min(budget, limits.pages or budget)
    plain = _crawled(graph, reachable, most)
    follow = specification.thresholds.follow
    steered = _crawled(graph, best_first(graph, seeds, limits, follow), most)
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
        # It is no exact optimum; whoever finds more is nearer to that.
        oracle=max((oracle, steered, plain), key=lambda crawl: crawl.relevant),
        relevant_reachable=sum(map(graph.is_relevant, reachable)),
        pages=len(graph),
        reachable=len(reachable),
        links=analysed.links,
        scores=_pages_by_score(graph),
        missing_seeds=tuple(missing),
        from_index=stored.counts.index,
        unreadable=stored.counts.unreadable,
    )


def _seeds(
    web: ArchivedWeb, specification: CrawlSpecification, collection: str
) -> tuple[list[int], list[str]]:
    where = f"the collection {collection}" if collection else "the archive"
    if not web.pages:
        raise UsageError(f"{where} has no page; `nwx stats` and `nwx files` tell what is there")
    seeds, missing = seeds_within(web, specification.seeds)
    if not seeds:
        raise UsageError(
            f"{where} has no capture of any of the {len(missing)} seeds of {specification.name};"
            " add a URL that it has to `seeds` of the specification"
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

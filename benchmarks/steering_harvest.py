"""How much of its subject a steered crawl finds, beside other orders of the same pages.

    python -m benchmarks.steering_harvest [DATA] [--parts]

Imports the made web of topic_pages.py and, where DATA is given, the real
collections of steering_subjects.py, and simulates crawls of each, with a
quarter of the pages that can be reached as the budget: steered by the
default weights, breadth first, by an oracle, and by two peers:

- anchors: best first by the share of keywords in the text of the link alone;
- PageRank: by the PageRank of the whole graph of pages, which no crawler knows.

A page is relevant by its document score, and on the made web also in truth.
`--parts` tells what each part of relevance gives: crawls steered without it.
"""

import argparse
import math
import re
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path

import igraph

from benchmarks.steering_subjects import SUBJECTS
from benchmarks.topic_pages import TopicPages, write_topic_warc
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import term_statistics
from nwx.steering.analysis.page_view import PageLink
from nwx.steering.running.pages import StoredPages
from nwx.steering.simulation.crawl_orders import (
    GraphPage,
    PageGraph,
    best_first,
    breadth_first,
    oracle_order,
)
from nwx.steering.simulation.simulation import AnalysedWeb, archived_web, seeds_within
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    ScoreWeights,
)
from nwx.warc.sources import expand

COLUMNS = ("breadth first", "anchors", "PageRank", "steered", "oracle")
_MADE = "made"
_WEIGHTS = ScoreWeights()
PARTS = {
    "all parts": _WEIGHTS,
    "without document": replace(_WEIGHTS, document=0.0),
    "without near": replace(_WEIGHTS, near=0.0),
    "without role": replace(_WEIGHTS, role=0.0),
    "document alone": ScoreWeights(1, 0, 0, 0, 0),
    "near alone": ScoreWeights(0, 1, 0, 0, 0),
    "role alone": ScoreWeights(0, 0, 1, 0, 0),
}

Order = Iterator[int]


@dataclass(frozen=True, slots=True)
class Case:
    """A specification and the collection to crawl by it."""

    collection: str
    specification: CrawlSpecification


@dataclass(frozen=True, slots=True)
class Harvest:
    """The relevant pages that each order finds within the budget, and all within reach."""

    case: Case
    pages: int
    budget: int
    reachable: int
    found: dict[str, int]
    seconds: float


def main() -> None:
    """Run all crawls and print what they found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", nargs="?", type=Path, help="the folder of real collections")
    options.add_argument("--parts", action="store_true", help="leave out one part after another")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = list(_imported(Path(folder), given.data))
        with EmbeddedEngine(Path(folder) / "archive", read_only=True) as engine:
            if given.parts:
                _print_parts(engine, cases)
            else:
                _print_harvests([_harvest(engine, case) for case in cases])


def _imported(folder: Path, data: Path | None) -> Iterator[Case]:
    yield Case(_MADE, TopicPages().specification())
    files = {_MADE: write_topic_warc(folder)}
    for subject in SUBJECTS if data else ():
        assert data is not None
        name = Path(subject.file).name.partition(".")[0][:20]
        files[name] = data / subject.file
        yield Case(name, subject.specification())
    settings = Settings(engine=str(folder / "archive"))
    with EmbeddedEngine(folder / "archive") as engine:
        engine.create()
        for name, path in files.items():
            import_files(engine, settings, expand([str(path)]), ImportOptions(name, jobs=1))


class _Web:
    """The pages of a case, analysed with some weights."""

    def __init__(self, engine: Engine, case: Case, weights: ScoreWeights = _WEIGHTS) -> None:
        specification = replace(case.specification, weights=weights)
        self.web = archived_web(engine, case.collection)
        self.seeds, _ = seeds_within(self.web, specification.seeds)
        self.stored = StoredPages(engine)
        analyzer = Analyzer(specification, term_statistics(engine, specification))
        analysed = AnalysedWeb(self.web, self.stored, analyzer, specification.rules)
        self.threshold = specification.thresholds.relevant
        self.follow = specification.thresholds.follow if weights == _WEIGHTS else 0.0
        self.graph = self.graph_of(analysed.analyse)

    def graph_of(self, analyse: Callable[[int], GraphPage]) -> PageGraph:
        """Return the graph of the pages as they are analysed by a function."""
        hosts = [page.capture.host for page in self.web.pages]
        return PageGraph(hosts, analyse, self.threshold)

    def count(self, order: Order, budget: int) -> int:
        """Return how many relevant pages an order finds."""
        return sum(map(self.graph.is_relevant, islice(order, budget)))

    def budget(self) -> tuple[list[int], int]:
        """Return the pages that can be reached, and a quarter of their number."""
        reach = list(breadth_first(self.graph, self.seeds))
        return reach, -(-len(reach) // 4)


def _harvest(engine: Engine, case: Case) -> Harvest:
    began = time.process_time()
    web = _Web(engine, case)
    reach, budget = web.budget()
    orders: dict[str, Order] = {
        "breadth first": iter(reach),
        "anchors": best_first(web.graph_of(_by_anchors(web, case.specification)), web.seeds),
        "PageRank": best_first(web.graph_of(_by_pagerank(web)), web.seeds),
        "steered": best_first(web.graph, web.seeds, follow=web.follow),
        "oracle": oracle_order(web.graph, web.seeds),
    }
    found = {name: web.count(orders[name], budget) for name in COLUMNS}
    found["oracle"] = max(found.values())
    relevant = sum(map(web.graph.is_relevant, reach))
    if case.collection == _MADE:
        _print_truth(web, budget)
    seconds = time.process_time() - began
    return Harvest(case, len(reach), budget, relevant, found, seconds)


def _by_anchors(web: _Web, specification: CrawlSpecification) -> Callable[[int], GraphPage]:
    """Return what scores links by the share of the specification's words in their texts."""
    names = [keyword.text for keyword in specification.keywords]
    names += [entity.name for entity in specification.entities]
    pattern = re.compile("|".join(rf"\b{re.escape(name)}" for name in names), re.I)

    def share(link: PageLink) -> float:
        words = len(link.text.split())
        return min(1.0, len(pattern.findall(link.text)) / words) if words else 0.0

    def analyse(number: int) -> GraphPage:
        known = web.graph.page(number)
        page = web.web.pages[number]
        view = web.stored.view(page.capture, page.timestamp)
        best = dict.fromkeys(known.targets, 0.0)
        for link in view.links if view else ():
            target = web.web.page_at(link.url)
            if target in best:
                best[target] = max(best[target], share(link))
        return GraphPage(known.score, known.targets, array("d", best.values()))

    return analyse


def _by_pagerank(web: _Web) -> Callable[[int], GraphPage]:
    """Return what scores links by the PageRank of the pages that they lead to."""
    pages = [web.graph.page(number) for number in range(len(web.graph))]
    edges = [(number, target) for number, page in enumerate(pages) for target in page.targets]
    ranks = igraph.Graph(len(pages), edges, directed=True).pagerank()

    def analyse(number: int) -> GraphPage:
        page = pages[number]
        return GraphPage(
            page.score, page.targets, array("d", (ranks[target] for target in page.targets))
        )

    return analyse


def _print_truth(web: _Web, budget: int) -> None:
    """Print what the crawls of the made web found of the pages whose subject is known."""
    relevant = TopicPages().relevant
    orders = {
        "breadth first": breadth_first(web.graph, web.seeds),
        "steered": best_first(web.graph, web.seeds, follow=web.follow),
    }
    found = {
        name: sum(web.web.pages[number].capture.url in relevant for number in islice(order, budget))
        for name, order in orders.items()
    }
    words = ", ".join(f"{name} {count}" for name, count in found.items())
    print(f"pages of the made web that are about floods, of {len(relevant)}: {words}\n")


def _print_harvests(harvests: Sequence[Harvest]) -> None:
    head = f"{'collection':21}{'subject':23}{'pages':>6}{'relevant':>9}{'budget':>7}"
    names = "".join(f"{name:>14}" for name in COLUMNS)
    print(f"{head}{names}{'ratio':>7}{'of oracle':>10}{'s':>6}")
    for one in harvests:
        steered, plain = one.found["steered"], one.found["breadth first"]
        print(
            f"{one.case.collection:21}{one.case.specification.name:23}"
            f"{one.pages:6}{one.reachable:9}{one.budget:7}"
            + "".join(f"{one.found[name]:14}" for name in COLUMNS)
            + f"{steered / plain if plain else math.inf if steered else math.nan:7.2f}"
            + f"{steered / one.found['oracle'] if one.found['oracle'] else 1:10.0%}"
            + f"{one.seconds:6.1f}"
        )
    print(f"\n{'all of a collection':44}" + " " * 22 + names)
    by_collection = sorted(harvests, key=lambda one: one.case.collection)
    for name, group in groupby(by_collection, key=lambda one: one.case.collection):
        several = list(group)
        sums = [sum(one.found[column] for one in several) for column in COLUMNS]
        print(f"{name:44}" + " " * 22 + "".join(f"{count:14}" for count in sums))


def _print_parts(engine: Engine, cases: Sequence[Case]) -> None:
    """Print the sums of relevant pages that crawls find, each with other weights."""
    print(f"{'':20}" + f"{'made web':>10}{'real':>8}   (relevant pages within all budgets)")
    for name, weights in PARTS.items():
        made = real = 0
        for case in cases:
            web = _Web(engine, case, weights)
            _, budget = web.budget()
            found = web.count(best_first(web.graph, web.seeds, follow=web.follow), budget)
            made += found if case.collection == _MADE else 0
            real += found if case.collection != _MADE else 0
        print(f"{name:20}{made:10}{real:8}")


if __name__ == "__main__":
    main()

"""Relevant pages found by a steered crawl, compared with other orders of the same pages.

    python -m benchmarks.steering_harvest [--archives FOLDER] [--sites FOLDER] [--seeds N]

Simulates crawls with a quarter of the reachable pages as the budget:

- generated webs of each shape in local_webs.py, with known relevant pages, of N seeds (default 3);
- the real archives of steering_subjects.py below the folder `--archives`;
- documentation sites: HTML of unpacked Debian packages below `--sites`
  (`apt-get download postgresql-doc-15 python3.11-doc sqlite3-doc`, then `dpkg -x PACKAGE FOLDER`).

The orders are breadth first; best first by the share of keywords in anchors alone; by the relevance
of the specification, and the same with learning during the crawl (steered); and an oracle. A page
of a real site is relevant by its document score. Prints the sums of each group, and the ratio of
steered to the others with a 95 % interval (bootstrap over its crawls).
"""

import argparse
import random
import re
import tempfile
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.local_webs import SHAPES, LocalWeb
from benchmarks.steering_subjects import SITES, SUBJECTS
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import UrlError
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import TermStatistics, term_statistics
from nwx.steering.analysis.link_learner import LinkFeatures, LinkLearner, link_features
from nwx.steering.analysis.page_view import PageView, page_view
from nwx.steering.comparison.crawl_orders import (
    BLACKLISTED,
    UNSCORED,
    GraphPage,
    PageGraph,
    best_first,
    breadth_first,
    oracle_order,
)
from nwx.steering.comparison.simulation import archived_web, seeds_within
from nwx.steering.pages import StoredPages
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.values.urlkeys import urlkey
from nwx.warc.sources import expand

COLUMNS = ("breadth first", "anchors", "specification", "steered", "oracle")
_SAMPLES = 2_000
_MOST_BYTES = 600_000


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a web: URL and view of each, and the page of a URL."""

    urls: Sequence[str]
    view: Callable[[int], PageView | None]
    page_at: Callable[[str], int | None]

    @classmethod
    def of_html(cls, html: Mapping[str, bytes]) -> "Pages":
        """Return a web from HTML by URL."""
        numbers = {urlkey(url): number for number, url in enumerate(html)}
        urls = list(html)
        views = [page_view(data, url, "20240101000000") for url, data in html.items()]

        def page_at(url: str) -> int | None:
            try:
                return numbers.get(urlkey(url))
            except UrlError:
                return None

        return cls(urls, views.__getitem__, page_at)

    def statistics(self, specification: CrawlSpecification) -> TermStatistics:
        """Return the number of pages with each keyword."""
        views = map(self.view, range(len(self.urls)))
        texts = [view.content.lower() for view in views if view]
        found = {}
        for keyword in specification.keywords:
            has = re.compile(rf"\b{re.escape(keyword.text.lower())}").search
            found[keyword.text] = sum(has(text) is not None for text in texts)
        return TermStatistics(len(texts), found)


class Crawls:
    """Simulated crawls of a web with a specification."""

    def __init__(
        self,
        pages: Pages,
        specification: CrawlSpecification,
        statistics: TermStatistics,
        truth: Collection[str] = (),
    ) -> None:
        self._pages, self._specification = pages, specification
        self._analyzer = Analyzer(specification, statistics)
        self._limit = specification.thresholds.relevant
        self._graph = PageGraph([""] * len(pages.urls), self._analyse, self._limit)
        found = map(pages.page_at, specification.seeds)
        self._seeds = [number for number in found if number is not None]
        self._truth = {pages.page_at(url) for url in truth}

    def found(self) -> "Harvest":
        """Return the number of relevant pages that each order finds."""
        follow = self._specification.thresholds.follow
        graph, seeds, learner = self._graph, self._seeds, LinkLearner(self._limit)
        anchors = PageGraph([""] * len(graph), self._by_anchors, self._limit)
        reach = list(breadth_first(graph, seeds))
        orders: dict[str, Iterable[int]] = {
            "breadth first": reach,
            "anchors": best_first(anchors, seeds),
            "specification": best_first(graph, seeds, follow=follow),
            "steered": best_first(graph, seeds, follow=follow, learner=learner),
            "oracle": sorted(reach, key=lambda page: page not in self._truth)
            if self._truth
            else oracle_order(graph, seeds),
        }
        budget = -(-len(reach) // 4)
        counts = {
            name: sum(map(self._is_relevant, islice(orders[name], budget))) for name in COLUMNS
        }
        relevant = sum(map(self._is_relevant, reach))
        return Harvest(self._specification.name, len(reach), relevant, budget, counts)

    def _is_relevant(self, page: int) -> bool:
        return page in self._truth if self._truth else self._graph.is_relevant(page)

    def _analyse(self, number: int) -> GraphPage:
        view = self._pages.view(number)
        if view is None:
            return GraphPage(0.0, array("l"), array("d"))
        scores = self._analyzer.analyse(view, str(number))
        best: dict[int, tuple[float, LinkFeatures | None]] = {}
        for link in scores.links:
            target = self._pages.page_at(link.url)
            if target is None or target == number:
                continue
            if link.relevance is None:
                best[target] = BLACKLISTED, None
            elif link.relevance > best.get(target, (UNSCORED, None))[0]:
                best[target] = link.relevance, link_features(link, view.url)
        relevances = array("d", (relevance for relevance, _ in best.values()))
        features = tuple(features for _, features in best.values())
        return GraphPage(scores.score, array("l", best), relevances, features)

    def _by_anchors(self, number: int) -> GraphPage:
        """Score links by the share of the specification's words in their anchors."""
        terms = [each.text for each in self._specification.keywords]
        terms += [each.name for each in self._specification.entities]
        pattern = re.compile("|".join(rf"\b{re.escape(term)}" for term in terms), re.I)
        known, view = self._graph.page(number), self._pages.view(number)
        best = dict.fromkeys(known.targets, 0.0)
        for link in view.links if view else ():
            target, words = self._pages.page_at(link.url), len(link.text.split())
            if target in best and words:
                share = min(1.0, len(pattern.findall(link.text)) / words)
                best[target] = max(best[target], share)
        return GraphPage(known.score, known.targets, array("d", best.values()))


@dataclass(frozen=True, slots=True)
class Harvest:
    """The relevant pages that each order finds within the budget, and all reachable ones."""

    name: str
    pages: int
    relevant: int
    budget: int
    found: Mapping[str, int]


def main() -> None:
    """Run all crawls and print the results."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--archives", type=Path, help="the folder of real archives")
    options.add_argument("--sites", type=Path, help="the folder of unpacked documentation")
    options.add_argument("--seeds", type=int, default=3, help="of made webs, 0 for none")
    given = options.parse_args()
    print(f"{'':32}{'pages':>6}{'relevant':>9}{'budget':>7}", *(f"{n:>14}" for n in COLUMNS))
    for shape in SHAPES if given.seeds else ():
        _print_group(f"made, {shape}", _made(shape, given.seeds))
    if given.archives:
        _print_group("real archives", _archived(given.archives))
    if given.sites:
        _print_group("documentation", _documented(given.sites))


def _made(shape: str, seeds: int) -> Iterator[Harvest]:
    for seed in range(1, seeds + 1):
        web = LocalWeb(SHAPES[shape], seed)
        pages = Pages.of_html({url: html.encode() for url, html in web.pages.items()})
        specification = web.specification(f"{shape} {seed}")
        yield Crawls(pages, specification, pages.statistics(specification), web.relevant).found()


def _archived(data: Path) -> Iterator[Harvest]:
    files = {Path(one.file).name.partition(".")[0][:20]: data / one.file for one in SUBJECTS}
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(engine=folder)
        with EmbeddedEngine(Path(folder)) as engine:
            engine.create()
            for name, path in files.items():
                import_files(engine, settings, expand([str(path)]), ImportOptions(name, jobs=1))
            for subject in SUBJECTS:
                specification = subject.specification()
                collection = Path(subject.file).name.partition(".")[0][:20]
                web, stored = archived_web(engine, collection), StoredPages(engine)
                assert seeds_within(web, specification.seeds)[0], subject

                def view(number: int, web=web, stored=stored) -> PageView | None:
                    page = web.pages[number]
                    return stored.view(page.capture, page.timestamp)

                pages = Pages([page.capture.url for page in web.pages], view, web.page_at)
                yield Crawls(pages, specification, term_statistics(engine, specification)).found()


def _documented(folder: Path) -> Iterator[Harvest]:
    sites: dict[str, Pages] = {}
    for subject in SITES:
        if subject.file not in sites:
            root = folder / subject.file
            paths = [path for path in sorted(root.rglob("*.html")) if path.is_file()]
            sites[subject.file] = Pages.of_html(
                {
                    f"http://site.example/{path.relative_to(root)}": path.read_bytes()
                    for path in paths
                    if path.stat().st_size < _MOST_BYTES
                }
            )
        pages, specification = sites[subject.file], subject.specification()
        yield Crawls(pages, specification, pages.statistics(specification)).found()


def _print_group(name: str, harvests: Iterable[Harvest]) -> None:
    group = []
    for one in harvests:
        group.append(one)
        counts = (f"{one.found[column]:14}" for column in COLUMNS)
        print(f"{one.name:32}{one.pages:6}{one.relevant:9}{one.budget:7}", *counts, flush=True)
    sums = [sum(one.found[column] for one in group) for column in COLUMNS]
    print(f"{name:54}", *(f"{each:14}" for each in sums))
    for column in COLUMNS[:3]:
        times, least, most = ratio(group, column)
        print(f"{'':8}steered / {column}: {times:.2f} ({least:.2f} to {most:.2f})")
    worse = [one.name for one in group if one.found["steered"] < one.found["breadth first"]]
    print(f"{'':8}worse than breadth first: {', '.join(worse) or 'none'}\n", flush=True)


def ratio(group: Sequence[Harvest], column: str) -> tuple[float, float, float]:
    """Return the ratio of the numbers of pages found, and the bounds of its 95 % interval."""
    chance = random.Random(0)

    def of(sample: Sequence[Harvest]) -> float:
        return sum(one.found["steered"] for one in sample) / max(
            1, sum(one.found[column] for one in sample)
        )

    ratios = sorted(of(chance.choices(group, k=len(group))) for _ in range(_SAMPLES))
    return of(group), ratios[_SAMPLES // 40], ratios[-_SAMPLES // 40]


if __name__ == "__main__":
    main()

"""A steered real Heritrix: `nwx watch --steer` reads its files, `nwx heritrix` feeds it."""

import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from benchmarks.topic_pages import TopicPages, write_topic_warc
from nwx.engine.base import open_engine
from nwx.engine.indices.crawl_queue import UrlState
from nwx.settings import Settings
from nwx.steering.adapters.feed_state import FeedState
from nwx.steering.adapters.heritrix_feed import FeedOptions, HeritrixFeed
from nwx.steering.adapters.heritrix_feed import HeritrixJob as JobFolder
from nwx.steering.comparison.simulation import simulate
from nwx.steering.queue.url_sources import ArchiveUrls
from nwx.steering.specifications.specification import CrawlSpecification
from tests.cli.conftest import run_nwx
from tests.crawling.heritrix.server import Heritrix, HeritrixJob, wait_until
from tests.crawling.service import Place
from tests.crawling.steered import CRAWL, written_specification
from tests.crawling.topic_site import running_topic_site

pytestmark = pytest.mark.xdist_group("heritrix")

STEERED = {
    "acceptSurts__seedsAsSurtPrefixes": "false",
    "crawlController__runWhileEmpty": "true",
    "actionDirectory__initialDelaySeconds": "1",
    "actionDirectory__delaySeconds": "1",
}
"""Settings of a job that follows no links on its own (docs/steering.md)."""
AHEAD = 4


@dataclass(frozen=True, slots=True)
class Crawled:
    """A finished steered crawl: the requests to its site in order, and its archive."""

    fetched: list[str]
    quarter: int
    made: TopicPages
    specification: CrawlSpecification
    engine: str
    job: Path


Process: TypeAlias = "subprocess.Popen[str]"


@contextmanager
def steering(
    place: Place, job: HeritrixJob, specification: Path
) -> Iterator[list["subprocess.Popen[str]"]]:
    """Steer a job during the block; yield the steering processes."""
    watching = ["watch", str(job.folder), "--steer", str(specification), "--interval", "0.2"]
    feeding = ["heritrix", str(job.folder), "--crawl", CRAWL, "--ahead", str(AHEAD)]
    with (
        place.started(*watching, "--json") as watch,
        place.started(*feeding, "--interval", "0.2") as feed,
    ):
        yield [watch, feed]


@pytest.fixture(scope="module")
def alone(heritrix: Heritrix, tmp_path_factory: pytest.TempPathFactory) -> int:
    """The number of relevant pages among the first ones of a crawl by Heritrix alone."""
    with running_topic_site() as site:
        everywhere = tmp_path_factory.mktemp("alone") / "everywhere.txt"
        everywhere.write_text("".join(f"{url}/\n" for url in site.made.addresses.values()))
        job = heritrix.make_job(
            "alone", site.made.seeds, acceptSurts__surtsSourceFile=str(everywhere)
        )
        job.launch()
        wait_until(lambda: len(site.fetched) >= site.quarter, "a quarter is fetched")
        heritrix.ask(f"/job/{job.name}", action="terminate")
        return site.relevant_of(site.quarter)


@pytest.fixture(scope="module")
def crawled(heritrix: Heritrix, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """A steered crawl in which Heritrix and both processes of nwx are killed midway."""
    folder = tmp_path_factory.mktemp("steered")
    place = Place(str(folder / "archive"), folder, {})
    with running_topic_site() as site:
        specification = written_specification(site, folder)
        job = heritrix.make_job("steered", [], **STEERED)
        with steering(place, job, specification) as processes:
            job.launch()
            wait_until(lambda: len(site.fetched) >= site.quarter // 2, "some pages are fetched")
            for process in processes:
                process.kill()
            heritrix.kill()
        heritrix.start()
        with steering(place, job, specification):
            job.launch()
            wait_until(lambda: len(site.fetched) >= site.quarter, "a quarter is fetched")
        wait_until(lambda: job.state == "EMPTY", "all is fetched that was given")
        heritrix.kill()
        finish(place, job.folder, specification)
        made = site.made.specification(CRAWL)
        fetched = list(site.fetched)
        return Crawled(fetched, site.quarter, site.made, made, place.engine, job.folder)


def finish(place: Place, job: Path, specification: Path) -> None:
    """Read the rest of a job's files, and report the fetched URLs to the queue."""
    folder = JobFolder(job)
    folder.close_abandoned(folder.launch)
    watch = ("watch", job, "--steer", specification, "--once", "--settle", 0)
    run_nwx(place.engine, *watch)
    state = FeedState(job)
    with open_engine(Settings(place.engine)) as engine:
        source = ArchiveUrls(engine.crawl_queue(), CRAWL)
        HeritrixFeed(folder, state, source, FeedOptions(ahead=0)).turn()
    state.close()


def test_steered_finds_twice_as_much(
    alone: int, crawled: Crawled, capsys: pytest.CaptureFixture[str]
) -> None:
    steered = len(set(crawled.fetched[: crawled.quarter]) & crawled.made.relevant)
    with capsys.disabled():
        print(f"\n{steered} relevant pages steered, {alone} alone")
    assert steered >= 2 * alone


def test_the_simulator_agrees_with_the_crawls(alone: int, crawled: Crawled, tmp_path: Path) -> None:
    """On the whole web as on the files of the crawl, steering finds about as much more."""
    found = set(crawled.fetched[: crawled.quarter]) & crawled.made.relevant
    run_nwx(tmp_path / "archive", "import", "--quiet", write_topic_warc(tmp_path))
    specification = TopicPages().specification(CRAWL)
    with open_engine(Settings(str(tmp_path / "archive")), read_only=True) as engine:
        whole = simulate(engine, specification, "default", crawled.quarter)
    assert 0.7 * len(found) <= whole.steered.relevant <= 1.4 * len(found)
    assert whole.breadth_first.relevant <= alone + 0.25 * crawled.quarter
    assert whole.steered.relevant >= 2 * whole.breadth_first.relevant
    with open_engine(Settings(crawled.engine), read_only=True) as engine:
        again = simulate(engine, crawled.specification, "default", crawled.quarter // 2)
    first = set(crawled.fetched[: crawled.quarter // 2]) & crawled.made.relevant
    assert again.steered.relevant > again.breadth_first.relevant
    assert again.steered.relevant >= 0.7 * len(first)


def test_a_kill_loses_no_page_and_no_link(crawled: Crawled) -> None:
    follow = crawled.specification.thresholds.follow
    with open_engine(Settings(crawled.engine)) as engine:
        scores = list(engine.crawl_index().document_scores(CRAWL))
        queue = {each.url: each for each in engine.crawl_queue().scan(CRAWL)}
    assert {score.url for score in scores} >= set(crawled.fetched), "each page is analysed"
    links = [link for score in scores for link in score.links]
    blacklisted = {link.url for link in links if link.relevance is None}
    followed = {link.url for link in links if link.relevance is not None} - blacklisted
    assert blacklisted
    assert all(queue[url].state is UrlState.BLACKLISTED for url in blacklisted)
    missing = {
        link.url
        for link in links
        if link.url in followed and (link.relevance or 0) >= follow and link.url not in queue
    }
    assert missing == set()
    assert {queue[url].state for url in crawled.fetched} == {UrlState.DONE}


def test_a_monitor_counts_each_line_and_each_capture_once(crawled: Crawled) -> None:
    """Of both launches, including the killed one."""
    log = crawled.job / "latest" / "logs" / "crawl.log"
    monitor = ("monitor", CRAWL, "--crawl-log", log, "--once", "--json")
    report = run_nwx(crawled.engine, *monitor).json
    logs = [path for path in crawled.job.glob("2*/logs/crawl.log*") if path.suffix != ".lck"]
    lines = [line.split() for path in logs for line in path.read_text().splitlines()]
    fetches = Counter(line[1] for line in lines if line[3].startswith("http"))
    assert len(logs) == 2 and report["log_lines"] == len(lines)
    assert report["statuses"] == fetches
    answered = sum(count for status, count in fetches.items() if int(status) >= 0)
    assert report["totals"]["captures"] == answered >= crawled.quarter
    with open_engine(Settings(crawled.engine), read_only=True) as engine:
        stored = [each for each, _ in engine.captures_since("") if each.url.startswith("http")]
    assert report["archived"] == len(stored)
    # Heritrix was killed between writing pages and logging them, or vice versa.
    assert abs(len(stored) - answered) <= 3 * AHEAD
    assert report["problems_total"] <= 1, "a line that was cut by the kill"


def test_a_kill_has_nothing_fetched_twice_but_what_was_under_way(crawled: Crawled) -> None:
    assert len(crawled.fetched) - len(set(crawled.fetched)) <= AHEAD
    spam = crawled.specification.rules[0].hosts
    assert not [url for url in crawled.fetched if any(host in url for host in spam)]
    run_nwx(crawled.engine, "check")

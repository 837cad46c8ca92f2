"""A steered real Scrapy: warcprox writes its fetches, `nwx watch --steer` reads the files."""

from pathlib import Path

import pytest

from nwx.engine.base import open_engine
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.settings import Settings
from tests.crawling.heritrix.server import wait_until
from tests.crawling.service import Place
from tests.crawling.spider_process import running_spider
from tests.crawling.steered import CRAWL, TOKEN, written_specification
from tests.crawling.topic_site import running_topic_site
from tests.crawling.warcprox import warcprox
from tests.environments import SCRAPY

pytestmark = pytest.mark.xdist_group("scrapy")


ROLLING = ("--size", "1", "--dedup-db-file", "/dev/null")
"""One file per page: warcprox checks only every 20 seconds whether a file has been idle."""

OFTEN = ("--interval", "0.2", "--settle", "0.2")
NO_DELAY = ("--queue-delay", "0", "--queue-in-flight", "0")
"""Replaces the default of one page per second and host."""


def settings_of(service: str) -> dict[str, str]:
    """Return the settings of a spider steered by nwx."""
    return {
        "SCHEDULER": "nwx.steering.adapters.scrapy_scheduler.QueueScheduler",
        "NWX_QUEUE": service,
        "NWX_QUEUE_TOKEN": TOKEN,
        "NWX_CRAWL": CRAWL,
        "NWX_POLL_SECONDS": "0.2",
    }


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The relevant pages among the first ones of a breadth-first crawl by Scrapy alone."""
    folder = tmp_path_factory.mktemp("alone")
    with running_topic_site() as site:
        with running_spider(SCRAPY[-1], site.made.seeds, folder):
            wait_until(lambda: len(site.fetched) >= site.quarter, "a quarter is fetched")
        return site.relevant_of(site.quarter)


def test_scrapy_finds_twice_as_much_when_it_is_steered(
    alone: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(str(tmp_path / "archive"), tmp_path, {"NWX_QUEUE_TOKEN": TOKEN})
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    with running_topic_site() as site:
        specification = written_specification(site, tmp_path)
        watching = ["watch", str(incoming), "--steer", str(specification), *OFTEN]
        with (
            place.started(*watching, "--json"),
            place.served() as service,
            warcprox(incoming, *ROLLING) as proxy,
            running_spider(SCRAPY[-1], [], tmp_path, proxy, **settings_of(service)) as spider,
        ):
            wait_until(
                lambda: len(site.fetched) >= site.quarter or spider.poll() is not None,
                "a quarter is fetched",
            )
        steered = site.relevant_of(site.quarter)
        fetched = site.fetched[: site.quarter]
    with capsys.disabled():
        print(f"\n{steered} relevant pages steered, {alone} alone")
    assert steered >= 2 * alone, f"{steered} relevant pages steered, {alone} alone"
    assert len(set(fetched)) == len(fetched), "a page was fetched twice"


@pytest.mark.parametrize("version", SCRAPY, ids=["oldest", "newest"])
def test_a_spider_that_is_killed_loses_no_url(version: str, tmp_path: Path) -> None:
    place = Place(str(tmp_path / "archive"), tmp_path, {"NWX_QUEUE_TOKEN": TOKEN})
    with running_topic_site() as site:
        urls = sorted(site.made.relevant)[:24]
        missing = f"{site.made.seeds[0]}nothing"
        fill(place, [*urls, missing])
        with place.served(*NO_DELAY) as service:
            settings = settings_of(service) | {"NWX_LEASE_SECONDS": "1", "NWX_AHEAD": "4"}
            with running_spider(version, [], tmp_path, DOWNLOAD_DELAY="0.1", **settings) as spider:
                wait_until(lambda: len(site.fetched) >= 8, "some are fetched")
                spider.kill()
            with running_spider(
                version, [], tmp_path, NWX_IDLE_SECONDS="1.5", **settings
            ) as spider:
                assert spider.wait(60) == 0
        assert set(site.fetched) == set(urls)
        assert len(site.fetched) <= len(urls) + 4, "only what was leased at the kill comes twice"
        assert site.fetched[:2] == urls[:2], "the best come first"
    with open_engine(Settings(place.engine)) as engine:
        counts = engine.crawl_queue().counts(CRAWL)
        assert (counts.done, counts.total) == (len(urls) + 1, len(urls) + 1)


def fill(place: Place, urls: list[str]) -> None:
    """Add URLs to the queue, the first with the highest priority."""
    with open_engine(Settings(place.engine)) as engine:
        engine.create()
        engine.crawl_queue().put(
            [UrlUpdate(url, 1 - number / 1000, "", CRAWL) for number, url in enumerate(urls)]
        )

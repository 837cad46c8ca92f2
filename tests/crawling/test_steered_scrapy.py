"""A real Scrapy, steered: warcprox writes what it fetches, `nwx watch --steer` reads that."""

from pathlib import Path

import pytest

from tests.crawling.environment import SCRAPY
from tests.crawling.heritrix.server import wait_until
from tests.crawling.scrapy import running_spider
from tests.crawling.service import Place
from tests.crawling.steered import CRAWL, TOKEN, written_specification
from tests.crawling.topic_site import running_topic_site
from tests.crawling.warcprox import warcprox

pytestmark = pytest.mark.xdist_group("crawling")


ROLLING = ("--rollover-idle-time", "1", "--dedup-db-file", "/dev/null")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many of the first pages are relevant in a crawl by Scrapy alone, breadth first."""
    folder = tmp_path_factory.mktemp("alone")
    with running_topic_site() as site:
        with running_spider(SCRAPY[-1], site.made.seeds, folder):
            wait_until(lambda: len(site.fetched) >= site.quarter, "a quarter is fetched")
        return site.relevant_of(site.quarter)


@pytest.mark.parametrize("version", SCRAPY, ids=["oldest", "newest"])
def test_scrapy_finds_twice_as_much_when_it_is_steered(
    alone: int, version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(str(tmp_path / "archive"), tmp_path, {"NWX_QUEUE_TOKEN": TOKEN})
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    with running_topic_site() as site:
        specification = written_specification(site, tmp_path)
        watching = ["watch", str(incoming), "--steer", str(specification), "--interval", "0.2"]
        with (
            place.started(*watching, "--json"),
            place.served() as service,
            warcprox(
                incoming, "--rollover-idle-time", "1", "--dedup-db-file", "/dev/null"
            ) as proxy,
            running_spider(
                version,
                site.made.seeds,
                tmp_path,
                proxy,
                SCHEDULER="nwx.steering.adapters.scrapy_scheduler.QueueScheduler",
                NWX_QUEUE=service,
                NWX_QUEUE_TOKEN=TOKEN,
                NWX_CRAWL=CRAWL,
                NWX_POLL_SECONDS="0.2",
            ) as spider,
        ):
            wait_until(
                lambda: len(site.fetched) >= site.quarter or spider.poll() is not None,
                "a quarter is fetched",
            )
        steered = site.relevant_of(site.quarter)
        fetched = site.fetched[: site.quarter]
    with capsys.disabled():
        print(f"\n{version}: {steered} relevant pages steered, {alone} alone")
    assert steered >= 2 * alone, f"{steered} relevant pages steered, {alone} alone"
    assert len(set(fetched)) == len(fetched), "a page was fetched twice"

"""A real Heritrix, steered: `nwx watch --steer` reads what it writes, `nwx heritrix` feeds it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crawling.heritrix.server import Heritrix, HeritrixJob, wait_until
from tests.crawling.service import Place
from tests.crawling.steered import CRAWL, written_specification
from tests.crawling.topic_site import running_topic_site

pytestmark = pytest.mark.xdist_group("crawling")

STEERED = {
    "acceptSurts__seedsAsSurtPrefixes": "false",
    "crawlController__runWhileEmpty": "true",
    "actionDirectory__initialDelaySeconds": "1",
    "actionDirectory__delaySeconds": "1",
}
"""What a job has that follows no links by itself (docs/steering.md)."""


def crawl_alone(heritrix: Heritrix, folder: Path) -> int:
    """Return how many of the first pages are relevant in a crawl by Heritrix alone."""
    with running_topic_site() as site:
        everywhere = folder / "everywhere.txt"
        everywhere.write_text("".join(f"{url}/\n" for url in site.made.addresses.values()))
        job = heritrix.make_job(
            "alone", site.made.seeds, acceptSurts__surtsSourceFile=str(everywhere)
        )
        job.launch()
        wait_until(lambda: len(site.fetched) >= site.quarter, "a quarter is fetched")
        heritrix.ask(f"/job/{job.name}", action="terminate")
        return site.relevant_of(site.quarter)


@contextmanager
def steering(place: Place, job: HeritrixJob, specification: Path) -> Iterator[None]:
    """Steer a job until the end of the block."""
    watching = ["watch", str(job.folder), "--steer", str(specification), "--interval", "0.2"]
    feeding = ["heritrix", str(job.folder), "--crawl", CRAWL, "--ahead", "8"]
    with (
        place.started(*watching, "--json"),
        place.started(*feeding, "--interval", "0.2", "--close-after", "1"),
    ):
        yield


def test_heritrix_finds_twice_as_much_when_it_is_steered(
    heritrix: Heritrix, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = crawl_alone(heritrix, tmp_path)
    place = Place(str(tmp_path / "archive"), tmp_path, {})
    with running_topic_site() as site:
        job = heritrix.make_job("steered", site.made.seeds, **STEERED)
        with steering(place, job, written_specification(site, tmp_path)):
            job.launch()
            wait_until(lambda: len(site.fetched) >= site.quarter, "a quarter is fetched", 120)
        steered = site.relevant_of(site.quarter)
        fetched = site.fetched[: site.quarter]
        spam = site.made.specification().rules[0].hosts
    with capsys.disabled():
        print(f"\n{steered} relevant pages steered, {alone} alone")
    assert steered >= 2 * alone, f"{steered} relevant pages steered, {alone} alone"
    assert len(set(fetched)) == len(fetched), "a page was fetched twice"
    assert not [url for url in fetched if any(host in url for host in spam)]

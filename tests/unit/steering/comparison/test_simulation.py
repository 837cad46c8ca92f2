"""The synthetic web of the benchmarks, imported and crawled in each order."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.topic_pages import TopicPages, write_topic_warc
from nwx.bulk.progress import WorkProgress
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import UsageError
from nwx.importing import ImportOptions, import_files
from nwx.model import Batch, Capture
from nwx.settings import Settings
from nwx.steering.comparison.simulation import ArchivedWeb, archived_web, seeds_within, simulate
from nwx.steering.specifications.specification import (
    Limits,
    LinkRule,
    RuleAction,
    Thresholds,
)
from nwx.warc.sources import expand
from tests.conformance.archive import capture

SPECIFICATION = TopicPages().specification()


@pytest.fixture(scope="module")
def warc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The WARC file of the pages."""
    return write_topic_warc(tmp_path_factory.mktemp("topic"))


@pytest.fixture(scope="module")
def topic(warc: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    settings = Settings(engine=str(tmp_path_factory.mktemp("archive")))
    with EmbeddedEngine(Path(settings.engine)) as opened:
        opened.create()
        import_files(opened, settings, expand([str(warc)]), ImportOptions("made", jobs=1))
        yield opened


def test_a_steered_crawl_finds_twice_as_much_in_a_quarter_of_the_site(topic: Engine) -> None:
    shown: list[WorkProgress] = []
    report = simulate(topic, SPECIFICATION, "made", progress=shown.append)
    assert report.budget == -(-report.reachable // 4)
    assert report.steered.relevant >= 2 * report.breadth_first.relevant
    assert report.oracle.relevant >= report.steered.relevant
    assert report.relevant_total >= report.relevant_reachable >= report.oracle.relevant
    assert (report.from_index, report.unreadable, report.missing_seeds) == (0, 0, ())
    assert {one.step for one in shown} == {"reading captures", "analysing pages"}


def test_the_report_as_json(topic: Engine) -> None:
    report = simulate(topic, SPECIFICATION, "made", budget=50)
    values = json.loads(json.dumps(report.to_json()))
    first = ["budget", "relevant_total", "breadth_first", "steered", "oracle"]
    assert list(values)[: len(first)] == first
    for name in first[2:]:
        crawl = values[name]
        assert list(crawl)[:3] == ["fetched", "relevant", "curve"]
        assert crawl["fetched"] == len(crawl["curve"]) == 50
        assert crawl["curve"] == sorted(crawl["curve"])
        assert crawl["curve"][-1] == crawl["relevant"]
    by_score = {each["from"]: each["pages"] for each in values["scores"]}
    assert by_score[0.1] == values["relevant_total"]
    assert values == simulate(topic, SPECIFICATION, "made", budget=50).to_json()


def test_limits_and_rules_of_the_specification_hold(topic: Engine) -> None:
    few = replace(SPECIFICATION, limits=Limits(pages=20, pages_per_host=7, depth=3))
    report = simulate(topic, few, "made", budget=100)
    assert [each.fetched for each in (report.breadth_first, report.steered)] == [20, 20]
    only = LinkRule(RuleAction.ONLY, hosts=("news.example",))
    scoped = replace(SPECIFICATION, rules=(*SPECIFICATION.rules, only))
    assert simulate(topic, scoped, "made").reachable < 120


def test_nothing_is_relevant_above_every_score(topic: Engine) -> None:
    strict = replace(SPECIFICATION, thresholds=Thresholds(relevant=1.0, follow=0.0))
    report = simulate(topic, strict, "made", budget=30)
    assert (report.relevant_total, report.steered.relevant, report.oracle.relevant) == (0, 0, 0)
    assert report.steered.harvest_rate == 0.0


def test_records_that_are_gone_are_read_from_the_index(warc: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone.warc.gz"
    gone.write_bytes(warc.read_bytes())
    settings = Settings(engine=str(tmp_path / "archive"))
    with EmbeddedEngine(Path(settings.engine)) as engine:
        engine.create()
        import_files(engine, settings, expand([str(gone)]), ImportOptions("made", jobs=1))
        gone.unlink()
        report = simulate(engine, SPECIFICATION, "made")
    assert report.from_index == report.pages
    assert report.steered.relevant > report.breadth_first.relevant


def test_collections_that_cannot_be_crawled(topic: Engine) -> None:
    with pytest.raises(UsageError, match="the collection other has no page"):
        simulate(topic, SPECIFICATION, "other")
    nowhere = replace(SPECIFICATION, seeds=("http://nowhere.example/",))
    with pytest.raises(UsageError, match="no capture of any of the 1 seeds of floods"):
        simulate(topic, nowhere, "made")


def _web(engine: Engine, *captures: Capture, collection: str = "web") -> ArchivedWeb:
    engine.write(Batch(captures=captures))
    engine.refresh()
    return archived_web(engine, collection)


def _pages(web: ArchivedWeb) -> list[tuple[str, str]]:
    return [(page.capture.url, page.timestamp[:4]) for page in web.pages]


def test_a_page_is_the_newest_capture_that_was_served_with_success(engine: Engine) -> None:
    web = _web(
        engine,
        capture("http://a.org/", "2010", body="old"),
        capture("http://a.org/", "2011", body="new"),
        capture("http://a.org/", "2012", body="gone", status=404),
        capture("http://a.org/image", "2012", content_type="image/png"),
        capture("http://a.org/lost", "2012", status=404),
    )
    assert _pages(web) == [("http://a.org/", "2011")]
    assert web.page_at("http://a.org/lost") is None
    assert web.page_at("http://[") is None


def test_the_payload_of_a_revisit_is_that_of_the_capture_before_in_any_collection(
    engine: Engine,
) -> None:
    first = capture("http://a.org/", "2010", body="same", collection="other")
    again = capture("http://a.org/", "2012", body="same", record_type="revisit", status=None)
    web = _web(engine, first, again, capture("http://a.org/", "2011", body="between"))
    assert _pages(web) == [("http://a.org/", "2012")]
    assert web.pages[0].capture == first


def test_a_revisit_of_what_is_not_there_gives_way_to_an_older_page(engine: Engine) -> None:
    revisit = capture("http://a.org/", "2012", body="elsewhere", record_type="revisit")
    web = _web(engine, capture("http://a.org/", "2011", body="here"), revisit)
    assert _pages(web) == [("http://a.org/", "2011")]


def test_redirects_are_followed_and_circles_end(engine: Engine) -> None:
    web = _web(
        engine,
        capture("http://a.org/1", status=301, redirect_to="http://a.org/2"),
        capture("http://a.org/2", status=302, redirect_to="http://a.org/page"),
        capture("http://a.org/page"),
        capture("http://a.org/x", status=302, redirect_to="http://a.org/y"),
        capture("http://a.org/y", status=302, redirect_to="http://a.org/x"),
    )
    assert web.page_at("http://a.org/1") == 0
    assert web.page_at("http://a.org/x") is None
    seeds = ("http://a.org/1", "http://a.org/page", "http://nowhere.org/")
    assert seeds_within(web, seeds) == ([0], ["http://nowhere.org/"])


def test_other_collections_are_another_web(engine: Engine) -> None:
    here = capture("http://a.org/")
    there = replace(capture("http://b.org/"), collection="other")
    assert _pages(_web(engine, here, there)) == [("http://a.org/", "2010")]
    assert len(archived_web(engine, "").pages) == 2

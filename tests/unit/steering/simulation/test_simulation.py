"""The made web of the benchmarks, imported and crawled in each order."""

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
from nwx.settings import Settings
from nwx.steering.simulation.simulation import simulate
from nwx.steering.specifications.specification import (
    Limits,
    LinkRule,
    RuleAction,
    Thresholds,
)
from nwx.warc.sources import expand

SPECIFICATION = TopicPages().specification()


@pytest.fixture(scope="module")
def warc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that the pages are in."""
    return write_topic_warc(tmp_path_factory.mktemp("topic"))


@pytest.fixture(scope="module")
def engine(warc: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    settings = Settings(engine=str(tmp_path_factory.mktemp("archive")))
    with EmbeddedEngine(Path(settings.engine)) as opened:
        opened.create()
        import_files(opened, settings, expand([str(warc)]), ImportOptions("made", jobs=1))
        yield opened


def test_a_steered_crawl_finds_twice_as_much_in_a_quarter_of_the_site(engine: Engine) -> None:
    shown: list[WorkProgress] = []
    report = simulate(engine, SPECIFICATION, "made", progress=shown.append)
    assert report.budget == -(-report.reachable // 4)
    assert report.steered.relevant >= 2 * report.breadth_first.relevant
    assert report.oracle.relevant >= report.steered.relevant
    assert report.relevant_total >= report.relevant_reachable >= report.oracle.relevant
    assert (report.from_index, report.unreadable, report.missing_seeds) == (0, 0, ())
    assert {one.step for one in shown} == {"reading captures", "analysing pages"}


def test_the_report_as_json(engine: Engine) -> None:
    report = simulate(engine, SPECIFICATION, "made", budget=50)
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
    assert values == simulate(engine, SPECIFICATION, "made", budget=50).to_json()


def test_limits_and_rules_of_the_specification_hold(engine: Engine) -> None:
    few = replace(SPECIFICATION, limits=Limits(pages=20, pages_per_host=7, depth=3))
    report = simulate(engine, few, "made", budget=100)
    assert [each.fetched for each in (report.breadth_first, report.steered)] == [20, 20]
    only = LinkRule(RuleAction.ONLY, hosts=("news.example",))
    scoped = replace(SPECIFICATION, rules=(*SPECIFICATION.rules, only))
    assert simulate(engine, scoped, "made").reachable < 120


def test_nothing_is_relevant_above_every_score(engine: Engine) -> None:
    strict = replace(SPECIFICATION, thresholds=Thresholds(relevant=1.0, follow=0.0))
    report = simulate(engine, strict, "made", budget=30)
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


def test_collections_that_cannot_be_crawled(engine: Engine) -> None:
    with pytest.raises(UsageError, match="the collection other has no page"):
        simulate(engine, SPECIFICATION, "other")
    nowhere = replace(SPECIFICATION, seeds=("http://nowhere.example/",))
    with pytest.raises(UsageError, match="no capture of any of the 1 seeds of floods"):
        simulate(engine, nowhere, "made")

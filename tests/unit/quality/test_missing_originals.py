"""Revisits without originals: listed, reported by playback checks, and offered for repair."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.model import Batch, Capture
from nwx.quality.browser.targets import PageRender, PlayedResource, RenderTask
from nwx.quality.missing_originals import (
    MissingOriginal,
    WantedOriginal,
    missing_originals,
    wanted_by_keys,
)
from nwx.quality.missing_resources import RepairQuestion
from nwx.quality.page_check import CrawlRender, PageCheck
from nwx.quality.repair_list import RepairList
from nwx.values.render_names import FaultKind
from tests.conformance.archive import capture, sha1

PAGE, STYLE, OLD = "http://a.test/", "http://a.test/s.css", "http://old.test/s.css"
EMPTY = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def revisit(url: str, timestamp: str = "2020", **changes: object) -> Capture:
    made = capture(url, timestamp, record_type="revisit", body=str(changes.pop("body", "lone")))
    return replace(made, **changes)  # type: ignore[type-var]


LONE = revisit(STYLE, refers_to_url=OLD, refers_to_timestamp="20120101000000")
CAPTURES = (
    revisit(PAGE, body="page"),
    LONE,
    revisit(STYLE, "2021", refers_to_url=OLD, refers_to_timestamp="20120101000000"),
    capture("http://a.test/held", body="held"),
    revisit("http://a.test/again", body="held"),
    revisit("http://a.test/empty", digest=EMPTY),
    revisit("http://a.test/moved", body="moved", status_code=302),
    revisit("http://a.test/same", digest="", status_code=304, refers_to_url="http://a.test/held"),
    revisit("http://a.test/gone", digest="", status_code=304, refers_to_url="http://no.test/"),
)
WANTED = WantedOriginal(OLD, "20120101000000", sha1("lone"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as opened:
        opened.create()
        opened.write(Batch(captures=CAPTURES))
        opened.refresh()
        yield opened


def test_originals_in_no_file_are_listed_most_wanted_first(engine: Engine) -> None:
    assert list(missing_originals(engine)) == [
        MissingOriginal(*WANTED, 2),
        MissingOriginal(PAGE, "", sha1("page"), 1),
        MissingOriginal("http://no.test/", "", "", 1),
    ]
    engine.write(Batch(captures=(capture(OLD, "2012", body="lone"),)))
    assert len(list(missing_originals(engine))) == 2


def test_urls_of_which_a_capture_plays_lack_none(engine: Engine) -> None:
    keys = [one.urlkey for one in CAPTURES]
    assert wanted_by_keys(engine, [LONE.urlkey], "20200101000000") == {LONE.urlkey: WANTED}
    assert len(wanted_by_keys(engine, keys)) == 3
    engine.write(Batch(captures=(capture(STYLE, "2001", body="other"),)))
    assert wanted_by_keys(engine, [LONE.urlkey]) == {}


def test_checks_say_which_original_is_missing_and_repairs_list_it(engine: Engine) -> None:
    task = RenderTask(PAGE, "20200101000000")
    resources = tuple(
        PlayedResource(url, 404, type=type)
        for url, type in ((PAGE, "document"), (STYLE, "stylesheet"))
    )
    render = PageRender(task, resources=resources, status=404)
    (page,) = engine.captures(CAPTURES[0].urlkey)
    found = PageCheck(engine).check(page, CrawlRender(), render).score
    assert [(one.kind, one.resource) for one in found.faults] == [
        (FaultKind.ORIGINAL, PAGE),
        (FaultKind.ORIGINAL, STYLE),
    ]
    assert str(WANTED) in found.faults[1].detail
    assert found.score == 0
    engine.quality_index().put([found])
    repairs = {one.url: one.original for one in RepairList(engine, RepairQuestion()).repairs()}
    assert repairs == {PAGE: f"{PAGE} {sha1('page')}", STYLE: str(WANTED)}
    engine.write(Batch(captures=(capture(OLD, "2012", body="lone"),)))
    left = RepairList(engine, RepairQuestion()).repairs()
    assert [one.url for one in left] == [PAGE]

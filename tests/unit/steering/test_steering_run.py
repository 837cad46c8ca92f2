"""The pages of an archive are analysed, whatever they do to the analysing process."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.bulk.progress import WorkProgress
from nwx.engine.base import Engine, open_engine
from nwx.errors import NwxError
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.steering.options import SteeringOptions, SteeringReport
from nwx.steering.steering_run import steer_archive
from nwx.warc.sources import expand
from tests.hostile_analysis import (
    CRASH,
    FAIL,
    HANG,
    HOARD,
    REFUSE,
    STONES,
    HostileAnalyzer,
    broken_analyzer,
    page_about,
    stone_pages,
)
from tests.warcs import Page, write_warc

OPTIONS = SteeringOptions(jobs=1, item_seconds=2, make_analyzer=HostileAnalyzer)


def archive_of(folder: Path, pages: list[Page]) -> Settings:
    settings = Settings(str(folder / "archive"))
    path = write_warc(folder / "a.warc.gz", pages)
    with open_engine(settings) as engine:
        engine.create()
        import_files(engine, settings, expand([str(path)]), ImportOptions(jobs=1))
    return settings


def steer(settings: Settings, options: SteeringOptions = OPTIONS) -> SteeringReport:
    with open_engine(settings) as engine:
        return steer_archive(engine, settings, STONES, options)


def analysed_urls(engine: Engine) -> set[str]:
    return {score.url for score in engine.crawl_index().document_scores("stones")}


def test_each_page_is_analysed_once_a_version(tmp_path: Path) -> None:
    settings = archive_of(tmp_path, stone_pages(6))
    report = steer(settings)
    figures = (report.analysed, report.relevant, report.links, report.blacklisted)
    assert figures == (6, 3, 18, 6)
    assert (report.failed, report.waiting, report.stopped) == (0, 0, "")
    with open_engine(settings) as engine:
        assert analysed_urls(engine) == {f"http://stones.example/{n}" for n in range(6)}
        assert steer_archive(engine, settings, STONES, OPTIONS).analysed == 0
        other = replace(STONES, keywords=(*STONES.keywords, *STONES.keywords))
        assert steer_archive(engine, settings, other, OPTIONS).analysed == 6


def test_no_page_ends_an_analysis(tmp_path: Path) -> None:
    causes = {
        HANG: "the analysis took longer than 2 s",
        CRASH: "the analysis crashed (SIGSEGV)",
        FAIL: "the analysis failed: ValueError: a module's own fault",
        REFUSE: "this is no page",
        HOARD: "it needs more memory than a page is allowed",
    }
    bad = [page_about("granite", path) for path in causes]
    pages = stone_pages(12)
    settings = archive_of(tmp_path, [*pages[:4], *bad[:2], *pages[4:], *bad[2:]])
    report = steer(settings)
    assert (report.analysed, report.failed, report.waiting) == (12, 5, 0)
    assert {error.message for error in report.errors} == {
        f"http://stones.example/{path}: {cause}" for path, cause in causes.items()
    }
    assert {(error.file, error.kind) for error in report.errors} == {("a.warc.gz", "analysis")}
    assert all(error.offset for error in report.errors)


def test_an_analysis_that_cannot_begin_is_an_error(tmp_path: Path) -> None:
    settings = archive_of(tmp_path, stone_pages(2))
    with pytest.raises(NwxError, match=r"no process can analyse pages.*no dictionary"):
        steer(settings, replace(OPTIONS, make_analyzer=broken_analyzer))


def test_an_analysis_that_is_stopped_goes_on_later(tmp_path: Path) -> None:
    settings = archive_of(tmp_path, stone_pages(20))
    with open_engine(settings) as engine:
        report = steer_archive(engine, settings, STONES, OPTIONS, stopping=after(12))
        done = len(analysed_urls(engine))
        assert report.interrupted
        assert report.analysed == done < 20
        assert steer_archive(engine, settings, STONES, OPTIONS).analysed == 20 - done


def after(calls: int) -> Callable[[], bool]:
    """Return a function that says stop after `calls` calls."""
    left = iter(range(calls))
    return lambda: next(left, None) is None


def test_progress_moves_with_the_pages_that_are_analysed(tmp_path: Path) -> None:
    others = [Page(f"http://stones.example/{n}.png", "2015", b"x", "image/png") for n in range(5)]
    settings = archive_of(tmp_path, [*stone_pages(20), *others])
    shown: list[WorkProgress] = []
    with open_engine(settings) as engine:
        steer_archive(engine, settings, STONES, OPTIONS, shown.append)
    done = [each.done for each in shown]
    assert done == sorted(done)
    assert len(set(done)) > 3
    assert {(each.done, each.total) for each in shown[-1:]} == {(20, 20)}


def test_only_pages_of_the_specifications_collection(tmp_path: Path) -> None:
    settings = archive_of(tmp_path, stone_pages(2))
    with open_engine(settings) as engine:
        other = replace(STONES, collection="another")
        assert steer_archive(engine, settings, other, OPTIONS).analysed == 0


def test_pages_whose_file_is_gone_are_read_from_the_index(tmp_path: Path) -> None:
    settings = archive_of(tmp_path, stone_pages(4))
    (tmp_path / "a.warc.gz").unlink()
    report = steer(settings)
    assert (report.analysed, report.relevant, report.links) == (4, 2, 12)

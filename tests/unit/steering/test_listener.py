"""New pages are passed to a process that runs next to the import, which never waits for it."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from nwx.bulk import guarded_process
from nwx.captures import PagePlace
from nwx.engine.base import open_engine
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.steering.listener import SteeringListener
from nwx.steering.options import SteeringOptions, SteeringPlan
from nwx.steering.steering_run import steer_archive
from nwx.warc.sources import ArchiveSource, expand
from tests.hostile_analysis import (
    HANG,
    STONES,
    HostileAnalyzer,
    SlowAnalyzer,
    broken_analyzer,
    page_about,
    stone_pages,
)
from tests.warcs import Page, write_warc

OPTIONS = SteeringOptions(jobs=1, item_seconds=2, make_analyzer=HostileAnalyzer)


@contextmanager
def listener_of(
    settings: Settings, options: SteeringOptions = OPTIONS
) -> Iterator[SteeringListener]:
    with open_engine(settings) as engine:
        engine.create()
    with SteeringListener(SteeringPlan(settings, STONES, options)) as listener:
        yield listener


def load(settings: Settings, path: Path, listener: SteeringListener, pages: list[Page]) -> None:
    """Import pages and report them to a listener."""
    write_warc(path, pages)
    with open_engine(settings) as engine:
        engine.create()
        import_files(
            engine,
            settings,
            expand([str(path)]),
            ImportOptions(jobs=1),
            on_documents=listener.on_documents,
        )


def analysed_urls(settings: Settings) -> set[str]:
    with open_engine(settings) as engine:
        return {score.url for score in engine.crawl_index().document_scores("stones")}


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_pages_are_analysed_as_they_are_imported(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"))
    with listener_of(settings) as listener:
        assert listener.report().waiting == 0
        load(settings, tmp_path / "a.warc.gz", listener, stone_pages(6))
        load(settings, tmp_path / "b.warc.gz", listener, [*stone_pages(8), bad_page()])
        report = listener.finish()
    assert (report.analysed, report.relevant, report.failed, report.waiting) == (8, 4, 1, 0)
    [error] = report.errors
    assert error.file == "b.warc.gz"
    assert error.message.endswith("/hang: the analysis took longer than 2 s")
    assert len(analysed_urls(settings)) == 8


def bad_page() -> Page:
    return page_about("granite", HANG)


def test_what_does_not_fit_in_the_queue_is_left_and_found_again(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"))
    with listener_of(settings, replace(OPTIONS, queue_pages=3)) as listener:
        load(settings, tmp_path / "a.warc.gz", listener, stone_pages(8))
        assert listener.report().waiting == 8
        listener.idle()
        wait_for(lambda: listener.report().analysed == 8)
        assert listener.finish().waiting == 0
    assert len(analysed_urls(settings)) == 8


def test_a_listener_that_is_stopped_keeps_what_it_found(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"))
    with listener_of(settings, replace(OPTIONS, make_analyzer=SlowAnalyzer)) as listener:
        load(settings, tmp_path / "a.warc.gz", listener, stone_pages(60))
        wait_for(lambda: listener.report().analysed > 0)
        report = listener.finish(stopping=lambda: True)
    assert report.interrupted
    assert 0 < report.analysed < 60
    assert (report.analysed + report.waiting, report.stopped) == (60, "")
    assert len(analysed_urls(settings)) == report.analysed


def test_a_killed_process_is_told_and_replaced(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"))
    with listener_of(settings, replace(OPTIONS, make_analyzer=SlowAnalyzer)) as listener:
        load(settings, tmp_path / "a.warc.gz", listener, stone_pages(30))
        wait_for(lambda: listener.report().analysed > 0)
        os.kill(listener.process_id or 0, signal.SIGKILL)
        wait_for(lambda: bool(listener.report().stopped))
        load(settings, tmp_path / "b.warc.gz", listener, stone_pages(5, start=30))
        report = listener.report()
        assert report.stopped == "the process crashed (SIGKILL)"
        assert report.waiting >= 5
        listener.idle()
        wait_for(lambda: len(analysed_urls(settings)) == 35)
        report = listener.finish()
        assert (report.waiting, report.stopped) == (0, "")


def test_an_analysis_that_cannot_begin_stops_no_import(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"))
    with listener_of(settings, replace(OPTIONS, make_analyzer=broken_analyzer)) as listener:
        load(settings, tmp_path / "a.warc.gz", listener, stone_pages(4))
        report = listener.finish()
    assert (report.analysed, report.waiting) == (0, 4)
    assert report.stopped == (
        "no process can analyse pages: the last one failed: RuntimeError: no dictionary"
    )
    with open_engine(settings) as engine:
        assert steer_archive(engine, settings, STONES, OPTIONS).analysed == 4


def test_a_process_that_cannot_be_started_stops_no_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(self: object) -> None:
        raise BlockingIOError("no more processes")

    settings = Settings(str(tmp_path / "archive"))
    source, place = cast(ArchiveSource, None), cast(PagePlace, None)
    with listener_of(settings) as listener:
        monkeypatch.setattr(guarded_process._context.Process, "start", start)
        listener.on_documents(source, [place] * 3)
        listener.idle()
        report = listener.finish()
    assert (report.waiting, report.stopped) == (
        3,
        "no process can be started: no more processes",
    )

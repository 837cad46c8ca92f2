"""Monitors that run by themselves: what goes wrong with them stops nobody."""

import threading
from pathlib import Path

import pytest

from nwx.engine.open import open_engine
from nwx.errors import EngineError, EngineUnavailableError
from nwx.quality.monitor.monitor import Monitor, MonitorOptions
from nwx.quality.monitor.monitor_run import monitor_beside, run_monitor
from nwx.quality.monitor.report import MonitorReport
from nwx.settings import Settings
from tests.unit.quality.monitor.made_crawls import BEGIN, healthy


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(str(tmp_path / "archive"))


@pytest.fixture
def options(tmp_path: Path) -> MonitorOptions:
    log = tmp_path / "crawl.log"
    log.write_text("".join(healthy(0, BEGIN)))
    return MonitorOptions("floods", "web", log, interval_seconds=0.1)


def test_one_look(settings: Settings, options: MonitorOptions) -> None:
    reports: list[MonitorReport] = []
    for _ in range(2):
        run_monitor(settings, options, [], reports.append, pytest.fail, bool, once=True)
    assert [report.totals.captures for report in reports] == [48, 48]


def test_it_looks_until_it_is_told_to_stop(settings: Settings, options: MonitorOptions) -> None:
    reports: list[MonitorReport] = []
    run_monitor(settings, options, [], reports.append, pytest.fail, lambda: len(reports) > 2)
    assert len(reports) == 3


def test_an_archive_that_is_away_is_told_once_and_nothing_counts_twice(
    settings: Settings, options: MonitorOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[MonitorReport] = []
    problems: list[str] = []
    away = iter([False, True, True, False, False])
    count = Monitor._count_queue

    def fail(self: Monitor) -> None:
        if next(away):
            raise EngineUnavailableError("the server is away")
        with options.crawl_log.open("a") as log:  # type: ignore[union-attr]
            log.writelines(healthy(1, BEGIN))
        count(self)

    monkeypatch.setattr(Monitor, "_count_queue", fail)
    run_monitor(settings, options, [], reports.append, problems.append, lambda: len(reports) > 2)
    assert problems == ["the server is away; trying again in 0.1 s"]
    assert [report.totals.captures for report in reports] == [48, 96, 144]


def test_with_once_an_archive_that_is_away_is_an_error(
    options: MonitorOptions, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    broken = Settings(str(tmp_path / "file" / "archive"))
    with pytest.raises(EngineError):
        run_monitor(broken, options, [], pytest.fail, pytest.fail, bool, once=True)


def test_beside_a_block(settings: Settings, options: MonitorOptions) -> None:
    reports: list[MonitorReport] = []
    seen = threading.Event()

    def tell(report: MonitorReport) -> None:
        reports.append(report)
        seen.set()

    with monitor_beside(settings, options, [], tell, pytest.fail):
        assert seen.wait(60)
        with options.crawl_log.open("a") as log:  # type: ignore[union-attr]
            log.writelines(healthy(1, BEGIN))
    assert reports[-1].totals.captures == 96


def test_a_block_goes_on_where_another_monitor_runs(
    settings: Settings, options: MonitorOptions
) -> None:
    problems: list[str] = []
    told = threading.Event()

    def on_problem(text: str) -> None:
        problems.append(text)
        told.set()

    with open_engine(settings) as engine:
        other = Monitor(engine, options)
        with monitor_beside(settings, options, [], pytest.fail, on_problem):
            assert told.wait(60)
        other.close()
    (problem,) = problems
    assert "the monitor of 'floods' has ended: another monitor" in problem

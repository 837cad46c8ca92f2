"""Each alert begins on a crawl simulated for it, and none on a healthy one."""

import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from nwx.engine.base import open_engine
from nwx.errors import EngineError, EngineUnavailableError, UsageError
from nwx.model import Batch
from nwx.quality.monitor.alerts import DiskSpace
from nwx.quality.monitor.monitor import (
    Monitor,
    MonitorOptions,
    disk_space,
    monitor_beside,
    run_monitor,
)
from nwx.quality.monitor.report import AlertKind, MonitorReport, Notices
from nwx.quality.monitor.state import read_monitor
from nwx.settings import Settings
from nwx.values.timestamps import to_timestamp
from tests.conformance.archive import capture
from tests.unit.quality.monitor.made_crawls import BEGIN, MadeCrawl, healthy, kinds, log_line
from tests.unit.quality.monitor.test_report import Recorded

SICK = "sick.example"


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[MadeCrawl]:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        yield MadeCrawl(engine, tmp_path)


Lines = Callable[[int, datetime], Iterable[str]]


def with_host(status: int = 200, digest: str | None = None, count: int = 10) -> Lines:
    """Return a function that yields lines of a healthy crawl plus those of a failing host."""

    def lines(number: int, start: datetime) -> list[str]:
        time = start + timedelta(seconds=50)
        urls = (f"http://{SICK}/{number}/{place}" for place in range(count))
        return healthy(number, start) + [
            log_line(url, time, status, digest=digest and f"{digest}{number % 5}") for url in urls
        ]

    return lines


def test_a_crawl_that_goes_well_alerts_nobody(crawl: MadeCrawl) -> None:
    monitor = crawl.monitor()
    report = crawl.minutes(monitor, 50, healthy)
    assert report.alerts == () and report.problems == ()
    assert report.totals.captures == 50 * 48 and len(report.minutes) in (50, 51)
    assert report.last.startswith("2026112208") and report.crawl_log == str(crawl.log)


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (AlertKind.ERRORS, with_host(503)),
        (AlertKind.ERRORS, with_host(404)),
        (AlertKind.SILENT, with_host(-4)),
        (AlertKind.ROBOTS, with_host(-9998)),
        (AlertKind.TRAP, with_host(digest="sha1:SAME", count=60)),
    ],
)
def test_a_host_that_goes_wrong(crawl: MadeCrawl, kind: AlertKind, lines: Lines) -> None:
    channel = Recorded()
    crawl.notices = Notices([channel], pytest.fail)
    monitor = crawl.monitor()
    report = crawl.minutes(monitor, 10, lines)
    assert kinds(report.open_alerts) == {(kind, SICK)}
    (alert,) = report.alerts
    assert alert.since < alert.last and SICK not in alert.message and alert.value > 0.5
    report = crawl.minutes(monitor, 24, with_host(200, count=30))
    assert report.open_alerts == () and len(report.alerts) == report.alerts_total == 1
    assert report.alerts[0].cleared
    monitor.close()
    assert [notice["kind"] for notice in channel.taken] == [kind]
    stored = read_monitor(crawl.engine, "floods")
    assert stored and stored.alerts[0].told


def test_a_fall_of_the_rate_ends_with_the_crawl(crawl: MadeCrawl) -> None:
    monitor = crawl.monitor()
    crawl.minutes(monitor, 40, healthy)
    report = crawl.minutes(monitor, 6, lambda *_: [])
    assert kinds(report.open_alerts) == {(AlertKind.RATE, "")}
    report = crawl.minutes(monitor, 45, healthy)
    assert report.open_alerts == () and report.alerts_total == 1


def test_a_crawl_that_is_over_falls_without_alert(crawl: MadeCrawl) -> None:
    monitor = crawl.monitor()
    crawl.minutes(monitor, 40, healthy)
    statistics = crawl.folder / "progress-statistics.log"
    statistics.write_text("2026-11-22T08:40:00Z 900 0 900 1(1) 1(1) 0 0 1 1 0 0 0\n")
    report = crawl.minutes(monitor, 20, lambda *_: [])
    assert report.alerts == ()
    assert (report.queued, report.queue_source) == (0, "heritrix")
    assert report.queue["downloaded"] == 900


def test_a_disk_that_is_nearly_full(crawl: MadeCrawl) -> None:
    crawl.space = DiskSpace(10**12, 10**10)
    monitor = crawl.monitor()
    report = crawl.minutes(monitor, 2, healthy)
    assert [alert.kind for alert in report.open_alerts] == [AlertKind.DISK]
    crawl.space = DiskSpace(10**12, 10**11)
    report = crawl.minutes(monitor, 6, healthy)
    assert report.open_alerts == ()
    assert disk_space(crawl.folder) is not None and disk_space(crawl.folder / "nowhere") is None


def test_whoever_is_killed_when_each_line_counts_once(crawl: MadeCrawl) -> None:
    whole = "".join(line for n in range(30) for line in healthy(n, BEGIN + timedelta(minutes=n)))
    crawl.clock.now = BEGIN + timedelta(minutes=31)
    crawl.write([whole])
    monitor = crawl.monitor()
    wanted = monitor.look()
    monitor.close()
    crawl.log.unlink()
    for step, start in enumerate(range(0, len(whole), 7_919)):
        middle = start + 4_001
        crawl.write([whole[start:middle]])
        monitor = crawl.monitor(anew=step == 0)
        monitor.look()
        crawl.write([whole[middle : start + 7_919]])
        if step % 3 == 1:
            # It is killed: later counts are not stored.
            monitor._read_log(lambda: False)
            monitor._ownership.end()
        else:
            monitor.look()
            monitor.close()
        if step % 4 == 0:
            crawl.log.rename(crawl.log.with_name(f"crawl.log.cp{step:05}"))
    found = crawl.monitor().look()
    assert found.totals == wanted.totals and found.minutes == wanted.minutes
    assert found.hosts == wanted.hosts and found.statuses == wanted.statuses
    assert found.log_lines == wanted.log_lines and not found.problems


def test_one_monitor_of_a_name_at_a_time(crawl: MadeCrawl) -> None:
    first = crawl.monitor()
    with pytest.raises(UsageError, match="another monitor of 'floods' runs"):
        crawl.monitor()
    first.look()
    first.close()
    crawl.monitor().close()


def test_it_goes_on_with_its_log(crawl: MadeCrawl) -> None:
    crawl.write(healthy(0, BEGIN))
    crawl.monitor().close()
    crawl.with_log = False
    monitor = crawl.monitor()
    assert monitor.look().totals.captures == 48
    monitor.close()


def test_another_log_or_collection_forgets_nothing(crawl: MadeCrawl) -> None:
    crawl.write(healthy(0, BEGIN))
    monitor = crawl.monitor()
    monitor.look()
    monitor.close()
    crawl.collection = "other"
    with pytest.raises(UsageError, match=r"counts the collection 'web' and .*--anew"):
        crawl.monitor()
    crawl.collection, crawl.folder = "web", crawl.folder / "other"
    with pytest.raises(UsageError, match="--anew"):
        crawl.monitor()
    crawl.folder.mkdir()
    crawl.write(healthy(0, BEGIN)[:3])
    monitor = crawl.monitor(anew=True)
    assert monitor.look().log_lines == 3
    monitor.close()


def test_anew_holds_when_the_first_look_fails(
    crawl: MadeCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl.write(healthy(0, BEGIN))
    monitor = crawl.monitor()
    monitor.look()
    monitor.close()
    monitor = crawl.monitor(anew=True)

    def fail(_: object) -> None:
        raise EngineUnavailableError("the server is away")

    with monkeypatch.context() as patched:
        patched.setattr("nwx.quality.monitor.monitor.Monitor._count_queue", fail)
        with pytest.raises(EngineUnavailableError):
            monitor.look()
    began = crawl.clock.now = BEGIN + timedelta(minutes=1)
    report = monitor.look()
    assert report.began == to_timestamp(began) and report.totals.captures == 48
    monitor.close()


def test_an_alert_is_told_once_it_is_kept(
    crawl: MadeCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look that fails and is repeated therefore reports it once."""
    channel = Recorded()
    crawl.notices = Notices([channel], pytest.fail)
    crawl.space = DiskSpace(10**12, 10**10)
    crawl.write(healthy(0, BEGIN))
    monitor = crawl.monitor()

    def fail(*_: object) -> None:
        raise EngineUnavailableError("the server is away")

    with monkeypatch.context() as patched:
        patched.setattr("nwx.quality.monitor.monitor.write_state", fail)
        with pytest.raises(EngineUnavailableError):
            monitor.look()
    crawl.clock.now = BEGIN + timedelta(minutes=1)
    monitor.look()
    monitor.close()
    assert [notice["kind"] for notice in channel.taken] == [AlertKind.DISK]


def test_captures_wait_for_a_log_that_is_not_there_yet(crawl: MadeCrawl) -> None:
    url, fetched = "http://a.example/", BEGIN + timedelta(minutes=1)
    crawl.engine.write(Batch(captures=(capture(url, to_timestamp(fetched), collection="web"),)))
    crawl.engine.refresh()
    crawl.clock.now = BEGIN + timedelta(minutes=2)
    monitor = crawl.monitor()
    for _ in range(2):
        report = monitor.look()
        assert report.totals.captures == report.archived == 0
        assert [problem.message for problem in report.problems] == ["there is no such log yet"]
    crawl.write([log_line(url, fetched + timedelta(seconds=1), took_ms=1_000)])
    report = monitor.look()
    monitor.close()
    assert report.totals.captures == report.archived == 1


def test_a_log_that_cannot_be_read_is_noted(
    crawl: MadeCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = crawl.monitor()

    def refuse(path: Path) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    crawl.write(healthy(0, BEGIN))
    monkeypatch.setattr("nwx.bulk.log_follower.LogFile", refuse)
    monitor.look()
    report = monitor.look()
    assert report.problems_total == 1 and "cannot be read" in report.problems[0].message
    monkeypatch.undo()
    assert monitor.look().totals.captures > 0


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

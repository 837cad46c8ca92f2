"""A monitor of a crawl: reads new fetches, sums them, and raises alerts."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nwx.engine.base import Engine, open_engine
from nwx.errors import EngineError, NwxError, SourceError, StaleMarkError, UsageError
from nwx.quality.monitor.alerts import (
    AlertThresholds,
    CrawlSurroundings,
    DiskSpace,
    next_alerts,
    readings,
)
from nwx.quality.monitor.new_fetches import NewCaptures, NewLogLines, logged_queue
from nwx.quality.monitor.report import Alert, Channel, MonitorReport, Notices
from nwx.quality.monitor.state import MonitorState, Ownership, read_state, write_state
from nwx.settings import Settings
from nwx.values.timestamps import parse_timestamp, to_timestamp

_SAVE_SECONDS = 5.0
_LATE = timedelta(days=1)


def present() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """What to monitor: a crawl by its name, the captures of a collection, and a crawl.log.

    Without a `crawl_log` the previously counted one is followed. `folders` are checked for disk
    space, in addition to those of the log and the archive. With `anew` the previous counts are
    discarded.
    """

    name: str
    collection: str
    crawl_log: Path | None = None
    interval_seconds: float = 5.0
    thresholds: AlertThresholds = field(default_factory=AlertThresholds)
    folders: Sequence[Path] = ()
    anew: bool = False


@dataclass(slots=True)
class Monitor:
    """Monitors a crawl; one process at a time per crawl name.

    The counts of a look are stored together with the positions it reached, in one write: each line
    and each capture counts once, even if the process is killed.
    """

    engine: Engine
    options: MonitorOptions
    notices: Notices | None = None
    clock: Callable[[], datetime] = present
    disk_usage: Callable[[Path], DiskSpace | None] = field(default=lambda path: disk_space(path))
    _state: MonitorState = field(init=False)
    _crawl_log: Path | None = field(init=False)
    _log: NewLogLines | None = field(init=False)
    _ownership: Ownership = field(init=False)
    _saved: float = field(init=False)
    _is_whole: bool = field(init=False, default=True)
    _is_anew: bool = field(init=False)

    def __post_init__(self) -> None:
        """Read the state.

        Raises UsageError if another monitor of this name runs, or the last one had another
        collection or log.
        """
        options, blobs = self.options, self.engine.quality_index()
        self._is_anew = options.anew
        self._state = self._stored()
        interval = options.interval_seconds
        self._ownership = Ownership(blobs, options.name, self.clock, interval)
        self._ownership.renew()
        self._crawl_log = Path(self._state.crawl_log) if self._state.crawl_log else None
        self._log = NewLogLines(self._crawl_log) if self._crawl_log else None
        self._saved = time.monotonic()
        for alert in self._state.alerts:
            if not (alert.told or alert.cleared):
                self._tell(alert)

    def _stored(self) -> MonitorState:
        """Return the stored state, or a new one; raises UsageError if it has other sources."""
        options = self.options
        log = str(options.crawl_log.absolute()) if options.crawl_log else ""
        before = None if self._is_anew else read_state(self.engine.quality_index(), options.name)
        if before is None:
            now = to_timestamp(self.clock())
            return MonitorState(options.name, options.collection, now, crawl_log=log)
        if before.collection != options.collection or log not in ("", before.crawl_log):
            counted = f"the collection {before.collection!r}"
            counted += f" and {before.crawl_log}" if before.crawl_log else " and no log"
            raise UsageError(
                f"the monitor {options.name!r} counts {counted}; use the same, choose another"
                f" name, or discard the counts by `nwx monitor {options.name} --anew`"
            )
        return before

    def look(self, stopping: Callable[[], bool] = lambda: False) -> MonitorReport:
        """Count new fetches, and return the report, in which an unreadable log is a problem.

        Raises EngineError if the archive cannot be used, UsageError if another monitor has taken
        over. The counts of a failed look are discarded, and counted again.
        """
        now = self.clock()
        if not self._is_whole:
            self._state = self._stored()
        self._is_whole = False
        self._prepare(now)
        # Only captures stored before the log is read: all of these are in the log.
        until = self.engine.capture_mark()
        if self._read_log(stopping):
            self._read_captures(until, stopping)
        self._state.looked = to_timestamp(now)
        self._count_queue()
        new = self._alert(now)
        self._save()
        self._is_whole = True
        for alert in new:
            self._tell(alert)
        return self._state.report()

    def _prepare(self, now: datetime) -> None:
        self._state.interval_seconds = self.options.interval_seconds
        self._state.sums.latest = to_timestamp(now + _LATE)

    def _read_log(self, stopping: Callable[[], bool]) -> bool:
        """Count the new lines of the log; return whether all were counted.

        While the log does not exist, captures wait too: it will list the same fetches.
        """
        if self._crawl_log and not (self._state.log_place or self._crawl_log.exists()):
            self._state.note_once(str(self._crawl_log), "there is no such log yet")
            return False
        try:
            while self._log and not stopping() and self._log.take(self._state):
                self._save_at_times()
        except SourceError as error:
            self._state.note_once(str(self._crawl_log), str(error))
            return False
        return not stopping()

    def _read_captures(self, until: str, stopping: Callable[[], bool]) -> None:
        source = NewCaptures(self.engine)

        def pause() -> bool:
            self._save_at_times()
            return stopping()

        try:
            source.take(self._state, until, pause)
        except StaleMarkError as error:
            # The sums of log and captures are combined: both are counted again.
            self._state = self._state.emptied()
            self._state.note("", None, f"{error}; everything was counted again")
            self._prepare(self.clock())
            if self._read_log(stopping):
                source.take(self._state, until, pause)

    def _count_queue(self) -> None:
        state, log = self._state, self._crawl_log
        state.queue_source = ""
        state.queue = {}
        if log is not None and (logged := logged_queue(log)) is not None:
            state.queue_source, state.queue = "heritrix", logged
            return
        counts = self.engine.crawl_queue().counts(self.options.name)
        if counts.total:
            state.queue_source = "nwx"
            state.queue = {
                "waiting": counts.waiting,
                "leased": counts.leased,
                "done": counts.done,
                "blacklisted": counts.blacklisted,
            }

    def _alert(self, now: datetime) -> list[Alert]:
        """Update the alerts, and return the new ones."""
        state, thresholds = self._state, self.options.thresholds
        self._note_told(now)
        newest = parse_timestamp(state.sums.last) if state.sums.last else now
        around = CrawlSurroundings(
            now if self._log else min(newest, now),
            state.queue.get("queued", state.queue.get("waiting")),
            self._disks(),
        )
        found = readings(state.sums, thresholds, around)
        state.alerts, new, passed_over = next_alerts(
            state.alerts, found, now, thresholds.quiet_minutes
        )
        state.alerts_total += len(new) + passed_over
        return new

    def _note_told(self, now: datetime) -> None:
        taken = self.notices.take_sent() if self.notices else []
        told = {(each.kind, each.host, each.since) for each in taken}
        moment = to_timestamp(now)
        self._state.alerts = [
            each._replace(told=moment) if (each.kind, each.host, each.since) in told else each
            for each in self._state.alerts
        ]

    def _tell(self, alert: Alert) -> None:
        if self.notices:
            self.notices.add(self.options.name, alert)

    def _disks(self) -> dict[str, DiskSpace]:
        folders = [*self.options.folders]
        if self._crawl_log:
            folders.append(self._crawl_log.parent)
        if self.engine.traits.is_local:
            folders.append(Path(self.engine.address).absolute())
        found = {str(folder): self.disk_usage(folder) for folder in folders}
        # Folders on one disk are reported once.
        unique = {space: folder for folder, space in reversed(found.items()) if space}
        return {folder: space for space, folder in unique.items()}

    def _save_at_times(self) -> None:
        if time.monotonic() - self._saved >= _SAVE_SECONDS:
            self._state.looked = to_timestamp(self.clock())
            self._save()

    def _save(self) -> None:
        self._ownership.renew()
        write_state(self.engine.quality_index(), self._state)
        self._is_anew = False
        self._saved = time.monotonic()

    def close(self, seconds: float = 5.0) -> None:
        """Flush alerts for up to `seconds`, store the state, then release the name."""
        if self._log:
            self._log.close()
        if self.notices:
            self.notices.finish(seconds)
            self._note_told(self.clock())
        if self._is_whole:
            self._save()
        self._ownership.end()


def disk_space(path: Path) -> DiskSpace | None:
    """Return the space of the disk that holds a folder, None if unknown."""
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return None
    return DiskSpace(usage.total, usage.free)


_REST_SECONDS = 0.2
_JOIN_SECONDS = 30.0

TellReport = Callable[[MonitorReport], object]
TellProblem = Callable[[str], object]


def run_monitor(
    settings: Settings,
    options: MonitorOptions,
    channels: list[Channel],
    tell: TellReport,
    on_problem: TellProblem,
    stopping: Callable[[], bool],
    *,
    once: bool = False,
) -> None:
    """Look at a crawl every `interval_seconds` and report the findings.

    An unusable archive is reported, and retried; with `once`, which looks a single time, it is an
    error.
    """
    with ExitStack() as stack:
        monitor: Monitor | None = None
        told = ""
        while not stopping():
            try:
                if monitor is None:
                    monitor = _opened(settings, options, channels, on_problem, stack)
                tell(monitor.look(stopping))
                told = ""
            except EngineError as error:
                if once:
                    raise
                if str(error) != told:
                    told = str(error)
                    on_problem(f"{error}; trying again in {options.interval_seconds:g} s")
            if once:
                return
            _rest(options.interval_seconds, stopping)


def _opened(
    settings: Settings,
    options: MonitorOptions,
    channels: list[Channel],
    on_problem: TellProblem,
    stack: ExitStack,
) -> Monitor:
    with ExitStack() as opening:
        engine = opening.enter_context(open_engine(settings))
        monitor = Monitor(engine, options, Notices(channels, on_problem))
        opening.callback(_close, monitor, on_problem)
        stack.push(opening.pop_all())
    return monitor


def _close(monitor: Monitor, on_problem: TellProblem) -> None:
    try:
        monitor.close()
    except EngineError as error:
        on_problem(str(error))


def _rest(seconds: float, stopping: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while not stopping() and (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _REST_SECONDS))


@contextmanager
def monitor_beside(
    settings: Settings,
    options: MonitorOptions,
    channels: list[Channel],
    tell: TellReport,
    on_problem: TellProblem,
) -> Iterator[None]:
    """Monitor a crawl in a thread while the block runs; the block never waits for it.

    After the block the monitor looks a last time. An error that stops it is passed to `on_problem`,
    and the block continues.
    """
    ended = threading.Event()

    def run() -> None:
        try:
            run_monitor(settings, options, channels, tell, on_problem, ended.is_set)
        except NwxError as error:
            on_problem(f"the monitor of {options.name!r} has ended: {error}")
            return
        try:
            run_monitor(settings, options, channels, tell, on_problem, lambda: False, once=True)
        except NwxError as error:
            on_problem(f"the monitor of {options.name!r} failed at its last check: {error}")

    thread = threading.Thread(target=run, name="nwx-monitor", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_JOIN_SECONDS)

"""A monitor that looks again and again, until it is told to stop."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from nwx.engine.open import open_engine
from nwx.errors import EngineError, NwxError
from nwx.quality.monitor.monitor import Monitor, MonitorOptions
from nwx.quality.monitor.notices import Channel, Notices
from nwx.quality.monitor.report import MonitorReport
from nwx.settings import Settings

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
    """Look at a crawl every `interval_seconds` and tell what is found.

    An archive that cannot be used is told, and tried again; with `once`,
    which looks a single time, it is an error.
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
    """Monitor a crawl beside what the block does, which never waits for it.

    When the block ends the monitor looks a last time. What stops it is told
    to `on_problem`, and the block goes on.
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
            on_problem(f"the monitor of {options.name!r} did not look a last time: {error}")

    thread = threading.Thread(target=run, name="nwx-monitor", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_JOIN_SECONDS)

"""A process that checks the playback of new pages while a watch loads without waiting."""

import os
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple

from nwx.bulk.child_processes import ChildFunction, ChildProcess
from nwx.captures import PagePlace
from nwx.engine.indices.quality_index import PlaybackScore
from nwx.engine.open import open_engine
from nwx.errors import NwxError
from nwx.keys import capture_id
from nwx.quality.browser.pool import NO_SANDBOX, BrowserPool, browser_path
from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions
from nwx.quality.playback.arrivals import Arrivals, ArrivalSample, check_arrivals
from nwx.quality.playback.check import PlaybackCheck, PlaybackReport, fault_json, score_json
from nwx.quality.renders.render_writer import kept_renders
from nwx.settings import Settings

_MOST_WAITING = 1_000
"""Pages beyond these that wait are left out, and counted."""

_MOST_STARTS, _MOST_FAULTS, _MOST_PROBLEMS = 5, 20, 5
_NICENESS = 5
_LOOK_SECONDS, _END_SECONDS = 0.2, 10.0


class ArrivalEvent(NamedTuple):
    """A message of the checks: a score as JSON, a note, or the error that ended them."""

    kind: Literal["checked", "passed", "note", "error"]
    text: str = ""
    score: dict[str, Any] | None = None


class ArrivalChecks:
    """Sends a sample of new pages to a checking process, which is restarted when it dies.

    The process runs `function`: `run_arrival_checks`. Its failures are reported, never raised.
    """

    def __init__(
        self,
        settings: Settings,
        sample: ArrivalSample,
        function: ChildFunction,
        tell: Callable[[ArrivalEvent], object],
    ) -> None:
        self._settings, self._sample = settings, sample
        self._function, self._tell = function, tell
        self._process: _ArrivalProcess | None = None
        self._starts = self._left = 0

    def add(self, pages: Sequence[PagePlace]) -> None:
        """Take the new pages of a file."""
        chosen = self._sample.chosen(pages)
        process = self._running() if chosen else None
        for page in chosen:
            if process is None or not process.hand_over(page):
                self._left += 1

    def tell_news(self, seconds: float = 0) -> None:
        """Report new findings, after waiting for them for up to `seconds`."""
        if self._process is not None:
            for event in self._process.events(seconds):
                self._tell(event)

    def finish(self, stopping: Callable[[], bool]) -> int:
        """Wait until what waits is checked, or `stopping` says so; return the pages left out."""
        process = self._process
        if process is not None:
            process.no_more()
            while not process.has_ended and not stopping():
                self.tell_news(_LOOK_SECONDS)
        self.close()
        return self._left + (len(process.waiting) if process is not None else 0)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()

    def _running(self) -> "_ArrivalProcess | None":
        self.tell_news()
        if self._process is not None and self._process.has_ended:
            self._process.end()
            self._left += len(self._process.waiting)
            self._process = None
        if self._process is None and self._starts < _MOST_STARTS:
            self._starts += 1
            try:
                self._process = _ArrivalProcess(self._function, self._settings)
            except OSError as error:
                self._tell(ArrivalEvent("note", f"playback cannot be checked: {error}"))
        return self._process


class _ArrivalProcess:
    """The process, and the pages that wait for it."""

    def __init__(self, function: ChildFunction, settings: Settings) -> None:
        self.waiting: set[str] = set()
        self.has_ended = self._has_failed = False
        self._process = ChildProcess(function)
        self._send(settings)

    def hand_over(self, page: PagePlace) -> bool:
        """Return whether the process takes a page; it checks it when it gets round to it."""
        _, is_writable, _ = select.select([], [self._process.connection], [], 0)
        if len(self.waiting) >= _MOST_WAITING or not is_writable:
            return False
        self.waiting.add(capture_id(page.collection, page.source_file, page.offset))
        self._send(page)
        return True

    def no_more(self) -> None:
        """Let the process end when it has checked what waits."""
        self._send(None)

    def _send(self, message: object) -> None:
        with suppress(OSError):  # its death is noticed where events are received
            self._process.connection.send(message)

    def events(self, seconds: float) -> Iterator[ArrivalEvent]:
        """Yield the new events of the process, including the cause of its death."""
        connection = self._process.connection
        try:
            while not self.has_ended and connection.poll(seconds):
                event: ArrivalEvent = connection.recv()
                self.waiting.discard(event.text)
                self._has_failed = event.kind == "error"
                if event.kind != "passed":
                    yield event
        except (EOFError, OSError):
            self.has_ended = True
            code = self._process.death(_END_SECONDS).code
            if code and not self._has_failed:
                yield ArrivalEvent("error", f"the process ended with {code}")

    def end(self) -> None:
        """End the process, now."""
        self.has_ended = True
        self._process.end()


def run_arrival_checks(
    connection: "Connection[ArrivalEvent, Any]",
    open_playback: Callable[[Settings], AbstractContextManager[ArchivePlayback]],
) -> None:
    """Check the pages that come over a connection, after the settings, until it is closed."""
    settings: Settings = connection.recv()
    arrivals = _arrivals(connection)
    os.nice(_NICENESS)
    try:
        _check(settings, arrivals, connection.send, open_playback)
    except BrokenPipeError:
        os._exit(1)
    except NwxError as error:
        connection.send(ArrivalEvent("error", str(error)))
        os._exit(1)


def _arrivals(connection: "Connection[ArrivalEvent, Any]") -> Arrivals:
    """Return the pages that come over a connection, read by a thread."""
    arrivals: Arrivals = SimpleQueue()

    def read() -> None:
        with suppress(EOFError, OSError):  # the watch may be killed
            while (page := connection.recv()) is not None:
                arrivals.put(page)
        arrivals.put(None)

    threading.Thread(target=read, daemon=True).start()
    return arrivals


def _check(
    settings: Settings,
    arrivals: Arrivals,
    tell: Callable[[ArrivalEvent], object],
    open_playback: Callable[[Settings], AbstractContextManager[ArchivePlayback]],
) -> None:
    def note(text: str) -> None:
        tell(ArrivalEvent("note", text))

    options = BrowserOptions(jobs=1, browser=browser_path(settings.browser), full_page=False)
    with ExitStack() as stack:
        engine = stack.enter_context(open_engine(settings))
        target = stack.enter_context(open_playback(settings))
        pool = stack.enter_context(BrowserPool(options, target))
        if not pool.sandbox:
            note(NO_SANDBOX)
        check = PlaybackCheck(
            force=True,
            keep=stack.enter_context(kept_renders(settings, None, comparison=False, say=note)),
            is_playing=target.answers,
            told=lambda score: tell(_checked(score)),
        )
        check_arrivals(
            engine,
            pool,
            check,
            arrivals,
            lambda report: _tell_problems(report, note),
            passed=lambda id: tell(ArrivalEvent("passed", id)),
        )


def _tell_problems(report: PlaybackReport, note: Callable[[str], object]) -> None:
    for problem in report.problems[:_MOST_PROBLEMS]:
        note(problem)
    more = report.problems_total - _MOST_PROBLEMS
    if more > 0:
        note(f"{more:,} more problem{'' if more == 1 else 's'}")


def _checked(score: PlaybackScore) -> ArrivalEvent:
    found = score_json(score) | {
        "score": score.score,
        "faults": [fault_json(score, fault) for fault in score.faults[:_MOST_FAULTS]],
        "faults_total": score.faults_total,
    }
    return ArrivalEvent("checked", score.id, found)

"""Playback checks of new pages while an import or a watch continues."""

import os
import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, Literal, NamedTuple

from nwx.bulk.child_processes import ChildFunction, ChildProcess
from nwx.captures import PagePlace
from nwx.engine.base import Engine, open_engine
from nwx.engine.indices.quality_index import PlaybackScore
from nwx.errors import NwxError, UrlError, UsageError, system_reason
from nwx.model import Capture, IndexName
from nwx.quality.browser.pool import NO_SANDBOX, BrowserPool, browser_path
from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions
from nwx.quality.page_choice import chance_of, repaired_captures
from nwx.quality.playback_check import (
    PlaybackCheck,
    PlaybackReport,
    PlaybackTally,
    check_pages,
    fault_json,
    score_json,
)
from nwx.quality.render_writer import kept_renders
from nwx.quality.scores import CaptureMark, marked_captures
from nwx.settings import Settings
from nwx.values.urlkeys import urlkey
from nwx.warc.sources import FilePlaces

_WAIT_SECONDS, _LOOK_SECONDS = 15.0, 0.2
_IDLE_SECONDS = 15.0
"""The interval of searches for repaired pages while none arrives."""

_MENDED_AT_ONCE = 20

_MOST_PAGES = 10**9

Arrivals = SimpleQueue["PagePlace | None"]
"""New pages, in order; None after the last."""


@dataclass(frozen=True, slots=True)
class ArrivalSample:
    """How many pages of a file to check: at most a number, or a share of them."""

    most: int = 0
    share: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "ArrivalSample":
        """Parse a sample such as 20, 0.05 or 5%; raises UsageError if it is invalid."""
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            number = 0.0
        if 0 < number < 1 or (text.endswith("%") and number == 1):
            return cls(share=number)
        if text.endswith("%") or not (1 <= number <= _MOST_PAGES and number.is_integer()):
            raise UsageError(
                f"{text!r} is not a sample of pages: give a number of pages per file, or a share"
                " such as 0.05 or 5%"
            )
        return cls(most=int(number))

    def chosen(self, pages: Sequence[PagePlace]) -> list[PagePlace]:
        """Return a random sample of a file's pages, the same one each time."""
        ranked = sorted((chance_of(page.id), number) for number, page in enumerate(pages))
        found = [number for chance, number in ranked if chance < self.share * 2**64]
        return [pages[number] for number in sorted(found[: self.most or None])]


def check_arrivals(
    engine: Engine,
    renderer: BrowserPool,
    check: PlaybackCheck,
    arrivals: Arrivals,
    tell: Callable[[PlaybackReport], object],
    passed: Callable[[str], object] = lambda id: None,
) -> None:
    """Check pages as they arrive, until None arrives; also pages repaired by new captures.

    `tell` gets the report of a few pages at a time, `passed` the ids of captures that are skipped
    as they are not found. Raises the same errors as `check_playback`.
    """
    places, waiting, repairs = FilePlaces(engine.files), _Waiting(arrivals), _Repairs(engine)
    while not (waiting.is_over and repairs.is_done):
        waiting.patience_seconds = _IDLE_SECONDS if repairs.is_done else 0.0
        lost = PlaybackTally()

        def pass_over(page: PagePlace, lost: PlaybackTally = lost) -> None:
            lost.note(f"{page.url[:200]}: its capture is not in the archive, so it was not checked")
            passed(page.id)

        pages = _captures(engine, places, waiting, pass_over)
        report = check_pages(engine, renderer, check, pages)
        if report.pages or lost.problems_total:
            tell(report.with_problems(lost.report()))
        if mended := repairs.some():
            tell(check_pages(engine, renderer, check, mended))


class _Waiting:
    """The pages waiting now and arriving soon; `is_over` when no more will arrive."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self.is_over = False
        self.patience_seconds = _IDLE_SECONDS

    def __iter__(self) -> Iterator[PagePlace]:
        if self.is_over:
            return
        try:
            page = self._arrivals.get(timeout=self.patience_seconds)
            while page is not None:
                yield page
                page = self._arrivals.get_nowait()
        except Empty:
            return
        self.is_over = True


class _Repairs:
    """Finds repaired pages if captures were stored since the last search."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stored = -1
        self._mended: list[Capture] = []

    @property
    def is_done(self) -> bool:
        """Whether all pages found have been returned."""
        return not self._mended

    def some(self) -> list[Capture]:
        """Return the captures of a few repaired pages, so that new pages need not wait long."""
        stored = self._engine.count(IndexName.CAPTURES)
        if stored != self._stored:
            self._stored = stored
            self._mended = repaired_captures(self._engine)
        some, self._mended = self._mended[:_MENDED_AT_ONCE], self._mended[_MENDED_AT_ONCE:]
        return some


def _captures(
    engine: Engine,
    places: FilePlaces,
    pages: Iterable[PagePlace],
    pass_over: Callable[[PagePlace], object],
) -> Iterator[Capture]:
    """Yield the captures of pages; `pass_over` gets pages still not found after a while."""
    for page in pages:
        until = time.monotonic() + _WAIT_SECONDS
        while (capture := _capture(engine, page)) is None or not places.is_there(capture):
            if time.monotonic() > until:
                break
            time.sleep(_LOOK_SECONDS)
        if capture is None:
            pass_over(page)
        else:
            yield capture


def _capture(engine: Engine, page: PagePlace) -> Capture | None:
    try:
        mark = CaptureMark(page.id, urlkey(page.url), page.timestamp)
    except UrlError:
        return None
    return marked_captures(engine, [mark]).get(mark.id)


_MOST_WAITING = 1_000
"""Waiting pages, at most; others are left out and counted."""

_MOST_STARTS, _MOST_FAULTS, _MOST_PROBLEMS = 5, 20, 5
_NICENESS = 5
_WATCH_SECONDS, _END_SECONDS = 0.2, 10.0


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
        """Queue a sample of a file's new pages."""
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
        """Wait until all is checked or `stopping` is true; return the number left out."""
        process = self._process
        if process is not None:
            process.no_more()
            while not process.has_ended and not stopping():
                self.tell_news(_WATCH_SECONDS)
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
                self._tell(
                    ArrivalEvent("note", f"playback cannot be checked: {system_reason(error)}")
                )
        return self._process


class _ArrivalProcess:
    """The process, and the pages that wait for it."""

    def __init__(self, function: ChildFunction, settings: Settings) -> None:
        self.waiting: set[str] = set()
        self.has_ended = self._has_failed = False
        self._process = ChildProcess(function)
        self._send(settings)

    def hand_over(self, page: PagePlace) -> bool:
        """Queue a page for the process; return whether it was accepted."""
        _, is_writable, _ = select.select([], [self._process.connection], [], 0)
        if len(self.waiting) >= _MOST_WAITING or not is_writable:
            return False
        self.waiting.add(page.id)
        self._send(page)
        return True

    def no_more(self) -> None:
        """Let the process end once all waiting pages are checked."""
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
        self.has_ended = True
        self._process.end()


def run_arrival_checks(
    connection: "Connection[ArrivalEvent, Any]",
    open_playback: Callable[[Settings], AbstractContextManager[ArchivePlayback]],
) -> None:
    """Check pages received over a connection, after the settings, until it is closed."""
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
    """Return the pages received over a connection, read by a thread."""
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
            on_score=lambda score: tell(_checked(score)),
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

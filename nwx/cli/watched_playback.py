"""nwx watch --check-playback: pages that arrive are checked in a process beside loading."""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

import click

from nwx.captures import PagePlace
from nwx.cli.output import clean, counted, json_text
from nwx.cli.render import NO_SANDBOX
from nwx.errors import NwxError
from nwx.keys import capture_id
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.quality.quality_index import PlaybackScore
    from nwx.quality.playback.arrivals import Arrivals, ArrivalSample
    from nwx.quality.playback.check import PlaybackReport
    from nwx.warc.sources import ArchiveSource
    from nwx.watching import PageListener

_PROGRAM = "from nwx.cli.watched_playback import check_until_left; check_until_left()"
_MOST_WAITING = 1_000
"""Pages beyond these that wait are left out, and counted: loading never waits for a browser."""

_MOST_STARTS, _FAULTS_TOLD, _PROBLEMS_TOLD = 5, 20, 5
_NICENESS = 5
_LOOK_SECONDS, _END_SECONDS = 0.2, 10.0


@dataclass(frozen=True, slots=True)
class _Order:
    """What the process needs to know."""

    settings: Settings
    jobs: int


class PlaybackListener:
    """Hands a sample of new pages to a process that checks their playback; prints what it tells.

    `inner` hears of pages first. What goes wrong with the process is told,
    and never stops the watch.
    """

    def __init__(
        self,
        settings: Settings,
        sample: "ArrivalSample",
        inner: "PageListener | None" = None,
        *,
        as_json: bool = False,
    ) -> None:
        self._order = _Order(settings, jobs=1)
        self._sample, self._inner, self._as_json = sample, inner, as_json
        self._process: _CheckProcess | None = None
        self._starts = self._left = 0

    def on_documents(self, source: "ArchiveSource", pages: Sequence[PagePlace]) -> None:
        """Take the new pages of a file."""
        if self._inner is not None:
            self._inner.on_documents(source, pages)
        chosen = self._sample.chosen(pages)
        process = self._running() if chosen else None
        for page in chosen:
            if process is None or process.waiting >= _MOST_WAITING:
                self._left += 1
            else:
                process.hand_over(page)

    def idle(self) -> None:
        """Print what was found since the last time."""
        if self._inner is not None:
            self._inner.idle()
        self._tell()

    def finish(self, stopping: Callable[[], bool]) -> None:
        """Wait until what waits is checked, or `stopping` says so, and print the rest."""
        process = self._process
        if process is not None:
            process.no_more()
            while not process.has_ended and not stopping():
                process.wait(_LOOK_SECONDS)
                self._tell()
        self.close()
        self._tell()
        left = self._left + (process.waiting if process is not None else 0)
        if left:
            words = f"{counted(left, 'page')} not checked; `nwx check-playback` does it"
            click.echo(f"nwx: {words}", err=True)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()

    def _running(self) -> "_CheckProcess | None":
        if self._process is not None and self._process.has_ended:
            self._process.end()
            self._tell()
            self._left += self._process.waiting
            self._process = None
        if self._process is None and self._starts < _MOST_STARTS:
            self._starts += 1
            try:
                self._process = _CheckProcess(self._order)
            except OSError as error:
                click.echo(f"nwx: playback cannot be checked: {clean(str(error))}", err=True)
        return self._process

    def _tell(self) -> None:
        process = self._process
        while process is not None and process.told:
            found = process.told.popleft()
            if "error" in found:
                click.echo(f"nwx: checks of playback ended: {clean(found['error'])}", err=True)
            elif "note" in found:
                click.echo(f"nwx: {clean(found['note'])}", err=True)
            elif self._as_json:
                click.echo(json_text({"event": "checked"} | found))
            else:
                click.echo(_words(found))
        sys.stdout.flush()


class _CheckProcess:
    """The hold on the process, with a thread that sends and one that hears."""

    def __init__(self, order: _Order) -> None:
        self.told: deque[dict[str, Any]] = deque()
        self._pages: SimpleQueue[PagePlace | None] = SimpleQueue()
        self._waiting: set[str] = set()
        self._is_ending = self._has_failed = False
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            process_group=0,
        )
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._send, args=(order,), daemon=True),
            threading.Thread(target=self._hear, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """How many pages wait or are being checked."""
        return len(self._waiting)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come."""
        return self._over.is_set()

    def wait(self, seconds: float) -> None:
        """Wait for the end, so long at most."""
        self._over.wait(seconds)

    def hand_over(self, page: PagePlace) -> None:
        """Have a page checked, when the process gets round to it."""
        self._waiting.add(capture_id(page.collection, page.source_file, page.offset))
        self._pages.put(page)

    def no_more(self) -> None:
        """Let the process end when it has checked what waits."""
        self._pages.put(None)

    def end(self) -> None:
        """End the process, now."""
        self._is_ending = True
        self._pages.put(None)
        self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(_END_SECONDS)

    def _send(self, order: _Order) -> None:
        stream = _pipe(self._process.stdin)
        with suppress(OSError):
            pickle.dump(order, stream)
            stream.flush()
            while (page := self._pages.get()) is not None:
                pickle.dump(page, stream)
                stream.flush()
        with suppress(OSError):
            stream.close()

    def _hear(self) -> None:
        try:
            with _pipe(self._process.stdout) as stream:
                for line in stream:
                    self._take(line)
            if self._process.wait() and not self._is_ending and not self._has_failed:
                self.told.append({"error": f"the process ended with {self._process.returncode}"})
        finally:
            self._over.set()

    def _take(self, line: bytes) -> None:
        if not line.endswith(b"\n"):
            return  # it was killed while it wrote
        found = json.loads(line)
        self._waiting.discard(found.pop("id", ""))
        self._has_failed = "error" in found
        if found:
            self.told.append(found)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "Popen was given PIPE"
    return stream


def _words(found: dict[str, Any]) -> str:
    kinds = dict.fromkeys(fault["kind"].replace("_", " ") for fault in found["faults"])
    faults = f", {counted(found['faults_total'], 'fault')} ({', '.join(kinds)})" if kinds else ""
    return clean(f"{found['url']}: plays with score {found['score']:.3f}{faults}")


def check_until_left() -> None:
    """Check the pages that standard input names until it ends; standard output tells of each."""
    order: _Order = pickle.load(sys.stdin.buffer)
    os.nice(_NICENESS)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def tell(found: dict[str, Any]) -> None:
        out.write(json.dumps(found) + "\n")
        out.flush()

    try:
        _check(order, tell)
    except BrokenPipeError:
        os._exit(1)
    except NwxError as error:
        tell({"error": str(error)})
        sys.exit(1)


def _check(order: _Order, tell: Callable[[dict[str, Any]], None]) -> None:
    from nwx.cli.playback_tools import kept_renders, playback_target, player_answers
    from nwx.engine.open import open_engine
    from nwx.quality.browser.pool import BrowserPool, browser_path
    from nwx.quality.browser.targets import BrowserOptions
    from nwx.quality.playback.arrivals import check_arrivals
    from nwx.quality.playback.check import PlaybackCheck

    settings = order.settings
    arrivals = _arrivals()

    def note(text: str) -> None:
        tell({"note": text})

    options = BrowserOptions(
        jobs=order.jobs, browser=browser_path(settings.browser), full_page=False
    )
    with ExitStack() as stack:
        engine = stack.enter_context(open_engine(settings))
        target = stack.enter_context(playback_target(settings, ""))
        pool = stack.enter_context(BrowserPool(options, target))
        if not pool.sandbox:
            note(NO_SANDBOX)
        store = stack.enter_context(kept_renders(settings, None, comparison=False, say=note))
        check = PlaybackCheck(
            force=True,
            keep=store,
            is_playing=lambda: player_answers(target),
            told=lambda score: tell(_score_json(score)),
        )
        check_arrivals(
            engine,
            pool,
            check,
            arrivals,
            lambda report: _tell_problems(report, note),
            passed=lambda id: tell({"id": id}),
        )


def _tell_problems(report: "PlaybackReport", note: Callable[[str], object]) -> None:
    for problem in report.problems[:_PROBLEMS_TOLD]:
        note(problem)
    if report.problems_total > _PROBLEMS_TOLD:
        note(counted(report.problems_total - _PROBLEMS_TOLD, "more problem"))


def _arrivals() -> "Arrivals":
    """Return what standard input brings, read by a thread."""
    arrivals: Arrivals = SimpleQueue()

    def read() -> None:
        # The watch may be killed while it writes.
        with suppress(EOFError, pickle.UnpicklingError):
            while True:
                arrivals.put(pickle.load(sys.stdin.buffer))
        arrivals.put(None)

    threading.Thread(target=read, daemon=True).start()
    return arrivals


def _score_json(score: "PlaybackScore") -> dict[str, Any]:
    from nwx.quality.playback.check import fault_json, score_json

    faults = [fault_json(score, fault) for fault in score.faults[:_FAULTS_TOLD]]
    return score_json(score) | {
        "id": score.id,
        "score": score.score,
        "faults": faults,
        "faults_total": score.faults_total,
    }


@contextmanager
def playback_listener(
    settings: Settings, sample: str | None, inner: "PageListener | None", *, as_json: bool
) -> "Iterator[PlaybackListener | None]":
    """Give the listener of a watch that checks a sample, None where none is asked for."""
    if sample is None:
        yield None
        return
    from nwx.quality.browser.pool import browser_path
    from nwx.quality.playback.arrivals import ArrivalSample

    wanted = ArrivalSample.parse(sample)
    browser_path(settings.browser)  # raises where there is none
    listener = PlaybackListener(settings, wanted, inner, as_json=as_json)
    try:
        yield listener
    finally:
        listener.close()

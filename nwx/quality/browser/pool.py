"""Several concurrent browsers, each in a separate process.

A process that hangs or crashes on a page is killed with all its child processes and replaced.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import gettempdir
from typing import Self

from nwx.bulk.child_processes import ChildProcess
from nwx.bulk.resources import temporary_folder
from nwx.errors import SourceError, UsageError
from nwx.quality.browser.browser_process import (
    BrowserOrder,
    keep_browser,
    kill_below,
    kill_users_of,
)
from nwx.quality.browser.targets import BrowserOptions, PageRender, PlaybackTarget, RenderTask
from nwx.settings import VARIABLES

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Best first: the shell lacks everything that only windows need."""
_NEEDED = ("playwright", "psutil")
_PROBE_SECONDS = 30
_INSTALL = "pip install 'nwx[browser]'"

NO_SANDBOX = (
    "the browser runs without its sandbox, which is not available here (as root, or without"
    " user namespaces)"
)


def browser_path(asked: str = "") -> str:
    """Return the path of a Chromium: `asked`, or the one on the PATH for "".

    Raises UsageError if it is missing, or if libraries are missing.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"pages are rendered with {' and '.join(missing)}: {_INSTALL}")
    if asked:
        named = shutil.which(asked)
        if not named:
            raise UsageError(f"there is no browser at {asked}; name an executable Chromium")
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise UsageError(
            f"there is no browser: none of {', '.join(NAMES)} is on the PATH;"
            " install one (apt install chromium-headless-shell),"
            f" or set {VARIABLES['browser']} to its path"
        )
    return found


def has_sandbox(browser: str) -> bool:
    """Return whether a browser runs with its sandbox on this machine; never as root."""
    if os.geteuid() == 0:
        return False
    with temporary_folder() as folder:
        command = [browser, "--headless", "--disable-gpu", f"--user-data-dir={folder}"]
        try:
            done = subprocess.run(
                [*command, "--dump-dom", "about:blank"],
                env=os.environ | {"HOME": str(Path(folder))},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0


_START_SECONDS = 90.0
_MARGIN_SECONDS = 30.0
_MOST_FAILURES = 3
_END_SECONDS = 5.0
_LONGEST_PLACE = 16


def _short_place() -> Path | None:
    """Return a short path for the files of browsers, as socket paths are limited, or None."""
    usual, short = Path(gettempdir()), Path("/tmp")
    is_deep = len(str(usual)) > _LONGEST_PLACE
    return short if is_deep and os.access(short, os.W_OK) else None


class _BrowserWorker:
    """A browser process and its current task."""

    def __init__(self, order: BrowserOrder) -> None:
        self._order = order
        self.is_fresh = True
        self.task: RenderTask | None = None
        self.began = 0.0
        self.process = ChildProcess(keep_browser)
        self.channel = self.process.connection
        Path(order.folder).mkdir()
        self.channel.send(order)

    def give(self, task: RenderTask) -> None:
        self.task, self.began = task, time.monotonic()
        with suppress(OSError):  # a process that has ended is noticed by the end of its channel
            self.channel.send(task)

    @property
    def until(self) -> float:
        """The time by which the answer is due."""
        seconds = self._order.options.page_seconds + _MARGIN_SECONDS
        return self.began + seconds + (_START_SECONDS if self.is_fresh else 0)

    def answer(self) -> PageRender | str:
        """Return the render or the reason it is missing, "" if the process has died."""
        self.task = None
        try:
            answer: PageRender | str = self.channel.recv()
        except (EOFError, OSError):
            return ""
        self.is_fresh = False
        return answer

    def close(self) -> None:
        """End the process and all processes that it started."""
        self.process.end(_END_SECONDS, before_kill=kill_below)
        kill_users_of(self._order.folder)
        shutil.rmtree(self._order.folder, ignore_errors=True)


class BrowserPool:
    """Browsers that render pages, from entry to exit.

    Raises UsageError if there is no browser. `sandbox` is whether the browsers run in a sandbox.
    """

    def __init__(self, options: BrowserOptions, target: PlaybackTarget) -> None:
        self._path = browser_path(options.browser)
        self._options, self._target = options, target
        self._ending = ExitStack()
        self._workers: list[_BrowserWorker] = []
        self._folder = ""
        self._number = 0
        self._failures = 0
        self._again: list[RenderTask] = []
        self._given_again: set[RenderTask] = set()
        self.sandbox = False

    def __enter__(self) -> Self:
        self._folder = str(self._ending.enter_context(temporary_folder(_short_place())))
        self.sandbox = has_sandbox(self._path)
        self._ending.callback(self._end_workers)
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that run the browsers."""
        return tuple(worker.process.pid for worker in self._workers)

    def render(self, tasks: Iterable[RenderTask]) -> Iterator[PageRender]:
        """Yield the pages as they finish; tasks are read as browsers become free.

        A page that fails has a `problem`; a page that crashes a new browser is retried once in
        another one. Raises SourceError if the browser does not start.
        """
        waiting = iter(tasks)
        self._again.clear()
        self._given_again.clear()
        try:
            while True:
                self._give(waiting)
                busy = [worker for worker in self._workers if worker.task is not None]
                if not busy:
                    return
                yield from self._answers(busy)
        finally:
            for worker in [each for each in self._workers if each.task is not None]:
                self._drop(worker)

    def _give(self, waiting: Iterator[RenderTask]) -> None:
        """Give each idle browser a task, while there are any."""
        idle = [worker for worker in self._workers if worker.task is None]
        for _ in range(self._options.jobs - (len(self._workers) - len(idle))):
            task = self._again.pop() if self._again else next(waiting, None)
            if task is None:
                return
            worker = idle.pop() if idle else self._add()
            worker.give(task)

    def _add(self) -> _BrowserWorker:
        self._number += 1
        folder = str(Path(self._folder) / str(self._number))
        order = BrowserOrder(
            self._options, self._target, self._path, self.sandbox, folder, self._folder, os.getpid()
        )
        worker = _BrowserWorker(order)
        self._workers.append(worker)
        return worker

    def _answers(self, busy: list[_BrowserWorker]) -> Iterator[PageRender]:
        seconds = max(0.0, min(worker.until for worker in busy) - time.monotonic())
        ready = wait([worker.channel for worker in busy], seconds)
        for worker in busy:
            task = worker.task
            if task is None:
                continue
            if worker.channel in ready or worker.channel.poll():
                render = self._answer(worker, task)
                if render is not None:
                    yield render
            elif time.monotonic() >= worker.until:
                self._drop(worker)
                yield PageRender(task, problem="timeout", from_playback=self._target.is_playback)

    def _answer(self, worker: _BrowserWorker, task: RenderTask) -> PageRender | None:
        """Return a render, None if the page is retried in another browser."""
        was_fresh = worker.is_fresh
        answer = worker.answer()
        if isinstance(answer, PageRender):
            self._failures = 0
            self._given_again.discard(task)
            return replace(answer, task=task)
        self._drop(worker)
        self._failures += 1
        if self._failures >= _MOST_FAILURES:
            why = answer or "its process ended"
            raise SourceError(f"the browser {self._path} cannot be used: {why}")
        if was_fresh and task not in self._given_again:
            self._given_again.add(task)
            self._again.append(task)
            return None
        self._given_again.discard(task)
        return PageRender(task, problem="crash", from_playback=self._target.is_playback)

    def _drop(self, worker: _BrowserWorker) -> None:
        self._workers.remove(worker)
        worker.close()

    def _end_workers(self) -> None:
        for worker in tuple(self._workers):
            self._drop(worker)

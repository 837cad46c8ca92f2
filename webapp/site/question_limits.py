"""Limits on questions of pages and programs: how many run at once, and their deadlines.

Searches and facet questions have separate places, in total fewer than there
are threads: /health is always answered.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from typing import Any, TypeVar

from flask import Flask, current_app, request

from nwx.bulk.progress import batches
from nwx.engine.document_index import Work, timed_out, working
from nwx.errors import EngineBusyError, ErrorText, QuestionTimeoutError
from nwx.settings import DEFAULT_SEARCH_SECONDS

_T = TypeVar("_T")

_WAIT_SECONDS = 1.0
"""How long a question waits for a place, unless one timed out since a place was last freed."""

_LOOK_SECONDS = 0.2
_MOST_JOINED = 512


class QuestionPool:
    """Answers up to `at_once` questions at a time, each within `seconds`."""

    def __init__(self, at_once: int, seconds: float) -> None:
        self._seconds = seconds
        self._places = threading.BoundedSemaphore(at_once)
        self._overloaded = False
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="question")

    def answer(
        self, question: Callable[[], _T], is_wanted: Callable[[], bool] = lambda: True
    ) -> _T:
        """Return the result of `question`, or raise its error; it runs in another thread.

        `is_wanted` returns whether the answer is still needed. Raises EngineBusyError if too many
        questions are running, and QuestionTimeoutError if this one takes too long.
        """
        self._take_place()
        work = Work(self._seconds)
        future = self._threads.submit(self._answer, question, work)
        future.add_done_callback(self._free_place)
        return self._wait(future, work, is_wanted)

    def _take_place(self) -> None:
        # After one timeout, others do not wait: they would occupy all threads of the server.
        if self._places.acquire(timeout=0 if self._overloaded else _WAIT_SECONDS):
            return
        self._overloaded = True
        raise EngineBusyError("too many queries are running; try again in a few seconds")

    def _free_place(self, _: "Future[_T]") -> None:
        self._overloaded = False
        self._places.release()

    def _answer(self, question: Callable[[], _T], work: Work) -> _T:
        with working(work):
            work.check()
            return question()

    def _wait(self, future: "Future[_T]", work: Work, is_wanted: Callable[[], bool]) -> _T:
        over = False
        while True:
            try:
                return future.result(_LOOK_SECONDS)
            except NotYet:
                if future.done():  # by its own TimeoutError, or just after the wait
                    return future.result()
            if not is_wanted():
                work.cancel()
                raise QuestionTimeoutError("the client no longer waits for the answer")
            if over:
                raise timed_out(self._seconds)
            # One more round: a question that checks its deadline raises a better error.
            over = work.remaining_seconds() == 0

    def close(self) -> None:
        """Refuse new questions; do not wait for running ones."""
        self._threads.shutdown(wait=False, cancel_futures=True)


_Answer = TypeVar("_Answer")

_EXTENSION = "nwx-questions"

FACETS_SECONDS = 60.0
"""Long enough for the first facet question to read all captures, once for all questions."""


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """The most concurrent searches, facet questions and exports, and the seconds of a search."""

    searches: int = 4
    facets: int = 2
    exports: int = 4
    search_seconds: float = DEFAULT_SEARCH_SECONDS


USUAL_LIMITS = QuestionLimits()


def limits_for(threads: int, search_seconds: float) -> QuestionLimits:
    """Return the limits of a server with a number of threads."""
    half, quarter = max(1, threads // 2), max(1, threads // 4)
    return QuestionLimits(half, quarter, half, search_seconds)


class _Questions:
    def __init__(self, limits: QuestionLimits) -> None:
        self.searches = QuestionPool(limits.searches, limits.search_seconds)
        self.facets = QuestionPool(limits.facets, max(FACETS_SECONDS, limits.search_seconds))
        self.exports = threading.BoundedSemaphore(limits.exports)


def prepare_limits(app: Flask, limits: QuestionLimits) -> None:
    """Set the limits of an application."""
    app.extensions[_EXTENSION] = _Questions(limits)


def answer_search(search: Callable[[], _Answer]) -> _Answer:
    """Return the result of a search, which runs in another thread.

    Raises EngineBusyError if too many are running, and QuestionTimeoutError
    if it takes too long or the client has disconnected.
    """
    return _questions().searches.answer(search, client_waits(request.environ))


def answer_facets(question: Callable[[], _Answer]) -> _Answer:
    """Return the answer to a facet question; raises as `answer_search` does."""
    return _questions().facets.answer(question, client_waits(request.environ))


class Export:
    """A running export; ending it, which may be done twice, releases its place.

    Raises EngineBusyError if too many are running.
    """

    def __init__(self) -> None:
        self._places = _questions().exports
        if not self._places.acquire(blocking=False):
            raise EngineBusyError(ErrorText("too many exports are in progress; try again soon"))
        self._ended = False

    def pieces(self, found: Iterable[str]) -> Iterator[str]:
        """Yield the pieces of the export in longer ones, and end it after the last.

        The server hands each piece to another thread, which takes longer than making a line.
        """
        try:
            yield from map("".join, batches(found, 1, _MOST_JOINED))
        finally:
            self.end()

    def end(self) -> None:
        """Release the place of the export."""
        if not self._ended:
            self._ended = True
            self._places.release()


def _questions() -> _Questions:
    found: _Questions = current_app.extensions[_EXTENSION]
    return found


def client_waits(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """Return a function that returns whether the client of a request is still connected."""
    has_left = environ.get("nwx.client_has_left")
    return (lambda: not has_left()) if has_left else (lambda: True)

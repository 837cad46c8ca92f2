"""Questions of pages and programs: so many are answered at once, each within a deadline.

Searches and facet questions have places of their own, and together fewer
than there are threads: whatever is asked, /health still answers.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from typing import Any, TypeVar

from flask import Flask, current_app, request

from nwx.engine.document_index import Work, timed_out, working
from nwx.errors import EngineBusyError, ErrorText, QuestionTimeoutError
from nwx.settings import DEFAULT_SEARCH_SECONDS

_T = TypeVar("_T")

_WAIT_SECONDS = 1.0
"""So long a question waits for a place, unless another has waited in vain since one was free."""

_LOOK_SECONDS = 0.2


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
        # Once one has waited in vain the others do not: they would fill all threads of a server.
        if self._places.acquire(timeout=0 if self._overloaded else _WAIT_SECONDS):
            return
        self._overloaded = True
        raise EngineBusyError("too many questions are being answered; try again in a few seconds")

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
                if future.done():
                    raise  # the question's own
            if not is_wanted():
                work.cancel()
                raise QuestionTimeoutError("nobody waits for the answer any more")
            if over:
                raise timed_out(self._seconds)
            # Once more round: a question that looks at its deadline says itself why it stopped.
            over = work.remaining_seconds() == 0

    def close(self) -> None:
        """Refuse new questions; running ones finish by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)


_Answer = TypeVar("_Answer")

_EXTENSION = "nwx-questions"

FACETS_SECONDS = 60.0
"""A facet question may have to read all captures first, once for all questions."""


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """How many searches, facet questions and exports at once, and the seconds of a search."""

    searches: int = 4
    facets: int = 2
    exports: int = 4
    search_seconds: float = DEFAULT_SEARCH_SECONDS


USUAL_LIMITS = QuestionLimits()


def limits_for(threads: int, search_seconds: float) -> QuestionLimits:
    """Return the limits of a server with so many threads."""
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
    """Return what a search finds; another thread calls it.

    Raises EngineBusyError where too many are being answered, and
    QuestionTimeoutError where it takes too long or the client has left.
    """
    return _questions().searches.answer(search, client_waits(request.environ))


def answer_facets(question: Callable[[], _Answer]) -> _Answer:
    """Return the answer to a facet question; raises as `answer_search` does."""
    return _questions().facets.answer(question, client_waits(request.environ))


class Export:
    """An export that is under way; ending it, which may be done twice, makes room for another.

    Raises EngineBusyError where too many are under way.
    """

    def __init__(self) -> None:
        self._places = _questions().exports
        if not self._places.acquire(blocking=False):
            raise EngineBusyError(ErrorText("too many exports are under way; try again soon"))
        self._ended = False

    def pieces(self, found: Iterable[str]) -> Iterator[str]:
        """Stream the pieces of the export, and end it after the last."""
        try:
            yield from found
        finally:
            self.end()

    def end(self) -> None:
        """Make room for another export."""
        if not self._ended:
            self._ended = True
            self._places.release()


def _questions() -> _Questions:
    found: _Questions = current_app.extensions[_EXTENSION]
    return found


def client_waits(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """Return what tells whether the client of a request is still there, as the server knows."""
    has_left = environ.get("nwx.client_has_left")
    return (lambda: not has_left()) if has_left else (lambda: True)

"""Threads that answer few questions at once, each within a deadline."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import TypeVar

from nwx.engine.work import Work, timed_out, working
from nwx.errors import EngineBusyError, QuestionTimeoutError

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

"""The work of one question: its deadline, its counts, and the threads that answer few at once."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from nwx.errors import EngineBusyError, ErrorText, QueryError, QuestionTimeoutError

MAX_TERMS = 500_000
"""The words of an index that one question may look at one by one."""


class Work:
    """How much one question has done, and how long it may go on."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.terms = 0
        self.texts = 0
        self._end = None if seconds is None else time.monotonic() + seconds
        self._cancelled = False

    def cancel(self) -> None:
        """Let the question stop at its next check: nobody waits for the answer."""
        self._cancelled = True

    def remaining_seconds(self) -> float | None:
        """Return the seconds until the deadline, 0 once it is over; None without one."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise QuestionTimeoutError where the question is to stop."""
        if self._cancelled:
            raise QuestionTimeoutError(ErrorText("the question was cancelled"))
        if self._end is not None and time.monotonic() > self._end:
            raise timed_out(self.seconds or 0.0)

    @property
    def is_over(self) -> bool:
        """Tell whether the question is to stop."""
        return self._cancelled or (self._end is not None and time.monotonic() > self._end)

    def terms_left(self) -> int:
        """Return how many more terms may be looked at."""
        return MAX_TERMS - self.terms

    def visit_terms(self, number: int) -> None:
        """Count terms that are looked at one by one; raises QueryError where they are too many."""
        self.check()
        if number > self.terms_left():
            raise QueryError(
                ErrorText(
                    "a pattern like this is compared with the words of the archive one by one, "
                    "and more than %(most)s would have to be; begin it with letters, or "
                    "use fewer ?",
                    most=MAX_TERMS,
                )
            )
        self.terms += number

    def read_text(self) -> None:
        """Count a document whose text is read."""
        self.check()
        self.texts += 1


def timed_out(seconds: float) -> QuestionTimeoutError:
    """Return the error of a question that reached its deadline."""
    return QuestionTimeoutError(
        ErrorText(
            "the answer takes longer than the %(seconds)s s that a question may take; "
            "ask for less: fewer words and patterns, a span of dates, or a named field",
            seconds=seconds,
        )
    )


_current: ContextVar[Work | None] = ContextVar("work", default=None)


def current_work() -> Work:
    """Return the work of the question that is being answered, without a deadline where none is."""
    return _current.get() or Work()


@contextmanager
def working(work: Work) -> Iterator[Work]:
    """Make this the work of every question asked within the context, by this thread."""
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)


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
        """Return what `question` returns, or raise what it raises; another thread calls it.

        `is_wanted` tells whether somebody still waits for the answer.
        Raises EngineBusyError where too many questions are being answered,
        and QuestionTimeoutError where this one takes too long.
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
        """Take no more questions; those that are being answered end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

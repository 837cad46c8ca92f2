"""The work of one question: its deadline and its counts."""

import time
from contextlib import AbstractContextManager
from contextvars import ContextVar

from nwx.errors import QueryError, QuestionTimeoutError

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
            raise QuestionTimeoutError.translated("the question was cancelled")
        if self._end is not None and time.monotonic() > self._end:
            raise timed_out(self.seconds or 0.0)

    @property
    def is_over(self) -> bool:
        """Return whether the question must stop."""
        return self._cancelled or (self._end is not None and time.monotonic() > self._end)

    def terms_left(self) -> int:
        """Return how many more terms may be looked at."""
        return MAX_TERMS - self.terms

    def visit_terms(self, number: int) -> None:
        """Count terms that are looked at one by one; raises QueryError where they are too many."""
        self.check()
        if number > self.terms_left():
            raise QueryError.translated(
                "a pattern like this is compared with the words of the archive one by one, "
                "and more than %(most)s would have to be; begin it with letters, or "
                "use fewer ?",
                most=MAX_TERMS,
            )
        self.terms += number

    def read_text(self) -> None:
        """Count a document whose text is read."""
        self.check()
        self.texts += 1


def timed_out(seconds: float) -> QuestionTimeoutError:
    """Return the error of a question that reached its deadline."""
    return QuestionTimeoutError.translated(
        "the answer takes longer than the %(seconds)s s that a question may take; "
        "ask for less: fewer words and patterns, a span of dates, or a named field",
        seconds=seconds,
    )


_current: ContextVar[Work | None] = ContextVar("work", default=None)


def current_work() -> Work:
    """Return the work of the question that is being answered, without a deadline where none is."""
    return _current.get() or Work()


class _Working:
    """A context: one of `contextmanager` takes longer, and each look-up has several."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __enter__(self) -> Work:
        self._token = _current.set(self._work)
        return self._work

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def working(work: Work) -> AbstractContextManager[Work]:
    """Make this the work of every question asked within the context, by this thread."""
    return _Working(work)

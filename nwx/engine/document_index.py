"""Documents of an archive and their dates: look-up, search, and limits on one question's work."""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from nwx.errors import QueryError, QuestionTimeoutError, UsageError, WindowError
from nwx.model import MAIN_DATES, Collapse, Dates, Document, Hit, NamedDates, SearchResult

if TYPE_CHECKING:
    from nwx.engine.indices.vector_index import NearPassages, VectorIndex
    from nwx.query.question import Question
    from nwx.values.timestamps import Period, TrendPoint


_One = TypeVar("_One")
_Other = TypeVar("_Other")

MAX_TERMS = 500_000
"""The number of an index's words that one question may check one by one."""


class Work:
    """The work done for one question, and its deadline."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.terms = 0
        self.texts = 0
        self._end = None if seconds is None else time.monotonic() + seconds
        self._cancelled = False

    def cancel(self) -> None:
        """Stop the question at its next check, as the answer is no longer needed."""
        self._cancelled = True

    def remaining_seconds(self) -> float | None:
        """Return the seconds until the deadline, 0 after it; None without one."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise QuestionTimeoutError if the query was cancelled or its deadline has passed."""
        if self._cancelled:
            raise QuestionTimeoutError.translated("the query was cancelled")
        if self._end is not None and time.monotonic() > self._end:
            raise timed_out(self.seconds or 0.0)

    @property
    def is_over(self) -> bool:
        """Return whether the question must stop."""
        return self._cancelled or (self._end is not None and time.monotonic() > self._end)

    def terms_left(self) -> int:
        """Return the number of terms that may still be checked."""
        return MAX_TERMS - self.terms

    def visit_terms(self, number: int) -> None:
        """Count terms to be checked one by one. Raises QueryError if they are too many."""
        self.check()
        if number > self.terms_left():
            raise QueryError.translated(
                "this pattern would be compared with more than %(most)s words of the archive, "
                "one by one; begin it with letters, or "
                "use fewer ?",
                most=MAX_TERMS,
            )
        self.terms += number

    def read_text(self) -> None:
        """Count a document whose text is read."""
        self.check()
        self.texts += 1


def timed_out(seconds: float) -> QuestionTimeoutError:
    """Return the error for a question that reached its deadline."""
    return QuestionTimeoutError.translated(
        "the query took longer than %(seconds)s s, the limit; use fewer words and "
        "patterns, a range of dates, or a field",
        seconds=seconds,
    )


_current: ContextVar[Work | None] = ContextVar("work", default=None)


def current_work() -> Work:
    """Return the work of the current question, or new work without a deadline."""
    return _current.get() or Work()


def together(
    first: Callable[[], _One], second: Callable[[], _Other], *, in_parallel: bool = True
) -> tuple[_One, _Other]:
    """Return the results of both functions; the second runs in a separate thread."""
    if not in_parallel:
        return first(), second()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        # In the context of this thread, so that the deadline applies to both.
        later = pool.submit(copy_context().run, second)
        return first(), later.result()


class _Working:
    """A context manager, faster than one by `contextmanager`: each look-up enters several."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __enter__(self) -> Work:
        self._token = _current.set(self._work)
        return self._work

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def working(work: Work) -> AbstractContextManager[Work]:
    """Make `work` the current work of this thread within the context."""
    return _Working(work)


RESULT_WINDOW = 10_000
"""The number of hits that pages can reach; `scroll` yields all."""


class DocumentIndex(ABC):
    """Look-up of documents by id, and search."""

    @abstractmethod
    def known(self, ids: Collection[str]) -> dict[str, int]:
        """Return the precedence of each stored document among `ids`."""

    @abstractmethod
    def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the stored documents among `ids`, by id."""

    def texts(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the stored documents among `ids`, by id; those of a viewer lack their links."""
        return self.documents(ids)

    @abstractmethod
    def search(self, question: "Question") -> SearchResult:
        """Answer a question.

        A facet counts the documents of the result and, if a filter is on its field, also those that
        only this filter excludes. Raises WindowError beyond RESULT_WINDOW, and the errors of
        `nwx.query.question.resolve`; QueryError also if the engine cannot compile the query.
        """

    @abstractmethod
    def search_near(self, question: "Question", near: "NearPassages") -> SearchResult:
        """Answer a question with the documents of near passages, or with these and word matches.

        Filters, dates and access rules apply, words need not match. Of the versions folded into one
        hit the nearest is shown. The answer lacks `took_ms`.
        """

    def search_state(self) -> str:
        """Return a text that stays the same as long as every question has the same result.

        "" if unknown: then results must not be cached.
        """
        return ""

    @abstractmethod
    def scroll(self, question: "Question") -> Iterator[Hit]:
        """Yield every hit of a question, unordered, without snippets.

        Uses only the query, filters and dates of the question.
        """

    def document_languages(self) -> Iterator[tuple[int, str]]:
        """Yield the first 63 bits of the id and the language of each document that has one."""
        from nwx.query.question import Question

        for hit in self.scroll(Question(collapse=Collapse.NONE, snippets=False)):
            if hit.content_language:
                yield int(hit.id[:16], 16) >> 1, hit.content_language

    def totals(self, questions: "Sequence[Question]") -> list[int]:
        """Return the number of documents each question finds, versions counted separately.

        Uses only the query, filters and dates of the questions.
        """
        found = []
        for question in questions:
            current_work().check()
            found.append(self.search(counting(question)).total.value)
        return found

    @abstractmethod
    def trends(self, questions: "Sequence[Question]", period: "Period") -> "list[list[TrendPoint]]":
        """Return capture counts of each question's documents by period, without empty periods.

        Counts are exact. A capture is a timestamp of a document in a collection. Captures outside
        the question's dates, years and collections do not count. Uses only the query, filters and
        dates of the questions.
        """

    @abstractmethod
    def vector_index(self) -> "VectorIndex":
        """Return the index of passages of documents by meaning, as vectors."""

    @abstractmethod
    def similar_words(self, word: str, most: int) -> list[str]:
        """Return words of documents that are spelled similarly to a word, the likeliest first.

        They share its beginning and are one edit away, or two for six characters and more
        (`nwx.query.words`); at equal distance the more frequent word is first. Words of documents
        hidden from some viewers are included: whether a word finds anything is a separate question.
        """


def check_window(question: "Question") -> None:
    """Raise WindowError if a page reaches beyond RESULT_WINDOW."""
    wanted = question.offset + question.limit
    if wanted > RESULT_WINDOW:
        raise WindowError.translated(
            "pages reach %(most)s hits, %(wanted)s were requested; narrow "
            "the query, or stream all hits (scroll)",
            most=RESULT_WINDOW,
            wanted=wanted,
        )


def counting(question: "Question") -> "Question":
    """Return a question that only counts the documents that `question` finds."""
    return replace(question, collapse=Collapse.NONE, facets=(), snippets=False, limit=0, offset=0)


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def is_name(text: str) -> bool:
    """Return whether a text is a valid name for a dates index other than the main one."""
    return text != MAIN_DATES and bool(_NAME.fullmatch(text))


def check_name(name: str) -> None:
    """Raise UsageError if a text is not a valid name for a dates index other than the main one."""
    if not is_name(name):
        raise UsageError(
            f"{name[:80]!r} cannot name a dates index; use up to 63 lower-case letters, digits, "
            f"- and _, but not {MAIN_DATES!r}, which is the archive's own"
        )


class DatesBuilder(ABC):
    """Builds a dates index."""

    @abstractmethod
    def append(self, dates: Sequence[Dates]) -> int:
        """Add dates; return how many (timestamp, collection) pairs were new."""


class DatesIndex(ABC):
    """All timestamps of documents, in one or more indices.

    Questions about dates are answered from the main index and all attached ones; a date in several
    of them counts once.
    """

    @abstractmethod
    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the stored dates of these document ids, from all indices."""

    @abstractmethod
    def append_dates(self, dates: Sequence[Dates], into: str = MAIN_DATES) -> int:
        """Add to the stored dates; return the number of new (timestamp, collection) pairs.

        `into` names the index, which is created and attached if missing. Concurrent writers lose
        nothing.
        """

    @abstractmethod
    def dates_indices(self) -> list[NamedDates]:
        """Return the dates indices: the main one, then the others by name, attached or not."""

    @abstractmethod
    def attach_dates(self, name: str, address: str = "") -> None:
        """Attach a dates index; address "" is the archive's own index of that name.

        Raises EngineError if it is missing, or the name is in use for another index.
        """

    @abstractmethod
    def detach_dates(self, name: str) -> None:
        """Detach a dates index, keeping its content.

        Raises EngineError if no index of that name is attached.
        """

    @abstractmethod
    def drop_dates(self, name: str) -> None:
        """Detach and delete a dates index that the archive created.

        Raises EngineError if it is missing, or lies outside of the archive.
        """

    @abstractmethod
    def scan_dates(self, place: str) -> Iterator[Dates]:
        """Yield the dates of one index, by name or address, in the order of their ids."""

    @abstractmethod
    def build_dates(self, place: str) -> AbstractContextManager[DatesBuilder]:
        """Yield a builder of a dates index, by name or address; a new name is in the archive.

        The new index replaces an existing one as a whole when the context ends; on failure nothing
        has changed.
        """

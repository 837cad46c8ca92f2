"""The documents of an archive and their dates: what they are, and which a question finds."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from nwx.engine.work import current_work
from nwx.errors import ErrorText, UsageError, WindowError
from nwx.model import MAIN_DATES, Collapse, Dates, Document, Hit, NamedDates, SearchResult

if TYPE_CHECKING:
    from nwx.query.dates import Period, TrendPoint
    from nwx.query.question import Question


RESULT_WINDOW = 10_000
"""The number of hits that pages can reach; `scroll` streams all."""


class DocumentIndex(ABC):
    """Documents by their ids, and searches among them."""

    @abstractmethod
    def known(self, ids: Collection[str]) -> dict[str, int]:
        """Return the precedence of those of the documents that the engine holds."""

    @abstractmethod
    def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the documents of these ids that the engine holds."""

    @abstractmethod
    def search(self, question: "Question") -> SearchResult:
        """Answer a question.

        A facet counts the documents of the result, and where a filter is
        about it those too that only this filter leaves out. Raises
        WindowError beyond RESULT_WINDOW, and what `nwx.query.question.resolve`
        raises; QueryError also for what the engine cannot compile.
        """

    def search_state(self) -> str:
        """Return a text that stays the same as long as each question finds the same.

        "" where that is not known: then nothing that was found may be kept.
        """
        return ""

    @abstractmethod
    def scroll(self, question: "Question") -> Iterator[Hit]:
        """Stream every hit of a question, in no order, without snippets.

        Looks at query, filters and dates of the question only.
        """

    def totals(self, questions: "Sequence[Question]") -> list[int]:
        """Return how many documents each of several questions finds, versions counted apart.

        Looks at query, filters and dates of the questions only.
        """
        found = []
        for question in questions:
            current_work().check()
            found.append(self.search(counting(question)).total.value)
        return found

    @abstractmethod
    def trends(self, questions: "Sequence[Question]", period: "Period") -> "list[list[TrendPoint]]":
        """Return when the documents of each question were captured, by period, empty ones left out.

        Counts are exact. A capture is a timestamp of a document in a
        collection. Those outside the question's dates, years and collections
        do not count. Looks at query, filters and dates of the questions only.
        """

    @abstractmethod
    def similar_words(self, word: str, most: int) -> list[str]:
        """Return words of documents that are spelled like a word, the likeliest first.

        They begin as it does and are one edit away, from six characters on
        two (`nwx.query.words`); of those as far away the more
        frequent comes first. Words of documents that somebody may not see
        are among them: whether one finds anything is another question.
        """


def check_window(question: "Question") -> None:
    """Raise WindowError where a page reaches beyond RESULT_WINDOW."""
    wanted = question.offset + question.limit
    if wanted > RESULT_WINDOW:
        raise WindowError(
            ErrorText(
                "pages reach %(most)s hits, %(wanted)s were asked for; ask a "
                "narrower question, or stream all hits (scroll)",
                most=RESULT_WINDOW,
                wanted=wanted,
            )
        )


def counting(question: "Question") -> "Question":
    """Return what asks how many documents a question finds, and for nothing else."""
    return replace(question, collapse=Collapse.NONE, facets=(), snippets=False, limit=0, offset=0)


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def is_name(text: str) -> bool:
    """Tell whether a text can name a dates index beside the main one."""
    return text != MAIN_DATES and bool(_NAME.fullmatch(text))


def check_name(name: str) -> None:
    """Raise UsageError where a text cannot name a dates index beside the main one."""
    if not is_name(name):
        raise UsageError(
            f"{name[:80]!r} cannot name a dates index; use up to 63 lower-case letters, digits, "
            f"- and _, but not {MAIN_DATES!r}, which is the archive's own"
        )


class DatesBuilder(ABC):
    """A dates index while it is made."""

    @abstractmethod
    def append(self, dates: Sequence[Dates]) -> int:
        """Add dates; return how many (timestamp, collection) pairs were new."""


class DatesIndex(ABC):
    """All timestamps of documents, in one index or in several.

    What is asked about dates is asked of the main index and of all that are
    attached; a date that is in two of them counts once.
    """

    @abstractmethod
    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the dates of these document ids that the engine holds, in all indices."""

    @abstractmethod
    def append_dates(self, dates: Sequence[Dates], into: str = MAIN_DATES) -> int:
        """Add to the dates known; return how many (timestamp, collection) pairs were new.

        `into` names the index, which is made and attached where there is
        none of that name. Two writers at once lose nothing.
        """

    @abstractmethod
    def dates_indices(self) -> list[NamedDates]:
        """Return the dates indices: the main one, then the others by name, attached or not."""

    @abstractmethod
    def attach_dates(self, name: str, address: str = "") -> None:
        """Join a dates index from now on; "" is the one that the archive has of that name.

        Raises EngineError where there is none, or the name is another's.
        """

    @abstractmethod
    def detach_dates(self, name: str) -> None:
        """Leave a dates index out from now on, and keep what it holds.

        Raises EngineError where none of that name is attached.
        """

    @abstractmethod
    def drop_dates(self, name: str) -> None:
        """Detach and delete a dates index that the archive made.

        Raises EngineError where there is none, or it is another's.
        """

    @abstractmethod
    def scan_dates(self, place: str) -> Iterator[Dates]:
        """Stream the dates of one index, by name or address, in the order of their ids."""

    @abstractmethod
    def build_dates(self, place: str) -> AbstractContextManager[DatesBuilder]:
        """Give what builds a dates index anew, by name or address; a new name is the archive's.

        It takes the place of one that is there, whole, when the context
        ends; when that fails, nothing has changed.
        """

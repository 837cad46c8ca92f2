"""The documents of an archive: what they are, and which a question finds."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nwx.engine.work import current_work
from nwx.errors import ErrorText, WindowError
from nwx.model import Collapse, Document, Hit, SearchResult

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

"""The interface that both engines keep."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from nwx.model import (
    Batch,
    Capture,
    Collapse,
    Dates,
    Document,
    Hit,
    IndexName,
    IndexStats,
    SearchResult,
    Sort,
    SourceFile,
    Written,
)
from nwx.query.tree import Node

RESULT_WINDOW = 10_000
"""The number of hits that pages can reach; `scroll` streams all."""

FACET_FIELDS = (
    "collection",
    "domain",
    "host",
    "content_type_norm",
    "content_type",
    "status_code",
    "content_language",
    "public_suffix",
    "year",
)
"""What can be counted and filtered; collection and year look at all dates of a document."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question to an engine.

    `filters` maps a facet field to accepted values (any of them).
    `date_from` and `date_to` are timestamps of 14 digits, both inclusive;
    a document is in when one of its dates is, in a collection of
    `filters["collection"]` where that is given too.
    """

    query: Node
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    date_from: str = ""
    date_to: str = ""
    sort: Sort = Sort.RELEVANCE
    collapse: Collapse = Collapse.URL
    facets: tuple[str, ...] = ()
    facet_size: int = 10
    offset: int = 0
    limit: int = 10
    snippets: bool = True


class Engine(ABC):
    """An open archive.

    Every method raises EngineUnavailableError when the engine is away or
    does not answer in time: an outage is never an empty result.
    """

    address: str

    @abstractmethod
    def create(self) -> None:
        """Make the indices that are missing, and finish what a killed writer left.

        Raises EngineVersionError on indices of another version, and
        EngineBusyError where another writer holds them.
        """

    @abstractmethod
    def write(self, batch: Batch) -> Written:
        """Store a batch; writing it again changes nothing.

        A document replaces the one of the same id when its capture takes
        precedence (`nwx.keys.precedence`). Dates are added to those known.
        The ledger entries are stored last. May be called before `refresh`
        makes the entries visible to searches.
        """

    @abstractmethod
    def known(self, ids: Collection[str]) -> dict[str, int]:
        """Return the precedence of those of the documents that the engine holds."""

    @abstractmethod
    def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the documents of these ids that the engine holds."""

    @abstractmethod
    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the dates of these document ids that the engine holds."""

    @abstractmethod
    def captures(self, urlkey: str, end: str | None = None) -> Iterator[Capture]:
        """Stream captures in the order of urlkey, timestamp, file and offset.

        Those of `urlkey`, or with `end` those from `urlkey` up to but
        without `end`, compared as UTF-8 bytes.
        """

    @abstractmethod
    def append_dates(self, dates: Sequence[Dates]) -> int:
        """Add to the dates known; return how many (timestamp, collection) pairs were new.

        Two writers at once lose nothing.
        """

    @abstractmethod
    def search(self, request: SearchRequest) -> SearchResult:
        """Answer a question.

        Raises WindowError beyond RESULT_WINDOW and QueryError for what the
        engine cannot compile.
        """

    @abstractmethod
    def scroll(self, request: SearchRequest) -> Iterator[Hit]:
        """Stream every hit of a question, in no order, without snippets.

        Looks at query, filters and dates of the request only.
        """

    @abstractmethod
    def count(self, index: IndexName) -> int:
        """Return the number of entries of an index."""

    @abstractmethod
    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        """Stream all entries of an index, as in its mapping, in the order of their ids."""

    @abstractmethod
    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        """Delete entries; return how many there were."""

    @abstractmethod
    def files(self) -> list[SourceFile]:
        """Return the import ledger, by collection and name."""

    @abstractmethod
    def stats(self) -> dict[IndexName, IndexStats]:
        """Return the size of each index."""

    @abstractmethod
    def refresh(self) -> None:
        """Make all that was written visible to searches, and safe on disk."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files, locks and connections; closing twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

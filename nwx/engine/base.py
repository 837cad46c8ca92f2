"""The interface that both engines keep."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

from nwx.cdx.rows import CdxRow
from nwx.engine.facet_store import FacetStore
from nwx.engine.spans import CdxSpan
from nwx.errors import UsageError
from nwx.model import (
    MAIN_DATES,
    Batch,
    Capture,
    Dates,
    Document,
    Hit,
    IndexName,
    IndexStats,
    NamedDates,
    SearchResult,
    SourceFile,
    Written,
)
from nwx.query.question import Question

RESULT_WINDOW = 10_000
"""The number of hits that pages can reach; `scroll` streams all."""

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


def check_deletable(index: IndexName) -> None:
    """Raise UsageError for the index facets, whose entries cannot be deleted one by one."""
    if index is IndexName.FACETS:
        raise UsageError(
            "entries of the index facets cannot be deleted; a build replaces all of them"
        )


class DatesBuilder(ABC):
    """A dates index while it is made."""

    @abstractmethod
    def append(self, dates: Sequence[Dates]) -> int:
        """Add dates; return how many (timestamp, collection) pairs were new."""


class Engine(ABC):
    """An open archive.

    Its dates lie in one index or in several: the main one, and others that
    are attached under a name. What is asked about dates is asked of all of
    them, and a date that is in two of them counts once.

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
        """Return the dates of these document ids that the engine holds, in all indices."""

    @abstractmethod
    def captures(self, urlkey: str, end: str | None = None) -> Iterator[Capture]:
        """Stream captures in the order of urlkey, timestamp, file and offset.

        Those of `urlkey`, or with `end` those from `urlkey` up to but
        without `end`, compared as UTF-8 bytes.
        """

    @abstractmethod
    def captures_by_digest(self, digest: str, urlkey: str = "") -> Iterator[Capture]:
        """Stream the captures that hold a payload of this digest (normal form), the newest first.

        With `urlkey` those of this one only. Revisits hold no payload.
        Captures of one moment come in the order of file and offset.
        """

    @abstractmethod
    def cdx_rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Stream the captures of a span as rows of a CDX, in its order.

        Within one urlkey and timestamp they are in the order of file and
        offset; digests are in their normal form.
        """

    @abstractmethod
    def cdx_marks(self, span: CdxSpan, every: int) -> Iterator[str]:
        """Stream the places (`urlkey timestamp`) of the first of every so many captures of a span.

        In the order of a CDX, whatever the order of the span.
        """

    @abstractmethod
    def collections(self) -> list[str]:
        """Return the names of the collections that have had captures, in order."""

    @abstractmethod
    def load_captures(self, batches: Iterable[Sequence[Capture]]) -> int:
        """Store captures without documents, visible when it returns; return how many were new.

        Those that are there already stay as they are. Nothing is stored
        when `batches` raises. The embedded engine stores all or none
        whatever happens; where Elasticsearch is lost on the way, doing it
        again stores the rest.
        """

    @abstractmethod
    def unload_captures(self, ids: Iterable[str]) -> int:
        """Delete captures by their ids, gone when it returns; return how many there were.

        Nothing is deleted when `ids` raises.
        """

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

    @abstractmethod
    def search(self, question: Question) -> SearchResult:
        """Answer a question.

        A facet counts the documents of the result, and where a filter is
        about it those too that only this filter leaves out. Raises
        WindowError beyond RESULT_WINDOW, and what `nwx.query.question.resolve`
        raises; QueryError also for what the engine cannot compile.
        """

    @abstractmethod
    def scroll(self, question: Question) -> Iterator[Hit]:
        """Stream every hit of a question, in no order, without snippets.

        Looks at query, filters and dates of the question only.
        """

    @abstractmethod
    def count(self, index: IndexName) -> int:
        """Return the number of entries of an index; of dates those of the main one."""

    @abstractmethod
    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        """Stream all entries of an index, as in its mapping, in the order of their ids.

        Dates are those of all indices that are attached.
        """

    @abstractmethod
    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        """Delete entries, of dates those of the main index; return how many there were.

        Raises UsageError for facets, which are replaced as a whole.
        """

    @abstractmethod
    def files(self) -> list[SourceFile]:
        """Return the import ledger, by collection and name."""

    @abstractmethod
    def facet_store(self) -> FacetStore:
        """Return the captures in bulk, and the store of the facets built from them."""

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

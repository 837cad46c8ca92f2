"""What a store of triples does, wherever it is."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from nwx.errors import NwxError

if TYPE_CHECKING:  # for whoever answers queries in a process of its own, these take long to load
    from pyoxigraph import NamedNode

    from nwx.steering.triples.capture_graphs import CaptureGraph


class TripleStoreError(NwxError):
    """A store of triples that cannot be reached, read or written."""


class TripleQueryError(NwxError):
    """A SPARQL query that is wrong, not allowed, or takes more than it may."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """How much a query may take; `rows` are solutions or triples."""

    seconds: float = 10.0
    rows: int = 10_000
    bytes: int = 16 << 20
    memory_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class SparqlQuery:
    """A query, and the graphs that it is about; by default all, in which no GRAPH is needed."""

    text: str
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The answer to a query: `kind` is `solutions` or `boolean` (SPARQL results in JSON), or
    `triples` (N-Triples)."""

    kind: str
    data: bytes


class TripleWriter(ABC):
    """A store that is open to write; others may read what it held before."""

    @abstractmethod
    def held(self, names: "Sequence[NamedNode]") -> "set[NamedNode]":
        """Return those of the graphs that are there in the present form."""

    @abstractmethod
    def put(self, graphs: "Sequence[CaptureGraph]") -> int:
        """Store graphs in the place of those of their names; return how many triples are new.

        Storing the same again changes nothing.
        """

    @abstractmethod
    def erase(self, names: "Sequence[NamedNode]") -> int:
        """Remove graphs, from the files of the store too; return how many there were."""

    @abstractmethod
    def close(self) -> None:
        """Make all that was written visible to readers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class TripleStore(ABC):
    """A store of triples. Raises TripleStoreError where it cannot be used."""

    @abstractmethod
    def writer(self, wait_seconds: float = 0.0) -> TripleWriter:
        """Open the store to write, alone; wait so long for another who does."""

    @abstractmethod
    def answer(
        self, query: SparqlQuery, limits: QueryLimits, *, is_ours: bool = False
    ) -> QueryAnswer:
        """Answer a query; raises TripleQueryError where that is not possible or not allowed.

        One that `is_ours` is known to ask no other servers.
        """

    @abstractmethod
    def export(self, output: IO[bytes]) -> None:
        """Write all triples with their graphs as N-Quads."""

    @abstractmethod
    def version(self) -> str:
        """Return what differs after each change that readers see, "" where nothing was stored."""

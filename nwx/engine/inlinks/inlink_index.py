"""Engine interface for inlinks: documents in bulk with their links, and stored builds."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from nwx.engine.facet_store import BlobStore

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from nwx.engine.inlinks.table import InlinkTable

ID_BYTES = 16


class LinkingDocument(NamedTuple):
    """A document with its links, as input for the inversion of links.

    `id` has ID_BYTES bytes. `links`, `texts` and `kinds` have equal length. `seen` are pairs of
    timestamp and collection, in order.
    """

    id: bytes
    url: str
    urlkey: str
    links: Sequence[str]
    texts: Sequence[str]
    kinds: Sequence[str]
    seen: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class DocumentStates:
    """Documents by id, each with a state number that changes with its links or dates.

    `ids` holds ID_BYTES bytes per document, concatenated; `states` is `uint64[documents]` in the
    same order. Different states mean that links or dates may have changed.
    """

    ids: bytes
    states: "npt.NDArray[np.uint64]"


class InlinkIndex(BlobStore):
    """The documents of an archive in bulk, and the blobs of the inlinks built from them.

    All methods raise EngineUnavailableError as in Engine.
    """

    @abstractmethod
    def stamp(self) -> str:
        """Return a text that differs whenever documents or dates were written or deleted."""

    def table(self) -> "InlinkTable | None":
        """Return the links of the current build, None where links were never inverted."""
        # Imported here: what counts links takes a while to load.
        from nwx.engine.inlinks.table import inlink_table

        return inlink_table(self)

    @abstractmethod
    def document_states(self) -> Iterator[DocumentStates]:
        """Stream all documents with their states, in the order in which they are best read."""

    @abstractmethod
    def linking_documents(self, ids: Sequence[bytes]) -> Iterator[LinkingDocument]:
        """Stream the existing documents of these ids, including documents without links."""

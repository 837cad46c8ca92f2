"""Engine interface for inlinks, and the metadata of their builds."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, NamedTuple

from nwx.data_classes import dataclass
from nwx.engine.facet_store import BlobStore
from nwx.errors import EngineVersionError, ErrorText
from nwx.model import IndexStats

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
    """Bulk reads of an archive's documents, and the blobs of the inlinks built from them.

    All methods raise EngineUnavailableError as in Engine.
    """

    @abstractmethod
    def stamp(self) -> str:
        """Return a text that changes whenever documents or dates are written or deleted."""

    def table(self) -> "InlinkTable | None":
        """Return the links of the current build, None if links were never inverted."""
        # Imported here: the modules that count links take a while to load.
        from nwx.engine.inlinks.table import inlink_table

        return inlink_table(self)

    @abstractmethod
    def document_states(self) -> Iterator[DocumentStates]:
        """Yield all documents with their states, in the order in which they are best read."""

    @abstractmethod
    def linking_documents(self, ids: Sequence[bytes]) -> Iterator[LinkingDocument]:
        """Yield the existing documents of these ids, including documents without links."""


INLINKS_FORMAT = 1
ADVICE = ErrorText("run `nwx invert-links --anew`")
"""The advice for a build that cannot be read."""


@dataclass(frozen=True, slots=True)
class RangeNotes:
    """A range of targets: its blob, its first urlkey, and its counts."""

    blob: str
    first: str
    targets: int
    links: int
    entries: int


@dataclass(frozen=True, slots=True)
class InlinkNotes:
    """Metadata of a build of inlinks.

    `stamp` identifies the state of its source documents. `cells` are pairs of year and collection
    by code; the first is of all links. `kinds` are the kinds of links by code. `anchors` is the
    blob used by searches (`anchor_table`), "" in builds without it.
    """

    format: int
    number: int
    stamp: str
    built: str
    cells: Sequence[Sequence[Any]]
    kinds: Sequence[str]
    documents: str
    linking: int
    refused: int
    ranges: Sequence[RangeNotes] = field(default_factory=list)
    anchors: str = ""

    @classmethod
    def from_json(cls, found: Mapping[str, Any], place: str) -> "InlinkNotes":
        """Return the notes of a build.

        Raises EngineVersionError on notes of another version.
        """
        if found.get("format") != INLINKS_FORMAT:
            raise EngineVersionError.translated(
                "the inlinks in %(place)s have format %(found)s, this nwx reads "
                "%(known)s; %(advice)s",
                place=place,
                found=found.get("format"),
                known=INLINKS_FORMAT,
                advice=ADVICE,
            )
        ranges = [RangeNotes(**one) for one in found["ranges"]]
        return cls(**{**found, "ranges": ranges})

    def as_json(self) -> dict[str, Any]:
        """Return the notes as JSON values."""
        return asdict(self)

    @property
    def blobs(self) -> list[str]:
        """The names of all blobs."""
        return [self.documents, *(one.blob for one in self.ranges), *filter(None, [self.anchors])]


def inlink_notes(store: BlobStore) -> InlinkNotes | None:
    """Return the notes of the current build of a store, None without a build."""
    stored = store.current()
    return None if stored is None else InlinkNotes.from_json(stored.notes, str(store.folder))


def count_inlinks(store: BlobStore) -> int:
    """Return the number of entries of the current build."""
    notes = inlink_notes(store)
    return 0 if notes is None else sum(one.entries for one in notes.ranges)


def inlink_stats(store: BlobStore) -> IndexStats:
    """Return the size of the current build, links included."""
    stored = store.current()
    return IndexStats(count_inlinks(store), sum(stored.blobs.values()) if stored else 0)

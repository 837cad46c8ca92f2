"""What an engine does for facets: captures in bulk, and a place for what is built from them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nwx.engine.entry_columns import EntryColumns
from nwx.errors import EngineVersionError, ErrorText
from nwx.model import Capture

if TYPE_CHECKING:
    from nwx.engine.selection import LiveSelection

CAPTURE_ROW_FIELDS = (
    "timestamp",
    "url",
    "digest",
    "status_code",
    "content_type_norm",
    "content_length",
    "domain",
    "public_suffix",
    "record_type",
    "hops",
    "urlkey",
    "collection",
    "source_file",
    "source_file_offset",
)
"""The fields of the index captures that a row of captures in bulk has, in this order."""

CapturePlace = tuple[str, int]
"""Where a capture is: `<collection>/<file name>` and the offset in bytes."""


@dataclass(frozen=True, slots=True)
class CaptureRows:
    """Captures in bulk, each a tuple of the values of CAPTURE_ROW_FIELDS.

    `after` is the mark from which reading goes on behind them.
    """

    rows: Sequence[tuple[Any, ...]]
    after: str


@dataclass(frozen=True, slots=True)
class StoredBuild:
    """What was built, as a store keeps it: blobs that belong together.

    `blobs` has their sizes in bytes by name. `notes` are the builder's own
    (JSON). `entries` tells how the blobs hold the entries of the index
    facets, None where they hold none.
    """

    blobs: Mapping[str, int]
    notes: Mapping[str, Any] = field(default_factory=dict)
    entries: EntryColumns | None = None

    def to_json(self) -> str:
        """Return the build as JSON, from which `from_json` makes it again."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str, place: str) -> "StoredBuild":
        """Return the build of a JSON text; `place` names it in messages.

        Raises EngineVersionError on a text that is no such build: damaged, or
        written by a version of nwx that keeps builds otherwise.
        """
        try:
            known = json.loads(text)
            entries = EntryColumns(**known["entries"]) if known["entries"] else None
            return cls(known["blobs"], known["notes"], entries)
        except (ValueError, KeyError, TypeError) as error:
            raise EngineVersionError(
                ErrorText(
                    "%(place)s is damaged, or of another version of nwx (%(reason)s)",
                    place=place,
                    reason=repr(error),
                )
            ) from error


class BlobStore(ABC):
    """Named blobs, and the build that is current among them.

    A blob never changes: what differs has another name. `folder` is where
    blobs lie on this machine once `get` or `put` returned; its subfolders are
    free for builders to work in.
    """

    folder: Path

    @abstractmethod
    def version(self) -> str:
        """Return a text that differs whenever another build is current; "" without a build."""

    @abstractmethod
    def current(self) -> StoredBuild | None:
        """Return the current build, whether or not its blobs are on this machine.

        None where there is none. Raises EngineVersionError on one that this
        version of nwx cannot read.
        """

    @abstractmethod
    def blobs(self) -> set[str]:
        """Return the names of all blobs, those included that belong to no build."""

    @abstractmethod
    def put(self, path: Path) -> None:
        """Store a file as a blob of its name; the file moves to `folder`."""

    @abstractmethod
    def get(self, blobs: Mapping[str, int]) -> None:
        """Bring blobs, given with their sizes, to `folder`, where they are not there yet.

        Copies of other blobs, which `folder` only has at hand, are removed.
        Raises BlobError on blobs that the store does not have.
        """

    @abstractmethod
    def delete(self, names: Collection[str]) -> None:
        """Delete blobs; names that there are not are passed over."""

    @abstractmethod
    def swap(self, build: StoredBuild, version: str) -> None:
        """Make a build the current one, at once, with its entries as those of the index facets.

        Its blobs were put before. Raises EngineBusyError, and changes nothing,
        where `version()` is another one by now.
        """


class FacetStore(BlobStore):
    """The captures of an archive in bulk, and the blobs of the facets built from them.

    All methods raise EngineUnavailableError as those of Engine do.
    """

    @abstractmethod
    def stamp(self) -> str:
        """Return a text that differs whenever captures were written or deleted."""

    @abstractmethod
    def month_stamps(self) -> dict[str, str]:
        """Return for each month (`201301`) a text that differs whenever its captures changed."""

    @abstractmethod
    def capture_rows(
        self, months: Collection[str] | None = None, after: str = ""
    ) -> Iterator[CaptureRows]:
        """Stream the captures of these months (`201301`), or of all, from a mark on."""

    @abstractmethod
    def captures_at(self, places: Sequence[CapturePlace]) -> list[Capture]:
        """Return those of the captures at these places that there are, in the given order."""

    def live_selection(self) -> "AbstractContextManager[LiveSelection] | None":
        """Give the present captures, to be looked up by conditions.

        None where the engine is no faster at that than at reading all of them.
        """
        return None

"""Engine interface for facets: bulk reads of captures, counts by conditions, stored builds."""

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from nwx.bulk.whole_files import file_checksum, sealed_json, unsealed_json
from nwx.data_classes import dataclass
from nwx.engine.entries import EntryColumns
from nwx.errors import BlobError, EngineBusyError, EngineError, EngineVersionError
from nwx.model import Capture


@dataclass(frozen=True, slots=True)
class OneOf:
    """Condition that the field has one of these values."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """Condition that the field is at least `low` and less than `high`; None means no bound."""

    field: str
    low: str | int | None = None
    high: str | int | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """Condition that the field ends in this text."""

    field: str
    end: str


@dataclass(frozen=True, slots=True)
class Like:
    """Condition that the whole field matches a regular expression in a common syntax.

    Only syntax that all engines support may be used.
    """

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Unset:
    """Condition that the field has no value."""

    field: str


@dataclass(frozen=True, slots=True)
class Not:
    """Condition that the part is not met."""

    part: "LiveFilter"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Condition that at least one of the parts is met."""

    parts: tuple["LiveFilter", ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Condition that all parts are met."""

    parts: tuple["LiveFilter", ...] = ()


LiveFilter = OneOf | Between | Ending | Like | Unset | Not | AnyOf | AllOf

ALL = AllOf()


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of captures with equal values of some fields: the values, and the capture counts."""

    values: Sequence[tuple[Any, ...]]
    captures: Sequence[int]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Counts of captures; the numbers of documents and URLs are estimates.

    `sized` captures have a known size, `size_bytes` in total.
    """

    captures: int
    documents: int
    urls: int
    sized: int
    size_bytes: int


class LiveSelection(ABC):
    """The captures of one point in time, searched by conditions.

    Captures with a value too long for lookup always match, so results may include captures that do
    not meet a condition.
    """

    @abstractmethod
    def count(self, wanted: LiveFilter) -> int:
        """Return the number of captures."""

    @abstractmethod
    def groups(self, wanted: LiveFilter, fields: Sequence[str]) -> Iterator[Groups]:
        """Yield groups of captures, one for each combination of values of some fields.

        `timestamp` is reduced to the month (`201301`).
        """

    @abstractmethod
    def estimates(
        self, wanted: LiveFilter, parts: Sequence[LiveFilter], sized: LiveFilter
    ) -> list[Estimate]:
        """Return estimates of the wanted captures in each of the parts.

        `sized` is the condition of a known size.
        """


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
"""The fields of the index captures in each of CaptureRows, in this order."""

CapturePlace = tuple[str, int]
"""The place of a capture: `<collection>/<file name>` and the offset in bytes."""


@dataclass(frozen=True, slots=True)
class CaptureRows:
    """Captures read in bulk, each a tuple of the values of CAPTURE_ROW_FIELDS.

    Reading continues after the mark `after`.
    """

    rows: Sequence[tuple[Any, ...]]
    after: str


@dataclass(frozen=True, slots=True)
class StoredBuild:
    """A stored build: blobs that belong together.

    `blobs` has their sizes in bytes by name. `notes` is private data of the builder (JSON).
    `entries` describes how the blobs store the entries of the index facets, None if they have none.
    `checksums` has the CRC-32 of the blobs by name; older builds lack it.
    """

    blobs: Mapping[str, int]
    notes: Mapping[str, Any] = field(default_factory=dict)
    entries: EntryColumns | None = None
    checksums: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_files(
        cls,
        names: Iterable[str],
        folder: Path,
        base: "StoredBuild | None",
        notes: Mapping[str, Any],
        entries: EntryColumns | None = None,
    ) -> "StoredBuild":
        """Return the build of the named blobs, kept from `base` or new in `folder`."""
        names = list(names)
        kept = base.blobs if base else {}
        new = [folder / name for name in names if name not in kept]
        sums = {name: one for name, one in base.checksums.items() if name in names} if base else {}
        return cls(
            {name: kept[name] for name in names if name in kept}
            | {path.name: path.stat().st_size for path in new},
            notes,
            entries,
            sums | {path.name: file_checksum(path) for path in new},
        )

    def to_json(self) -> str:
        """Return the build as JSON, for `from_json`."""
        return sealed_json(asdict(self))

    @classmethod
    def from_json(cls, text: str, place: str) -> "StoredBuild":
        """Return the build of a JSON text; `place` names it in messages.

        Raises EngineVersionError on an invalid build: damaged, or written by a version of nwx with
        another format.
        """
        try:
            known = unsealed_json(text)
            entries = EntryColumns(**known["entries"]) if known["entries"] else None
            return cls(known["blobs"], known["notes"], entries, known.get("checksums", {}))
        except (ValueError, KeyError, TypeError) as error:
            raise EngineVersionError.translated(
                "%(place)s is damaged, or was made by another version of nwx (%(reason)s)",
                place=place,
                reason=repr(error),
            ) from error


class BlobStore(ABC):
    """Named blobs, and the current build made of some of them.

    A blob never changes: different content has another name. After `get` or `put`, `folder` has
    the blobs on this machine; builders may work in its subfolders.
    """

    folder: Path

    @abstractmethod
    def version(self) -> str:
        """Return a text that changes whenever another build becomes current; "" without a build."""

    @abstractmethod
    def current(self) -> StoredBuild | None:
        """Return the current build, whether or not its blobs are on this machine.

        None if missing. Raises EngineVersionError on a build that this version of nwx cannot read.
        """

    @abstractmethod
    def blobs(self) -> set[str]:
        """Return the names of all blobs, including those of no build."""

    @abstractmethod
    def put(self, path: Path) -> None:
        """Store a file as a blob under its name; the file moves to `folder`."""

    @abstractmethod
    def get(self, blobs: Mapping[str, int]) -> None:
        """Copy missing blobs, given with their sizes, to `folder`.

        Removes other blobs of which `folder` has only copies. Raises BlobError on blobs missing in
        the store.
        """

    @abstractmethod
    def delete(self, names: Collection[str]) -> None:
        """Delete blobs; missing names are ignored."""

    @abstractmethod
    def swap(self, build: StoredBuild, version: str) -> None:
        """Make a build and its entries of the index facets current, atomically.

        Its blobs must be stored already. Raises EngineBusyError, without any change, if `version()`
        is no longer `version`.
        """


class FacetStore(BlobStore):
    """Bulk reads of an archive's captures, and the blobs of the facets built from them.

    All methods raise EngineUnavailableError as in Engine.
    """

    @abstractmethod
    def stamp(self) -> str:
        """Return a text that changes whenever captures are written or deleted."""

    @abstractmethod
    def month_stamps(self) -> dict[str, str]:
        """Return for each month (`201301`) a text that changes whenever its captures change."""

    @abstractmethod
    def capture_rows(
        self, months: Collection[str] | None = None, after: str = ""
    ) -> Iterator[CaptureRows]:
        """Yield the captures of these months (`201301`), or of all, from a mark on."""

    @abstractmethod
    def captures_at(self, places: Sequence[CapturePlace]) -> list[Capture]:
        """Return the existing captures at these places, in the given order."""

    def live_selection(self) -> "AbstractContextManager[LiveSelection] | None":
        """Return the current captures, for search by conditions.

        None unless the engine does that faster than by reading all captures.
        """
        return None


CURRENT_BUILD = "current.json"


class BlobFolder(BlobStore):
    """The files of a folder as blobs, shared by all processes that can read the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def version(self) -> str:
        try:
            found = (self.folder / CURRENT_BUILD).stat()
        except FileNotFoundError:
            return ""
        return f"{found.st_ino} {found.st_mtime_ns}"

    def current(self) -> StoredBuild | None:
        path = self.folder / CURRENT_BUILD
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise BlobError.translated(
                "%(path)s cannot be read (%(reason)s)", path=path, reason=error
            ) from error
        return StoredBuild.from_json(text, str(path))

    def blobs(self) -> set[str]:
        if not self.folder.is_dir():
            return set()
        found = {path.name for path in self.folder.iterdir() if path.is_file()}
        return found - {CURRENT_BUILD}

    def put(self, path: Path) -> None:
        try:
            path.replace(self.folder / path.name)
        except OSError as error:
            raise EngineError.translated(
                "%(folder)s cannot be written (%(reason)s)",
                folder=self.folder,
                reason=error,
            ) from error

    def get(self, blobs: Mapping[str, int]) -> None:
        """Check that the blobs exist with these sizes: the folder is the store itself."""
        for name, size in blobs.items():
            path = self.folder / name
            if not path.is_file():
                raise BlobError.translated("%(folder)s is missing", folder=path)
            if (found := path.stat().st_size) != size:
                reason = f"{found:,} bytes instead of {size:,}; `nwx check` finds other damage"
                raise BlobError.translated(
                    "%(path)s cannot be read (%(reason)s)", path=path, reason=reason
                )

    def delete(self, names: Collection[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def swap(self, build: StoredBuild, version: str) -> None:
        if self.version() != version:
            raise EngineBusyError.translated(
                "another build was written to %(folder)s meanwhile; run the same command again",
                folder=self.folder,
            )
        write_current_build(self.folder, build)


def write_current_build(folder: Path, build: StoredBuild) -> None:
    """Make a build the current one of a folder, atomically and durably."""
    new = folder / f"{CURRENT_BUILD}.new"
    with new.open("w", encoding="utf-8") as opened:
        opened.write(build.to_json())
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(folder / CURRENT_BUILD)

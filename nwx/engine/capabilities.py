"""Small capabilities of an engine: ledger of imported files, shards, backups, damage."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.whole_files import file_checksum
from nwx.data_classes import dataclass
from nwx.engine.indices.declarations import INDICES
from nwx.errors import EngineError, UsageError, system_reason
from nwx.model import IndexName, SourceFile
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.facet_store import BlobStore


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a file by an importer, the `holder`, valid while `counter` grows.

    Other importers watch the counter by their own clock, and take over the file when the counter
    has not changed for `lease_seconds`. A claim has `ended` when its holder has stopped work on an
    unfinished file, such as an unreadable one.
    """

    holder: str
    counter: int
    lease_seconds: float
    ended: bool = False


@dataclass(frozen=True, slots=True)
class ClaimedFile:
    """Ledger data of a file name: its entry and its claim, None if missing."""

    collection: str
    name: str
    file: SourceFile | None = None
    claim: Claim | None = None

    def is_held_by(self, holder: str) -> bool:
        """Return whether this holder has the claim."""
        return self.claim is not None and self.claim.holder == holder

    def claimed(self, holder: str, lease_seconds: float) -> "ClaimedFile":
        """Return the data with a new claim of a holder, its counter raised."""
        counter = self.claim.counter + 1 if self.claim else 1
        return replace(self, claim=Claim(holder, counter, lease_seconds))

    def left_by(self, holder: str) -> "ClaimedFile | None":
        """Return the data without the claim of a holder, None if it has none."""
        return replace(self, claim=None) if self.is_held_by(holder) else None


ClaimChange = Callable[[ClaimedFile], ClaimedFile | None]
"""Returns the new ledger data of a file, None to leave it unchanged."""


class FileClaims(ABC):
    """The ledger, shared by several importers."""

    @abstractmethod
    def read(self, collection: str, names: Collection[str]) -> dict[str, ClaimedFile]:
        """Return the current ledger data of each of these names."""

    @abstractmethod
    def update(
        self, collection: str, names: Collection[str], change: ClaimChange
    ) -> dict[str, ClaimedFile]:
        """Change the ledger data of these names atomically; return the new data.

        `change` is called again for a name that another process changed between read and write.
        Names left without entry and claim are deleted.
        """

    @abstractmethod
    def held(self) -> list[ClaimedFile]:
        """Return the files whose claims have not ended, by collection and name."""


class Ledger(ABC):
    """The imported files of an archive; entries are written with the batch of the file."""

    @abstractmethod
    def files(self) -> list[SourceFile]:
        """Return the import ledger, by collection and name."""

    @abstractmethod
    def claims(self) -> FileClaims | None:
        """Return the claims of its files, None if only one importer may write at a time."""


BULK_LOADING = "loading"
"""The name of the index that records which imports load in bulk."""


@dataclass(frozen=True, slots=True)
class ShardHealth:
    """The health of an index's shards on a server; each shard has `replicas` additional copies.

    `name` is the concrete name of the index, not its alias. `lost` has the numbers of shards
    without a copy on any node, `missing_copies` counts the configured copies that do not exist.
    Nothing can be written to a `blocked` index.
    """

    name: str
    shards: int
    replicas: int
    lost: tuple[int, ...] = ()
    missing_copies: int = 0
    blocked: bool = False

    @property
    def status(self) -> str:
        """Return red if a shard is lost, yellow if a copy is missing, else green."""
        return "red" if self.lost else "yellow" if self.missing_copies else "green"


class Shards:
    """The shards of an archive. This base class is for archives without any, in a folder."""

    def health(self) -> Mapping[str, ShardHealth]:
        """Return the shard health of each existing index, by its name.

        Indices of an IndexName come first, then others of the archive: `<name>-files` (what an
        index stores next to its entries), BULK_LOADING, and `dates@<name>` (a dates index next to
        the main one).
        """
        return {}

    def older_forms(self) -> Mapping[IndexName, str]:
        """Return the concrete names of usable indices that an older nwx created in another form."""
        return {}

    def loaders(self) -> tuple[str, ...]:
        """Return the names of the imports that load in bulk, killed ones included."""
        return ()

    def loading(self, settings: Settings) -> AbstractContextManager[None]:
        """Apply the settings of bulk loading to the indices within a context.

        They are restored when the last import that uses them has ended or was killed.
        """
        del settings
        return nullcontext()

    def end_loading(self, loaders: Iterable[str]) -> None:
        """Restore the settings that these imports changed; they must no longer run."""

    def reshard(self, index: IndexName, shards: int, progress: ShowProgress = no_progress) -> str:
        """Change the number of an index's shards; return the method: `split` or `copied`.

        Searches continue meanwhile, writes wait or are refused. Resumes after a killed run. Raises
        UsageError if there is nothing to do.
        """
        raise UsageError(f"{index} has no shards: only indices on a server have shards")

    def undo_reshard(self, index: IndexName) -> None:
        """Make an index writable again after a killed `reshard`; UsageError if it is writable."""
        raise UsageError(f"{index} has no shards: only indices on a server have shards")


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The changes made to an archive of an older nwx; empty if it was up to date.

    `formats` and `bytes` of a folder are before and after. `indices` were rebuilt.
    """

    formats: tuple[int, ...] = ()
    captures: int = 0
    bytes: tuple[int, ...] = ()
    indices: tuple[IndexName, ...] = ()


DAMAGED = "damaged"
"""The kind of a damaged file: its index is not compared with others."""

ROW = "row"
"""The kind of single entries that differ from their data elsewhere in the engine."""

UNCHECKED = "unchecked"
"""The kind of data without a checksum, which is not damage."""

RESTORE = "restore the archive from a copy, or import its files into a new one"
"""The advice for data that cannot be rebuilt."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Damaged data, or data that could not be checked; `place` is a file or an entry."""

    index: IndexName
    place: str
    message: str
    kind: str = DAMAGED


def blob_damage(store: "BlobStore", index: IndexName) -> Iterator[Damage]:
    """Yield the damage to the current build of an index."""
    version = store.version()
    try:
        yield from _blob_damage(store, index)
    except (EngineError, OSError) as error:
        if store.version() == version:  # else another build has replaced it meanwhile
            message = f"cannot be read ({system_reason(error)}); {INDICES[index].made_by}"
            yield Damage(index, str(store.folder), message)


def _blob_damage(store: "BlobStore", index: IndexName) -> Iterator[Damage]:
    build, advice = store.current(), INDICES[index].made_by
    if build is None:
        if store.blobs():
            message = f"has files, but no finished build; {advice}"
            yield Damage(index, str(store.folder), message)
        return
    store.get(build.blobs)
    for blob, size in build.blobs.items():
        path = store.folder / blob
        expected = build.checksums.get(blob)
        if path.stat().st_size != size or expected not in (None, file_checksum(path)):
            message = f"has changed since it was written (size or checksum); {advice}"
            yield Damage(index, str(path), message)
    if unknown := len(build.blobs.keys() - build.checksums.keys()):
        message = f"{unknown:,} files have no checksums, which older versions did not write"
        yield Damage(index, str(store.folder), message, UNCHECKED)


Verify = Callable[[str], None]
"""Checks the archive at an address; raises NwxError if it finds a fault."""


def accept(_: str) -> None:
    """Check nothing."""


class Backups(ABC):
    """The backups of an archive at one place. Their names sort by the time they were made."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of the complete backups, the oldest first."""

    @abstractmethod
    def make(self, name: str, verify: Verify, progress: ShowProgress) -> None:
        """Copy the archive's state at one moment, while others may write to it.

        A run that is killed, or stopped by `verify`, leaves nothing that `names` lists.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """Delete a backup."""

    @abstractmethod
    def restore(self, name: str, verify: Verify, progress: ShowProgress, *, replaced: bool) -> None:
        """Restore the archive, checked with `verify`; an existing one only if `replaced`.

        Raises SourceError, or UsageError, if it exists and must not be replaced.
        """

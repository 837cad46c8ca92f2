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
from nwx.errors import EngineError, UsageError
from nwx.model import IndexName, SourceFile
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.facet_store import BlobStore


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim of a file by an importer, the `holder`, valid while `counter` grows.

    Others who want the file watch the counter by their own clock, and take over the file when the
    counter has not changed for `lease_seconds`. A claim has `ended` when its holder has stopped
    work on an unfinished file, such as an unreadable one.
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
        """Return whether a claim is this holder's."""
        return self.claim is not None and self.claim.holder == holder

    def claimed(self, holder: str, lease_seconds: float) -> "ClaimedFile":
        """Return the data with a claim of a holder that nobody has seen yet."""
        counter = self.claim.counter + 1 if self.claim else 1
        return replace(self, claim=Claim(holder, counter, lease_seconds))

    def left_by(self, holder: str) -> "ClaimedFile | None":
        """Return the data without the claim of a holder, None if it has none."""
        return replace(self, claim=None) if self.is_held_by(holder) else None


ClaimChange = Callable[[ClaimedFile], ClaimedFile | None]
"""Returns what is to be in the place of what was read, None where that is to stay."""


class FileClaims(ABC):
    """The ledger as several importers share it."""

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
    """The files of an archive; entries are written with the batch they are about."""

    @abstractmethod
    def files(self) -> list[SourceFile]:
        """Return the import ledger, by collection and name."""

    @abstractmethod
    def claims(self) -> FileClaims | None:
        """Return the claims of its files, None where only one importer may write at a time."""


BULK_LOADING = "loading"
"""The name of the index that notes which imports load in bulk."""


@dataclass(frozen=True, slots=True)
class ShardHealth:
    """The health of an index's shards on a server; each shard has `replicas` further copies.

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
        """Return red where a shard is lost, yellow where a copy is missing, else green."""
        return "red" if self.lost else "yellow" if self.missing_copies else "green"


class Shards:
    """The shards of an archive. This one has none: a folder of this machine."""

    def health(self) -> Mapping[str, ShardHealth]:
        """Return the shard health of each existing index, by its name.

        Indices of an IndexName come first, then others of the archive: `<name>-files` (what an
        index stores next to its entries), BULK_LOADING, and `dates@<name>` (a dates index next to
        the main one).
        """
        return {}

    def older_forms(self) -> Mapping[IndexName, str]:
        """Return the names of the indices that an older nwx made otherwise, which work on."""
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
        """Put the settings back that these imports changed, which are not at work any more."""

    def reshard(self, index: IndexName, shards: int, progress: ShowProgress = no_progress) -> str:
        """Change the number of an index's shards; return the method: `split` or `copied`.

        Searches continue meanwhile, writes wait or are refused. Resumes after a killed run. Raises
        UsageError if there is nothing to do.
        """
        raise UsageError(f"{index} has no shards: only indices on a server have some")

    def undo_reshard(self, index: IndexName) -> None:
        """Let an index be written to again after a `reshard` that was killed."""
        raise UsageError(f"{index} has no shards: only indices on a server have some")


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What was done to an archive that an older nwx made; nothing where it is up to date.

    A folder has `formats` and `bytes` before and afterwards. `indices` were made anew.
    """

    formats: tuple[int, ...] = ()
    captures: int = 0
    bytes: tuple[int, ...] = ()
    indices: tuple[IndexName, ...] = ()


DAMAGED = "damaged"
"""The kind of a file that cannot be relied on: its index is not compared with others."""

ROW = "row"
"""The kind of single entries that differ from what the engine stores of them elsewhere."""

UNCHECKED = "unchecked"
"""The kind of what has no checksum, which is no damage."""

RESTORE = "restore the archive from a copy, or import its files into a new one"
"""What helps where nothing can be made again."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is damaged, or could not be checked; `place` is a file, or an entry."""

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
            yield Damage(
                index, str(store.folder), f"cannot be read ({error}); {INDICES[index].made_by}"
            )


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
            message = f"is not as it was written (size or checksum); {advice}"
            yield Damage(index, str(path), message)
    if unknown := len(build.blobs.keys() - build.checksums.keys()):
        message = f"{unknown:,} files have no checksums, which older versions did not write"
        yield Damage(index, str(store.folder), message, UNCHECKED)


Verify = Callable[[str], None]
"""Checks the archive at an address; raises NwxError where something is wrong."""


def accept(_: str) -> None:
    """Check nothing."""


class Backups(ABC):
    """The backups of an archive at one place. Their names sort by the time they were made."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of the complete backups, the oldest first."""

    @abstractmethod
    def make(self, name: str, verify: Verify, progress: ShowProgress) -> None:
        """Copy the archive as it is at one moment, while others write to it.

        A run that is killed leaves nothing that `names` lists, and so does one that `verify` ends.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """Delete a backup."""

    @abstractmethod
    def restore(self, name: str, verify: Verify, progress: ShowProgress, *, replaced: bool) -> None:
        """Make the archive what it was, checked with `verify`; an existing one is to be `replaced`.

        Raises SourceError, or UsageError, if it exists and is not to be replaced.
        """

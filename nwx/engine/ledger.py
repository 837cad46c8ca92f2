"""The import ledger: how far each file has been imported, and which importer has it now."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass

from nwx.model import SourceFile


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

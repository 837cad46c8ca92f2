"""The import ledger: how far each file has been imported, and which importer has it now."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass

from nwx.model import SourceFile


@dataclass(frozen=True, slots=True)
class Claim:
    """That an importer, the `holder`, has a file: no other imports it while `counter` grows.

    Who wants the file watches the counter by its own clock, and takes the
    file over when the counter has not changed for `lease_seconds`. A claim
    has `ended` where its holder is done with a file that is not finished,
    as one that cannot be read.
    """

    holder: str
    counter: int
    lease_seconds: float
    ended: bool = False


@dataclass(frozen=True, slots=True)
class ClaimedFile:
    """What the ledger holds of a name: its entry and the claim of it, None where there is none."""

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
        """Return what the ledger holds of each of these names now."""

    @abstractmethod
    def update(
        self, collection: str, names: Collection[str], change: ClaimChange
    ) -> dict[str, ClaimedFile]:
        """Change what the ledger holds of these names; return what it holds then.

        `change` is asked again of a name that somebody else changed between
        its reading and its writing. What is left without entry and claim is
        deleted.
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

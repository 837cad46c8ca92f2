"""Engine interface for backups: consistent copies of a whole archive at another place."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from nwx.bulk.progress import ShowProgress

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

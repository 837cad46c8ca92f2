"""The import ledger: how far each file has been imported."""

from abc import ABC, abstractmethod

from nwx.model import SourceFile


class Ledger(ABC):
    """The files of an archive; entries are written with the batch they are about."""

    @abstractmethod
    def files(self) -> list[SourceFile]:
        """Return the import ledger, by collection and name."""

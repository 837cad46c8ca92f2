"""What takes entries out of an archive for good: deleted ones stay in its files until then."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from nwx.engine.indices.crawl_index import StoredSpecification
from nwx.model import Dates


class Purger(ABC):
    """What a purge needs of an engine beside `Engine.delete`.

    Each method can be stopped at any moment and called again.
    """

    @abstractmethod
    def own_dates(self) -> list[str]:
        """Return the names of the dates indices beside the main one that the archive made."""

    @abstractmethod
    def remove_dates(self, place: str, dates: Sequence[Dates]) -> int:
        """Remove pairs of timestamp and collection; return how many there were.

        `place` names the main dates index or another that the archive made.
        Keys that have no dates left are removed too.
        """

    @abstractmethod
    def remove_scores(self, document_ids: Collection[str], urls: Collection[str]) -> int:
        """Remove the scores of documents and of links that crawls have; return how many.

        Links are those that lead to one of `urls`, and those whose best
        mention is on a page of these.
        """

    @abstractmethod
    def replace_specification(self, stored: StoredSpecification) -> None:
        """Store a crawl specification in the place of that of its name and number."""

    @abstractmethod
    def forget_pages(self, urls: Collection[str]) -> int:
        """Forget in the crawler's queue and in the outbox which URLs were found on these pages.

        Updates in the outbox that would have these pages fetched again are
        removed. Returns how many entries of both were changed.
        """

    @abstractmethod
    def erase(self, wait_seconds: float) -> tuple[str, ...]:
        """Take what was deleted before out of all files of the archive.

        Returns the files, or indices, that still hold it, because others
        read or write them for longer than `wait_seconds`.
        """

    def copies_away(self) -> tuple[str, ...]:
        """Return the indices of which nodes that are away have copies, as they were before."""
        return ()

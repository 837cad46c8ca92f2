"""What takes entries out of an archive for good: deleted ones stay in its files until then."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from nwx.engine.access.decisions import AccessRules, AskedCapture
from nwx.errors import FormatError
from nwx.model import Dates
from nwx.values.urlkeys import urlkey


class Purger(ABC):
    """What a purge needs of an engine in addition to `Engine.delete`.

    Each method can be interrupted at any moment and called again.
    """

    @abstractmethod
    def own_dates(self) -> list[str]:
        """Return the names of the dates indices made by the archive, except the main one."""

    @abstractmethod
    def remove_dates(self, place: str, dates: Sequence[Dates]) -> int:
        """Remove pairs of timestamp and collection; return the number removed.

        `place` names the main dates index or another that the archive made. Keys without dates left
        are removed too.
        """

    @abstractmethod
    def erase(self, wait_seconds: float) -> tuple[str, ...]:
        """Erase previously deleted data from all files of the archive.

        Returns the files, or indices, that still hold it, because others read or write them for
        longer than `wait_seconds`.
        """

    def copies_away(self) -> tuple[str, ...]:
        """Return the indices with outdated copies on nodes that are away."""
        return ()


def purged_seen(rules: AccessRules, dates: Dates) -> tuple[tuple[str, str], ...]:
    """Return the pairs of timestamp and collection of a key that rules purge."""
    url, _, digest = dates.key.rpartition(" ")
    try:
        key = urlkey(url)
    except FormatError:
        return ()
    return tuple(
        (timestamp, collection)
        for timestamp, collection in dates.seen
        if rules.purges(AskedCapture(key, url, digest, collection, timestamp=timestamp))
    )


def unpurged_dates(rules: AccessRules, every: Iterable[Dates]) -> Iterator[Dates]:
    """Yield dates not purged by rules; a key with no date left is omitted."""
    if not any(rule.purged for rule in rules.rules):
        yield from every
        return
    for dates in every:
        purged = purged_seen(rules, dates)
        if not purged:
            yield dates
        elif len(purged) < len(dates.seen):
            yield Dates(dates.key, tuple(pair for pair in dates.seen if pair not in purged))

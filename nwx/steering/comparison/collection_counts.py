"""What is counted of one collection, capture by capture in the order of a CDX."""

from collections import Counter
from dataclasses import dataclass, field

from nwx.cdx.rows import CdxRow, is_revisit_row

_LOWEST_ERROR = "4"
_NO_VALUE = "-"
_DAY = 8


@dataclass(slots=True)
class CollectionCounts:
    """Counts of a collection.

    A document is a URL with a digest, and each capture of one but the
    first is a duplicate. `newest_days` counts URLs by the day (`20130126`)
    of their newest capture. `statuses` counts captures, those without one
    as `-`. `bytes` adds up the lengths of records where they are known.
    """

    captures: int = 0
    revisits: int = 0
    urls: int = 0
    hosts: int = 0
    documents: int = 0
    duplicates: int = 0
    duplicate_bytes: int = 0
    bytes: int = 0
    first: str = ""
    last: str = ""
    statuses: Counter[str] = field(default_factory=Counter)
    newest_days: Counter[str] = field(default_factory=Counter)

    @property
    def errors(self) -> int:
        """The captures with a status of 400 or higher."""
        return sum(count for status, count in self.statuses.items() if status >= _LOWEST_ERROR)

    def add(self, row: CdxRow, *, is_duplicate: bool) -> None:
        """Count a capture."""
        length = int(row.length) if row.length.isdecimal() else 0
        self.captures += 1
        self.revisits += is_revisit_row(row)
        self.bytes += length
        self.statuses[row.status] += 1
        self.first = min(self.first or row.timestamp, row.timestamp)
        self.last = max(self.last, row.timestamp)
        if is_duplicate:
            self.duplicates += 1
            self.duplicate_bytes += length
        elif row.digest != _NO_VALUE:
            self.documents += 1

    def add_url(self, newest: str) -> None:
        """Count a URL with the timestamp of its newest capture."""
        self.urls += 1
        self.newest_days[newest[:_DAY]] += 1


@dataclass(slots=True)
class Overlap:
    """How many of something two collections have both, and each of them alone."""

    both: int = 0
    only_a: int = 0
    only_b: int = 0

    def add(self, in_a: int, in_b: int, both: int) -> None:
        """Count so many of each, and of both."""
        self.both += both
        self.only_a += in_a - both
        self.only_b += in_b - both

    @property
    def share_of_a(self) -> float | None:
        """The share of what A has that B has too; None where A has nothing."""
        whole = self.both + self.only_a
        return self.both / whole if whole else None

    @property
    def share_of_b(self) -> float | None:
        """The share of what B has that A has too; None where B has nothing."""
        whole = self.both + self.only_b
        return self.both / whole if whole else None

    @property
    def jaccard(self) -> float | None:
        """What both have over what either has; None where there is nothing."""
        whole = self.both + self.only_a + self.only_b
        return self.both / whole if whole else None


@dataclass(slots=True)
class SharedFreshness:
    """The URLs that both collections have: which has the newer capture, and is it another page.

    `changed` counts those of which the newest captures have different
    digests. `seconds` adds up how far the newest captures are apart.
    """

    newer_in_a: int = 0
    newer_in_b: int = 0
    same_time: int = 0
    changed: int = 0
    seconds: float = 0.0

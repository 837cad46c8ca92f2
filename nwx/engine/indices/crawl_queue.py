"""Engine interface for crawlers: a queue of URLs by priority, with leases."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

LEASE_SECONDS = 600.0
"""The default duration of a lease."""

MOST_LEASED_AHEAD = 2 * 86_400.0
"""A lease that seems to last longer than this was given before the clock was set back."""


class UrlState(StrEnum):
    """State of a URL in a queue."""

    WAITING = "waiting"
    LEASED = "leased"
    DONE = "done"
    BLACKLISTED = "blacklisted"


class UrlUpdate(NamedTuple):
    """Update of a URL: its priority in [0, 1], None to blacklist it.

    `via` is the URL of the page that links to it. Each `crawl` has its own queue by name; "" is the
    unnamed one. `lifted` removes a blacklisted URL from the blacklist, with the given priority or
    the previous one. `again` queues a fetched URL once more.
    """

    url: str
    priority: float | None
    via: str = ""
    crawl: str = ""
    lifted: bool = False
    again: bool = False


class QueuedUrl(NamedTuple):
    """A URL in a queue, with its `lease` and `leased_until` (seconds since 1970) if leased.

    `priority` is None if it is blacklisted.
    """

    url: str
    host: str
    priority: float | None
    via: str = ""
    crawl: str = ""
    lease: str = ""
    leased_until: float = 0.0
    state: UrlState = UrlState.WAITING


@dataclass(frozen=True, slots=True)
class PutCounts:
    """Results of updates, each counted once.

    `new` are URLs not known before, `changed` URLs with another priority or state, `blacklisted`
    the ignored updates of blacklisted URLs. `unchanged` are all others, including updates that a
    sender repeated.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    blacklisted: int = 0


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The URLs of a queue by their state."""

    waiting: int = 0
    leased: int = 0
    done: int = 0
    blacklisted: int = 0

    @property
    def total(self) -> int:
        """The URLs of all states."""
        return self.waiting + self.leased + self.done + self.blacklisted


@dataclass(frozen=True, slots=True)
class LeaseLimits:
    """Limits for leases of a crawl; None is unlimited.

    `delay_seconds` is the time between two leases of a host, of any crawl; `in_flight` is the
    number of its URLs leased at the same time. `pages_per_host` and `pages` limit the total leases
    of a host, and of the crawl.
    """

    delay_seconds: float = 0.0
    in_flight: int | None = None
    pages_per_host: int | None = None
    pages: int | None = None


NO_LIMITS = LeaseLimits()
LimitsOf = Callable[[str], LeaseLimits]
"""Returns the limits of a crawl by its name."""


def no_limits(crawl: str) -> LeaseLimits:
    """Return unlimited leases for any crawl."""
    return NO_LIMITS


class CrawlQueue(ABC):
    """The URLs to be fetched by a crawler; any number of processes may use it at once.

    A URL is in the queue of a crawl once. Updates are durable on disk when `put` returns.
    """

    @abstractmethod
    def put(
        self, updates: Sequence[UrlUpdate], sender: str = "", orders: Sequence[int] = ()
    ) -> PutCounts:
        """Store updates in order, all or none; the last one for each URL counts.

        A sender that may repeat updates gives its name and a number for each update, in ascending
        order: an update is ignored if its number is not above the last one stored for this sender
        and URL. Raises UsageError if `orders` and `updates` differ in length.
        """

    @abstractmethod
    def lease(
        self,
        count: int,
        host: str = "",
        crawl: str = "",
        seconds: float = LEASE_SECONDS,
        limits: LimitsOf = no_limits,
    ) -> list[QueuedUrl]:
        """Lease at most `count` waiting URLs, by highest priority, then oldest first.

        No one else gets them until they are released, or the lease expires unfinished. "" means all
        hosts, and all crawls.
        """

    @abstractmethod
    def finish(self, leases: Sequence[str]) -> int:
        """Mark leased URLs as fetched; return how many were not marked before.

        An expired lease counts too unless the URL was leased again.
        """

    @abstractmethod
    def release(self, leases: Sequence[str]) -> int:
        """Return leased URLs to the state waiting; return how many were still leased."""

    @abstractmethod
    def counts(self, crawl: str = "") -> QueueCounts:
        """Return the number of URLs in the queue of a crawl; "" means all crawls."""

    @abstractmethod
    def scan(self, crawl: str = "") -> Iterator[QueuedUrl]:
        """Yield all URLs of a crawl in order of insertion; "" means all crawls."""

    @abstractmethod
    def crawls(self) -> list[str]:
        """Return the names of the crawls that have URLs, in order."""

    @abstractmethod
    def forget_pages(self, urls: Collection[str]) -> int:
        """Clear `via` of URLs found on these pages; return how many were changed."""

    @abstractmethod
    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield counts inconsistent with the URLs: the crawl or host concerned, and the problem."""


class OutboxEntry(NamedTuple):
    """An update waiting to be sent, and its number, which grows in the order of adding."""

    number: int
    update: UrlUpdate


class UpdateOutbox(ABC):
    """Updates to send to queues elsewhere, in order, kept until these have accepted them."""

    @abstractmethod
    def sender(self) -> str:
        """Return the unique name that identifies this outbox to queues."""

    @abstractmethod
    def add(self, updates: Sequence[UrlUpdate], queue: str) -> None:
        """Add updates for the queue at an address, durably."""

    @abstractmethod
    def pending(self, queue: str, limit: int) -> list[OutboxEntry]:
        """Return the first updates waiting for a queue, in order."""

    @abstractmethod
    def delivered(self, queue: str, up_to: int) -> None:
        """Remove the updates returned by `pending` for a queue, up to a number."""

    @abstractmethod
    def forget_pages(self, urls: Collection[str]) -> int:
        """Delete data about these pages from updates; return the number changed or removed.

        Updates that would fetch these pages again are removed.
        """

    @abstractmethod
    def queues(self) -> dict[str, int]:
        """Return the number of waiting updates by address of their queue."""

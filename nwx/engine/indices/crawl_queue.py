"""What an engine does for crawlers: a queue of URLs by priority, with leases."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

LEASE_SECONDS = 600.0
"""How long a lease lasts where nobody says otherwise."""


class UrlState(StrEnum):
    """What has become of a URL in a queue."""

    WAITING = "waiting"
    LEASED = "leased"
    DONE = "done"
    BLACKLISTED = "blacklisted"


class UrlUpdate(NamedTuple):
    """What is said of a URL: its priority in [0, 1], None to blacklist it.

    `via` is the URL of the page that links to it. Each `crawl` has a queue of
    its own by its name; "" is the one without a name. With `lifted` a
    blacklisted URL is one like others again: with the priority given, or with
    the one it had. With `again` a URL that was fetched waits once more.
    """

    url: str
    priority: float | None
    via: str = ""
    crawl: str = ""
    lifted: bool = False
    again: bool = False


class QueuedUrl(NamedTuple):
    """A URL in a queue; `lease` and `leased_until` (seconds since 1970) of one that is leased.

    `priority` is None where it is blacklisted.
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
    """What became of updates: each is counted once.

    `new` were URLs not known before, `changed` those with another priority
    or state, `blacklisted` those of URLs that are blacklisted, which were
    therefore not heeded. `unchanged` are all others, those included that a
    sender sent again.
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
    """How much is leased of a crawl; None is without a bound.

    Between two leases of a host `delay_seconds` pass, of any crawl, and
    `in_flight` of its URLs are leased at the same time. `pages_per_host` and
    `pages` bound how many URLs of a host, and of the crawl, are leased at all.
    """

    delay_seconds: float = 0.0
    in_flight: int | None = None
    pages_per_host: int | None = None
    pages: int | None = None


NO_LIMITS = LeaseLimits()
LimitsOf = Callable[[str], LeaseLimits]
"""Gives the limits of a crawl by its name."""


def no_limits(crawl: str) -> LeaseLimits:
    """Return limits that bound nothing, for any crawl."""
    return NO_LIMITS


class CrawlQueue(ABC):
    """The URLs that a crawler is to fetch; any number of processes may use it at once.

    A URL is in the queue of a crawl once. What is put is safe on disk when
    `put` returns.
    """

    @abstractmethod
    def put(
        self, updates: Sequence[UrlUpdate], sender: str = "", orders: Sequence[int] = ()
    ) -> PutCounts:
        """Take updates in their order, all or none; of several of a URL the last one counts.

        A sender that may send the same update twice gives its name, and each
        update a number, in ascending order: an update whose number is not
        above the last that was taken of this sender for the URL changes nothing.
        Raises UsageError where `orders` are not as many as `updates`.
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
        """Return up to so many waiting URLs, the highest priorities first, older ones before newer.

        Nobody else gets them until they are released, or the lease has ended
        without being finished. "" stands for all hosts, and for all crawls.
        """

    @abstractmethod
    def finish(self, leases: Sequence[str]) -> int:
        """Note that leased URLs were fetched; return of how many that is new.

        A lease that has ended counts too unless the URL was leased anew.
        """

    @abstractmethod
    def release(self, leases: Sequence[str]) -> int:
        """Let leased URLs wait again; return of how many that is new."""

    @abstractmethod
    def counts(self, crawl: str = "") -> QueueCounts:
        """Return how many URLs the queue of a crawl has; "" stands for all crawls."""

    @abstractmethod
    def scan(self, crawl: str = "") -> Iterator[QueuedUrl]:
        """Stream all URLs of a crawl in the order they came in; "" stands for all crawls."""

    @abstractmethod
    def crawls(self) -> list[str]:
        """Return the names of the crawls that have URLs, in order."""

    @abstractmethod
    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what contradicts the URLs: the crawl or host it is noted of, and what is wrong."""


class OutboxEntry(NamedTuple):
    """An update that waits to be sent, and its number, which grows with the order."""

    number: int
    update: UrlUpdate


class UpdateOutbox(ABC):
    """Updates that are to be sent to queues elsewhere, in order, until they were taken there."""

    @abstractmethod
    def sender(self) -> str:
        """Return the name by which queues know this outbox; no other has it."""

    @abstractmethod
    def add(self, updates: Sequence[UrlUpdate], queue: str) -> None:
        """Add updates for the queue at an address; safe on disk when it returns."""

    @abstractmethod
    def pending(self, queue: str, limit: int) -> list[OutboxEntry]:
        """Return the first updates that wait for a queue, in their order."""

    @abstractmethod
    def delivered(self, queue: str, up_to: int) -> None:
        """Remove what `pending` returned for a queue, up to a number."""

    @abstractmethod
    def queues(self) -> dict[str, int]:
        """Return the addresses of the queues that updates wait for, and how many do."""

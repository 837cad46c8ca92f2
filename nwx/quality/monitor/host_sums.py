"""Counts of hosts, of so many hosts at a time: small ones give way to others."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from nwx.quality.monitor.content_windows import TextWindow, UrlWindow
from nwx.quality.monitor.report import HostCounts

_RECENT = 128
_TOLD = 25
_LONGEST_HOST = 255


@dataclass(slots=True)
class RecentFetches:
    """The last fetches of a host, older ones counting ever less."""

    fetches: int = 0
    errors: int = 0
    unanswered: int = 0

    def add(self, *, error: bool, unanswered: bool) -> None:
        """Count one more."""
        if self.fetches >= _RECENT:
            self.fetches //= 2
            self.errors //= 2
            self.unanswered //= 2
        self.fetches += 1
        self.errors += error
        self.unanswered += unanswered


@dataclass(slots=True)
class RecentDenials:
    """The last URLs of a host, and those of them that robots.txt denies.

    `all_denied` is what the host's robots.txt says, where it is in the archive.
    """

    asked: int = 0
    denied: int = 0
    all_denied: bool = False

    def add(self, *, denied: bool) -> None:
        """Count one more."""
        if self.asked >= _RECENT:
            self.asked //= 2
            self.denied //= 2
        self.asked += 1
        self.denied += denied


@dataclass(slots=True)
class HostSums:
    """What is counted of a host; `rank` is at least the number of its fetches in all."""

    rank: int = 0
    pages: int = 0
    captures: int = 0
    bytes: int = 0
    errors: int = 0
    unanswered: int = 0
    robots: int = 0
    timed: int = 0
    ms: int = 0
    slowest_ms: int = 0
    last: str = ""
    recent: RecentFetches = field(default_factory=RecentFetches)
    denials: RecentDenials = field(default_factory=RecentDenials)
    urls: UrlWindow = field(default_factory=UrlWindow)
    texts: TextWindow = field(default_factory=TextWindow)

    @property
    def mean_ms(self) -> float | None:
        """How long a fetch takes, None where nobody said."""
        return self.ms / self.timed if self.timed else None

    def told(self, host: str) -> HostCounts:
        """Return the counts as they are told."""
        return HostCounts(
            host,
            self.pages,
            self.captures,
            self.bytes,
            self.errors,
            self.unanswered,
            self.robots,
            self.mean_ms,
            self.slowest_ms if self.timed else None,
            self.last,
        )

    def take(self, other: "HostSums") -> None:
        """Add the counts of another host that is dropped."""
        self.pages += other.pages
        self.captures += other.captures
        self.bytes += other.bytes
        self.errors += other.errors
        self.unanswered += other.unanswered
        self.robots += other.robots
        self.timed += other.timed
        self.ms += other.ms
        self.slowest_ms = max(self.slowest_ms, other.slowest_ms)
        self.last = max(self.last, other.last)


@dataclass(slots=True)
class CountedHosts:
    """Hosts by name, `most` of them at the most.

    When another comes, the half with the fewest fetches is dropped and summed
    up in `other`. A new host may have been dropped before: it ranks as the
    highest of those (`floor`), so that hosts with more fetches than that
    are never lost (the Space-Saving algorithm, in batches).
    """

    hosts: dict[str, HostSums] = field(default_factory=dict)
    other: HostSums = field(default_factory=HostSums)
    floor: int = 0
    dropped: int = 0
    most: int = 4_000

    def at(self, host: str) -> HostSums:
        """Return what is counted of a host, to be added to; names that are too long are cut."""
        host = host[:_LONGEST_HOST]
        found = self.hosts.get(host)
        if found is None:
            if len(self.hosts) >= self.most:
                self._drop()
            found = self.hosts[host] = HostSums(rank=self.floor)
        return found

    def _drop(self) -> None:
        by_rank = sorted(self.hosts, key=lambda host: (self.hosts[host].rank, host))
        for host in by_rank[: max(1, self.most // 2)]:
            gone = self.hosts.pop(host)
            self.floor = max(self.floor, gone.rank)
            self.other.take(gone)
            self.dropped += 1

    def told(self) -> tuple[HostCounts, ...]:
        """Return the first hosts by pages, bytes, errors and slowness, most pages first."""
        told = [found.told(host) for host, found in self.hosts.items()]
        chosen: dict[str, HostCounts] = {}
        for first in (
            _first(told, key=lambda one: one.pages),
            _first(told, key=lambda one: one.captures),
            _first(told, key=lambda one: one.bytes),
            _first(told, key=lambda one: one.errors),
            _first(told, key=lambda one: one.mean_ms or 0),
        ):
            chosen |= {one.host: one for one in first}
        return tuple(sorted(chosen.values(), key=lambda one: (-one.pages, -one.captures, one.host)))


def _first(told: Iterable[HostCounts], key: Callable[[HostCounts], float]) -> list[HostCounts]:
    """Return the first hosts by a measure, without those that have nothing of it."""
    found = sorted((one for one in told if key(one)), key=lambda one: (-key(one), one.host))
    return found[:_TOLD]

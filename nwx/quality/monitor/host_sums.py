"""Counts of a bounded number of hosts: small hosts are dropped for new ones."""

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from nwx.quality.monitor.report import HostCounts
from nwx.values.records import copied

_URLS = 256
_TEXTS = 64
_BITS_AN_ENTRY = 4
_KINDS = 4
_LONGEST_TITLE = 200


def content_hash(text: str) -> int:
    """Return a hash of a text that is the same in every process."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


@dataclass(slots=True)
class UrlWindow:
    """Consecutive pages of a host: the number of distinct URLs and contents.

    `shares` are the shares of new URLs, and of new contents, in the last complete window; None
    before the first.
    """

    pages: int = 0
    urls: bytearray = field(default_factory=bytearray)
    contents: bytearray = field(default_factory=bytearray)
    shares: tuple[float, float] | None = None

    def add(self, url: str, content: str) -> None:
        """Count a page, by its URL and a text that identifies its content."""
        if not self.urls:
            self.urls, self.contents = _bitmap(_URLS), _bitmap(_URLS)
        _set(self.urls, content_hash(url))
        _set(self.contents, content_hash(content))
        self.pages += 1
        if self.pages >= _URLS:
            self.shares = _count(self.urls) / self.pages, _count(self.contents) / self.pages
            self.pages, self.urls, self.contents = 0, bytearray(), bytearray()


@dataclass(slots=True)
class TextWindow:
    """Texts of a host's last pages, with decreasing weight for older ones.

    `counts` has the most frequent texts by hash (the Misra-Gries algorithm), `titles` a title of
    each.
    """

    pages: int = 0
    urls: bytearray = field(default_factory=bytearray)
    counts: dict[int, int] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)

    def add(self, url: str, text: str, title: str) -> None:
        """Count the text of a page, unless the URL was counted just before."""
        if not self.urls:
            self.urls = _bitmap(_TEXTS)
        if not _set(self.urls, content_hash(url)):
            return
        if self.pages >= _TEXTS:
            self._halve()
        self.pages += 1
        key = content_hash(text)
        if key in self.counts or len(self.counts) < _KINDS:
            self.counts[key] = self.counts.get(key, 0) + 1
            self.titles[key] = title[:_LONGEST_TITLE]
        else:
            self._keep({known: count - 1 for known, count in self.counts.items()})

    def _halve(self) -> None:
        self.pages //= 2
        self.urls = _bitmap(_TEXTS)
        self._keep({key: count // 2 for key, count in self.counts.items()})

    def _keep(self, counts: dict[int, int]) -> None:
        self.counts = {key: count for key, count in counts.items() if count > 0}
        self.titles = {key: self.titles[key] for key in self.counts}

    @property
    def share(self) -> float:
        """The share of the pages that have the most frequent text."""
        return max(self.counts.values(), default=0) / self.pages if self.pages else 0.0

    @property
    def title(self) -> str:
        """The title of the most frequent text."""
        if not self.counts:
            return ""
        return self.titles[max(self.counts, key=lambda key: (self.counts[key], key))]


def _bitmap(entries: int) -> bytearray:
    return bytearray(entries * _BITS_AN_ENTRY // 8)


def _set(bitmap: bytearray, hash: int) -> bool:
    """Set the bit of a hash; return whether it was not set before."""
    place = hash % (len(bitmap) * 8)
    bit = 1 << (place & 7)
    if bitmap[place >> 3] & bit:
        return False
    bitmap[place >> 3] |= bit
    return True


def _count(bitmap: bytearray) -> int:
    return int.from_bytes(bitmap, "big").bit_count()


_RECENT = 128
_TOLD = 25
_LONGEST_HOST = 255


@dataclass(slots=True)
class RecentFetches:
    """Counts of a host's last fetches, with decreasing weight for older ones."""

    fetches: int = 0
    errors: int = 0
    unanswered: int = 0

    def add(self, *, error: bool, unanswered: bool) -> None:
        """Count a fetch."""
        if self.fetches >= _RECENT:
            self.fetches //= 2
            self.errors //= 2
            self.unanswered //= 2
        self.fetches += 1
        self.errors += error
        self.unanswered += unanswered


@dataclass(slots=True)
class RecentDenials:
    """Recent URLs of a host: their number, and how many robots.txt denies.

    `all_denied`: the host's robots.txt denies everything; False if it is not in the archive.
    """

    asked: int = 0
    denied: int = 0
    all_denied: bool = False

    def add(self, *, denied: bool) -> None:
        """Count a URL."""
        if self.asked >= _RECENT:
            self.asked //= 2
            self.denied //= 2
        self.asked += 1
        self.denied += denied


@dataclass(slots=True)
class HostSums:
    """Counts of a host; `rank` is at least its total number of fetches."""

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
        """The mean duration of a fetch, None if unknown."""
        return self.ms / self.timed if self.timed else None

    def host_counts(self, host: str) -> HostCounts:
        """Return the counts for the report."""
        slowest = self.slowest_ms if self.timed else None
        return copied(HostCounts, self, host=host, slowest_ms=slowest)

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
    """Hosts by name, at most `most`.

    To make space for a new host, the half with the fewest fetches is dropped and summed in `other`.
    A new host may have been dropped before: it ranks as the highest dropped one (`floor`), so that
    hosts with more fetches are never lost (the Space-Saving algorithm, in batches).
    """

    hosts: dict[str, HostSums] = field(default_factory=dict)
    other: HostSums = field(default_factory=HostSums)
    floor: int = 0
    dropped: int = 0
    most: int = 4_000

    def named(self, host: str) -> HostSums:
        """Return the modifiable counts of a host; long names are cut off."""
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

    def top_hosts(self) -> tuple[HostCounts, ...]:
        """Return the top hosts by pages, captures, bytes, errors and slowness, by pages."""
        told = [found.host_counts(host) for host, found in self.hosts.items()]
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
    """Return the top hosts by a measure, without hosts where it is 0."""
    found = sorted((one for one in told if key(one)), key=lambda one: (-key(one), one.host))
    return found[:_TOLD]

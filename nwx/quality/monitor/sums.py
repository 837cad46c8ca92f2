"""The sums of a crawl, which fetches and captures are added to."""

from dataclasses import dataclass, field
from typing import NamedTuple

from nwx.quality.monitor.host_sums import CountedHosts
from nwx.quality.monitor.report import TypeCounts
from nwx.quality.monitor.time_bins import CrawlCounts, MinuteBins
from nwx.values.crawl_log import ROBOTS_DENIED, is_unanswered
from nwx.values.media_types import HTML

_FIRST_ERROR = 400
_MOST_STATUSES = 500
_EARLIEST = "1990"
OTHER_STATUS = 0
"""What a capture without a status counts as, and a status beyond the first so many."""


class Fetch(NamedTuple):
    """A URL that a crawler is done with, by its log or by the capture.

    `status` is that of Heritrix: negative where there is no answer.
    `content` tells contents apart, "" where it is not known.
    """

    url: str
    host: str
    timestamp: str
    status: int
    type: str
    bytes: int
    content: str
    took_ms: int | None = None
    is_revisit: bool = False


@dataclass(slots=True)
class TypeSums:
    """Captures and bytes of a type of content."""

    captures: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Sums:
    """All sums of a crawl; their size is bounded whatever is added.

    `latest` is the latest time that is believed (14 digits, "" for all), and
    1990 the earliest: what is later or earlier is counted, but at no time.
    """

    totals: CrawlCounts = field(default_factory=CrawlCounts)
    times: MinuteBins = field(default_factory=MinuteBins)
    statuses: dict[int, int] = field(default_factory=dict)
    types: dict[str, TypeSums] = field(default_factory=dict)
    hosts: CountedHosts = field(default_factory=CountedHosts)
    first: str = ""
    last: str = ""
    archived: int = 0
    archived_bytes: int = 0
    revisits: int = 0
    documents_known: int = 0
    latest: str = ""

    def add_fetch(self, fetch: Fetch) -> None:
        """Count a fetch."""
        status = fetch.status
        if status not in self.statuses and len(self.statuses) >= _MOST_STATUSES:
            self.statuses[OTHER_STATUS] = self.statuses.get(OTHER_STATUS, 0) + 1
        else:
            self.statuses[status] = self.statuses.get(status, 0) + 1
        self._note_time(fetch.timestamp)
        unanswered = is_unanswered(status)
        answered = status >= 0
        error = unanswered or status >= _FIRST_ERROR
        page = fetch.type == HTML and 200 <= status < 300
        size = fetch.bytes if answered else 0
        for counts in (self.totals, self.at(fetch.timestamp)):
            counts.pages += page
            counts.captures += answered
            counts.bytes += size
            counts.errors += error
            counts.duplicates += fetch.is_revisit
        self.revisits += fetch.is_revisit
        if answered:
            of_type = self.types.setdefault(fetch.type, TypeSums())
            of_type.captures += 1
            of_type.bytes += size
        self._add_to_host(fetch, page=page, error=error, unanswered=unanswered)

    def _add_to_host(self, fetch: Fetch, *, page: bool, error: bool, unanswered: bool) -> None:
        host = self.hosts.at(fetch.host)
        denied = fetch.status == ROBOTS_DENIED
        answered = fetch.status >= 0
        host.rank += 1
        host.pages += page
        host.captures += answered
        host.bytes += fetch.bytes if answered else 0
        host.errors += error
        host.unanswered += unanswered
        host.robots += denied
        if fetch.timestamp > host.last and self.believes(fetch.timestamp):
            host.last = fetch.timestamp
        if fetch.took_ms is not None and answered:
            host.timed += 1
            host.ms += fetch.took_ms
            host.slowest_ms = max(host.slowest_ms, fetch.took_ms)
        if answered or unanswered:
            host.recent.add(error=error, unanswered=unanswered)
        if not fetch.url.endswith("/robots.txt"):
            host.denials.add(denied=denied)
        if page and fetch.content:
            host.urls.add(fetch.url, fetch.content)

    def add_archived(self, timestamp: str, size: int, *, is_new: bool, is_known: bool) -> None:
        """Count a capture in the archive: what only the archive tells of it."""
        self.archived += 1
        self.archived_bytes += size
        self.documents_known += is_known
        for counts in (self.totals, self.at(timestamp)):
            counts.new_documents += is_new
            counts.duplicates += is_known

    def at(self, timestamp: str) -> CrawlCounts:
        """Return the counts of the minute of a timestamp; of a time that is not believed, none."""
        return self.times.at(timestamp) if self.believes(timestamp) else CrawlCounts()

    def _note_time(self, timestamp: str) -> None:
        if not self.believes(timestamp):
            return
        if timestamp < self.first or not self.first:
            self.first = timestamp
        if timestamp > self.last:
            self.last = timestamp

    def believes(self, timestamp: str) -> bool:
        """Tell whether a crawl can have fetched something at that time."""
        return timestamp >= _EARLIEST and not (self.latest and timestamp > self.latest)

    def told_types(self) -> tuple[TypeCounts, ...]:
        """Return the types of content, those with the most captures first."""
        told = (TypeCounts(name, one.captures, one.bytes) for name, one in self.types.items())
        return tuple(sorted(told, key=lambda one: (-one.captures, one.type)))

"""The sums of a crawl over its fetches and captures."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from nwx.quality.monitor.host_sums import CountedHosts
from nwx.quality.monitor.report import MinuteCounts, TypeCounts
from nwx.values.crawl_log import ROBOTS_DENIED, is_unanswered
from nwx.values.media_types import HTML
from nwx.values.records import add_counts, copied

_MOST_BINS = 8_000
_MINUTES_KEPT, _HOURS_KEPT, _DAYS_KEPT = timedelta(days=1), timedelta(days=31), timedelta(days=1096)
_SECONDS = {12: 60, 10: 3_600, 8: 86_400, 4: 31_536_000}


@dataclass(slots=True)
class CrawlCounts:
    """Modifiable counts, as in `MinuteCounts`."""

    pages: int = 0
    captures: int = 0
    bytes: int = 0
    errors: int = 0
    duplicates: int = 0
    new_documents: int = 0

    def add(self, other: "CrawlCounts") -> None:
        """Add other counts to these."""
        add_counts(self, other)

    def minute_counts(self, minute: str = "", seconds: int = 60) -> MinuteCounts:
        """Return the counts as MinuteCounts of a period of `seconds`."""
        return copied(MinuteCounts, self, minute=minute, seconds=seconds)


@dataclass(slots=True)
class MinuteBins:
    """CrawlCounts by timestamp prefix: 12 digits a minute, 10 an hour, 8 a day, 4 a year.

    Back from the newest minute, one day is kept by minute, one month by hour, three years by day;
    earlier counts by year.
    """

    bins: dict[str, CrawlCounts] = field(default_factory=dict)
    newest: str = ""

    def counts_at(self, timestamp: str) -> CrawlCounts:
        """Return the modifiable counts of a timestamp's minute."""
        minute = timestamp[:12]
        found = self.bins.get(minute)
        if found is None:
            if len(self.bins) >= _MOST_BINS:
                self.fold()
            found = self.bins[minute] = CrawlCounts()
            if minute > self.newest:
                self.newest = minute
        return found

    def fold(self) -> None:
        """Merge older minutes into hours, days and years."""
        if not self.newest:
            return
        newest = datetime.strptime(self.newest, "%Y%m%d%H%M").replace(tzinfo=UTC)
        hour, day, year = (
            (newest - kept).strftime("%Y%m%d%H%M")[:digits]
            for kept, digits in ((_MINUTES_KEPT, 10), (_HOURS_KEPT, 8), (_DAYS_KEPT, 4))
        )
        folded: dict[str, CrawlCounts] = {}
        for key, counts in self.bins.items():
            if key[:4] < year:
                key = key[:4]
            elif key[:8] < day:
                key = key[:8]
            elif key[:10] < hour:
                key = key[:10]
            folded.setdefault(key, CrawlCounts()).add(counts)
        self.bins = folded

    def minutes(self) -> tuple[MinuteCounts, ...]:
        """Return the counts in order of time."""
        self.fold()
        return tuple(
            self.bins[key].minute_counts(key + "01010000"[len(key) - 4 :], _SECONDS[len(key)])
            for key in sorted(self.bins)
        )

    def between(self, first: str, end: str) -> CrawlCounts:
        """Return the sum of the minutes from `first` to `end`, exclusive."""
        total = CrawlCounts()
        minute = datetime.strptime(first, "%Y%m%d%H%M").replace(tzinfo=UTC)
        while (key := minute.strftime("%Y%m%d%H%M")) < end:
            if key in self.bins:
                total.add(self.bins[key])
            minute += timedelta(minutes=1)
        return total


_FIRST_ERROR = 400
_MOST_STATUSES = 500
_EARLIEST = "1990"
OTHER_STATUS = 0
"""The status counted for captures without one, and for all above _MOST_STATUSES."""


class Fetch(NamedTuple):
    """A URL that a crawler has finished, from its log or from the capture.

    `status` is a Heritrix status: negative without a response. `content` identifies the content, ""
    if unknown.
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
    """All sums of a crawl, of bounded size.

    Fetches before 1990 or after `latest` (14 digits, "" for no limit) are counted in the totals,
    but in no period.
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
        for counts in (self.totals, self.counts_at(fetch.timestamp)):
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
        host = self.hosts.named(fetch.host)
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
        """Count a capture in the archive: only the figures that logs do not have."""
        self.archived += 1
        self.archived_bytes += size
        self.documents_known += is_known
        for counts in (self.totals, self.counts_at(timestamp)):
            counts.new_documents += is_new
            counts.duplicates += is_known

    def counts_at(self, timestamp: str) -> CrawlCounts:
        """Return the counts of a timestamp's minute; discarded ones if it is implausible."""
        return self.times.counts_at(timestamp) if self.believes(timestamp) else CrawlCounts()

    def _note_time(self, timestamp: str) -> None:
        if not self.believes(timestamp):
            return
        if timestamp < self.first or not self.first:
            self.first = timestamp
        if timestamp > self.last:
            self.last = timestamp

    def believes(self, timestamp: str) -> bool:
        """Return whether a timestamp is plausible: not before 1990 and not after `latest`."""
        return timestamp >= _EARLIEST and not (self.latest and timestamp > self.latest)

    def told_types(self) -> tuple[TypeCounts, ...]:
        """Return the types of content, most captures first."""
        told = (TypeCounts(name, one.captures, one.bytes) for name, one in self.types.items())
        return tuple(sorted(told, key=lambda one: (-one.captures, one.type)))

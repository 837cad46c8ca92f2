"""CrawlCounts by minute, older ones by hour, day and year, so that their number is bounded."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from nwx.quality.monitor.report import MinuteCounts

_MOST_BINS = 8_000
_MINUTES_KEPT, _HOURS_KEPT, _DAYS_KEPT = timedelta(days=1), timedelta(days=31), timedelta(days=1096)
_SECONDS = {12: 60, 10: 3_600, 8: 86_400, 4: 31_536_000}


@dataclass(slots=True)
class CrawlCounts:
    """The counts of `MinuteCounts`, as they grow."""

    pages: int = 0
    captures: int = 0
    bytes: int = 0
    errors: int = 0
    duplicates: int = 0
    new_documents: int = 0

    def add(self, other: "CrawlCounts") -> None:
        """Add those of another."""
        self.pages += other.pages
        self.captures += other.captures
        self.bytes += other.bytes
        self.errors += other.errors
        self.duplicates += other.duplicates
        self.new_documents += other.new_documents

    def told(self, minute: str = "", seconds: int = 60) -> MinuteCounts:
        """Return them as they are told, of a span of time."""
        return MinuteCounts(
            minute,
            seconds,
            self.pages,
            self.captures,
            self.bytes,
            self.errors,
            self.duplicates,
            self.new_documents,
        )


@dataclass(slots=True)
class MinuteBins:
    """CrawlCounts by the first digits of their time: 12 of a minute, 10 an hour, 8 a day, 4 a year.

    A day by minutes, a month by hours and three years by days are kept,
    back from the newest minute.
    """

    bins: dict[str, CrawlCounts] = field(default_factory=dict)
    newest: str = ""

    def at(self, timestamp: str) -> CrawlCounts:
        """Return the counts of the minute of a timestamp, to be added to."""
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
        """Sum up what is older by hour, day and year."""
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

    def told(self) -> tuple[MinuteCounts, ...]:
        """Return the counts in the order of their time."""
        self.fold()
        return tuple(
            self.bins[key].told(key + "01010000"[len(key) - 4 :], _SECONDS[len(key)])
            for key in sorted(self.bins)
        )

    def between(self, first: str, end: str) -> CrawlCounts:
        """Return the sum of the minutes from one up to, but without, another."""
        total = CrawlCounts()
        minute = datetime.strptime(first, "%Y%m%d%H%M").replace(tzinfo=UTC)
        while (key := minute.strftime("%Y%m%d%H%M")) < end:
            if key in self.bins:
                total.add(self.bins[key])
            minute += timedelta(minutes=1)
        return total

"""What is measured for each alert: by host, of the whole crawl, and of its disks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from nwx.quality.monitor.host_sums import HostSums
from nwx.quality.monitor.report import AlertKind
from nwx.quality.monitor.sums import Sums
from nwx.quality.monitor.thresholds import AlertThresholds, Limit
from nwx.values.timestamps import parse_timestamp, to_timestamp

_IDLE = timedelta(hours=1)
_RECENT, _BASE = timedelta(minutes=5), timedelta(minutes=30)
_MOST_TITLE = 80


class AlertReading(NamedTuple):
    """A measure that an alert may begin or go on by."""

    kind: AlertKind
    host: str
    value: float
    limit: Limit
    message: str

    @property
    def begins(self) -> bool:
        """Whether an alert begins by it."""
        return self.value >= self.limit.begin

    @property
    def goes_on(self) -> bool:
        """Whether an alert that began goes on by it."""
        return self.value >= self.limit.end


class DiskSpace(NamedTuple):
    """How many bytes a disk has, and how many are free."""

    total: int
    free: int


@dataclass(frozen=True, slots=True)
class CrawlSurroundings:
    """What is measured beside the sums of a crawl.

    `now` is the time by which the rate is judged: the present where a log is
    followed, else that of the newest capture. `queued` are the URLs that
    wait, None where nobody knows. `disks` are those that files are written to,
    by their folders.
    """

    now: datetime
    queued: int | None = None
    disks: Mapping[str, DiskSpace] = field(default_factory=dict)


def readings(
    sums: Sums, thresholds: AlertThresholds, around: CrawlSurroundings
) -> Iterator[AlertReading]:
    """Yield what is measured, as far as there is enough to measure by."""
    # A host that was not asked for an hour is not measured any more.
    recent = to_timestamp(parse_timestamp(sums.last) - _IDLE) if sums.last else ""
    for name, host in sums.hosts.hosts.items():
        if host.last >= recent:
            yield from _of_host(name, host, thresholds)
    yield from _of_rate(sums, thresholds, around)
    for folder, space in around.disks.items():
        yield _of_disk(folder, space, thresholds)


def _of_host(name: str, host: HostSums, thresholds: AlertThresholds) -> Iterator[AlertReading]:
    recent, denials = host.recent, host.denials
    if recent.fetches >= thresholds.host_fetches:
        silent = recent.unanswered / recent.fetches
        yield AlertReading(
            AlertKind.SILENT,
            name,
            silent,
            thresholds.silent,
            f"no answer to {silent:.0%} of the last requests",
        )
        errors = (recent.errors - recent.unanswered) / recent.fetches
        yield AlertReading(
            AlertKind.ERRORS,
            name,
            errors,
            thresholds.errors,
            f"{errors:.0%} of the last answers have a status from 400 on",
        )
    if denials.all_denied or denials.asked >= thresholds.robots_urls:
        denied = 1.0 if denials.all_denied else denials.denied / denials.asked
        message = f"robots.txt denies {denied:.0%} of the last URLs"
        if denials.all_denied:
            message = "robots.txt denies everything"
        yield AlertReading(AlertKind.ROBOTS, name, denied, thresholds.robots, message)
    yield from _of_contents(name, host, thresholds)


def _of_contents(name: str, host: HostSums, thresholds: AlertThresholds) -> Iterator[AlertReading]:
    """Measure walls and traps; a host whose pages have all one text is no trap."""
    texts = host.texts
    is_wall = False
    if texts.pages >= thresholds.wall_pages:
        is_wall = texts.share >= thresholds.wall.end
        title = texts.title if len(texts.title) <= _MOST_TITLE else f"{texts.title[:_MOST_TITLE]}…"
        yield AlertReading(
            AlertKind.WALL,
            name,
            texts.share,
            thresholds.wall,
            f"{texts.share:.0%} of the last pages have the same text, titled {title!r}",
        )
    if host.urls.shares is not None:
        of_urls, of_contents = host.urls.shares
        repeated = 0.0 if is_wall or not of_urls else 1 - of_contents / of_urls
        # Where the same URLs are fetched again and again, the same contents are no surprise.
        repeated *= of_urls >= 0.5
        yield AlertReading(
            AlertKind.TRAP,
            name,
            repeated,
            thresholds.trap,
            f"{repeated:.0%} of the last URLs have no content of their own",
        )


def _of_rate(
    sums: Sums, thresholds: AlertThresholds, around: CrawlSurroundings
) -> Iterator[AlertReading]:
    """Measure the last five minutes against the half hour before; the present one is not over."""
    if not sums.last or around.queued == 0:
        return
    last, first = around.now - _RECENT, around.now - _RECENT - _BASE
    end, middle, begin = (f"{time:%Y%m%d%H%M}" for time in (around.now, last, first))
    before, after = sums.times.between(begin, middle), sums.times.between(middle, end)
    minutes, recent_minutes = _BASE / timedelta(minutes=1), _RECENT / timedelta(minutes=1)
    rate = before.captures / minutes
    if rate < thresholds.rate_fetches:
        return
    now = after.captures / recent_minutes
    fall = max(0.0, 1 - now / rate)
    message = f"{now:.1f} captures a minute, {rate:.1f} in the half hour before"
    yield AlertReading(AlertKind.RATE, "", fall, thresholds.rate, message)


def _of_disk(folder: str, space: DiskSpace, thresholds: AlertThresholds) -> AlertReading:
    used = 1 - space.free / space.total if space.total else 0.0
    free = space.free / 1e9
    if free < thresholds.disk_gigabytes:
        used = max(used, thresholds.disk.begin)
    elif free < 1.25 * thresholds.disk_gigabytes:
        used = max(used, thresholds.disk.end)
    message = f"{free:.1f} GB are free where {folder} lies, of {space.total / 1e9:.1f} GB"
    return AlertReading(AlertKind.DISK, folder, used, thresholds.disk, message)

"""Thresholds of alerts, the measurements of a crawl, and when alerts begin and end."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from nwx.errors import SettingsError
from nwx.quality.monitor.host_sums import HostSums
from nwx.quality.monitor.report import Alert, AlertKind
from nwx.quality.monitor.sums import Sums
from nwx.values.timestamps import parse_timestamp, to_timestamp

_TABLE = "alerts"
_MOST_NUMBER = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limit:
    """An alert begins when a measure reaches `begin`, and ends when it is below `end`."""

    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class AlertThresholds:
    """When to alert; the table `[alerts]` of a TOML file has the same names.

    Shares are of the last 64 to 128 fetches of a host (`errors` and `silent`, from `host_fetches`
    on; `robots` from `robots_urls` on), of the last 32 to 64 of its pages (`wall`, from
    `wall_pages` on) and of 256 consecutive pages (`trap`: URLs without new content). `rate` is the
    decrease against the half hour before, of at least `rate_fetches` a minute. `disk` is the used
    share of a disk, and `disk_gigabytes` the required free space. An alert ends once its measure
    was below the lower share for `quiet_minutes`.
    """

    errors: Limit = Limit(0.5, 0.25)
    silent: Limit = Limit(0.5, 0.25)
    host_fetches: int = 20
    robots: Limit = Limit(0.95, 0.8)
    robots_urls: int = 10
    wall: Limit = Limit(0.6, 0.4)
    wall_pages: int = 20
    trap: Limit = Limit(0.9, 0.75)
    rate: Limit = Limit(0.8, 0.5)
    rate_fetches: float = 10.0
    disk: Limit = Limit(0.95, 0.93)
    disk_gigabytes: float = 2.0
    quiet_minutes: float = 5.0


def read_thresholds(path: Path) -> AlertThresholds:
    """Return the thresholds of a TOML file, with defaults for missing ones.

    A limit is a number, or the two of `[begin, end]`; the end of a single number is nine tenths of
    it. Raises SettingsError if the file cannot be read or is invalid.
    """
    with SettingsError.instead_of(
        (OSError, ValueError, RecursionError), f"thresholds in {path} cannot be read"
    ):
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    table = found.get(_TABLE, {})
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: [{_TABLE}] is not a table")
    kinds = {
        field.name: type(getattr(AlertThresholds(), field.name))
        for field in fields(AlertThresholds)
    }
    values = {}
    for name, value in table.items():
        if name not in kinds:
            raise SettingsError(f"{path}: {name[:80]!r} is not a threshold; use {', '.join(kinds)}")
        values[name] = _value(f"{path}: {name}", value, kinds[name])
    return AlertThresholds(**values)


def _value(place: str, value: Any, kind: type) -> Any:
    if kind is Limit:
        begin, end = value if isinstance(value, list) and len(value) == 2 else (value, None)
        share = _number(place, begin)
        found = Limit(share, 0.9 * share if end is None else _number(place, end))
        if not 0 <= found.end <= found.begin <= 1:
            raise SettingsError(
                f"{place} is {value!r}; it must be two shares, the higher one first"
            )
        return found
    return kind(_number(place, value))


def _number(place: str, value: Any) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value < _MOST_NUMBER
    ):
        raise SettingsError(f"{place} must be a number, at least 0 and below {_MOST_NUMBER:,}")
    return float(value)


_IDLE = timedelta(hours=1)
_RECENT, _BASE = timedelta(minutes=5), timedelta(minutes=30)
_MOST_TITLE = 80


class AlertReading(NamedTuple):
    """A measurement that may begin or continue an alert."""

    kind: AlertKind
    host: str
    value: float
    limit: Limit
    message: str

    @property
    def begins(self) -> bool:
        """Whether it begins an alert."""
        return self.value >= self.limit.begin

    @property
    def goes_on(self) -> bool:
        """Whether it continues an open alert."""
        return self.value >= self.limit.end


class DiskSpace(NamedTuple):
    """Total and free bytes of a disk."""

    total: int
    free: int


@dataclass(frozen=True, slots=True)
class CrawlSurroundings:
    """Measurements other than the sums of a crawl.

    `now` is the time for judging the rate: the present if a log is followed, else the time of the
    newest capture. `queued` is the number of waiting URLs, None if unknown. `disks` are the disks
    that files are written to, by folder.
    """

    now: datetime
    queued: int | None = None
    disks: Mapping[str, DiskSpace] = field(default_factory=dict)


def readings(
    sums: Sums, thresholds: AlertThresholds, around: CrawlSurroundings
) -> Iterator[AlertReading]:
    """Yield the measurements for which there is enough data."""
    # Hosts without a request for an hour are not measured.
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
            f"{errors:.0%} of the last answers have a status of 400 or higher",
        )
    if denials.all_denied or denials.asked >= thresholds.robots_urls:
        denied = 1.0 if denials.all_denied else denials.denied / denials.asked
        message = f"robots.txt denies {denied:.0%} of the last URLs"
        if denials.all_denied:
            message = "robots.txt denies everything"
        yield AlertReading(AlertKind.ROBOTS, name, denied, thresholds.robots, message)
    yield from _of_contents(name, host, thresholds)


def _of_contents(name: str, host: HostSums, thresholds: AlertThresholds) -> Iterator[AlertReading]:
    """Measure walls and traps; a host with the same text on all pages is not a trap."""
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
        # If the same URLs are fetched repeatedly, equal contents are no sign of a trap.
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
    """Compare the last five complete minutes with the half hour before."""
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
    message = f"{free:.1f} GB of {space.total / 1e9:.1f} GB are free on the disk of {folder}"
    return AlertReading(AlertKind.DISK, folder, used, thresholds.disk, message)


_MOST_OPEN = 1_000
_MOST_CLEARED = 200


def next_alerts(
    alerts: Iterable[Alert], readings: Iterable[AlertReading], now: datetime, quiet_minutes: float
) -> tuple[list[Alert], list[Alert], int]:
    """Return the updated alerts, the new ones among them, and how many were dropped.

    An open alert ends once its condition was false for `quiet_minutes`. Cleared alerts come first,
    then open ones, by age; the number of both is bounded.
    """
    before = list(alerts)
    cleared = [alert for alert in before if alert.cleared]
    opened = {(alert.kind, alert.host): alert for alert in before if not alert.cleared}
    moment, new, passed_over = to_timestamp(now), [], 0
    for reading in readings:
        key = (reading.kind, reading.host)
        alert = opened.get(key)
        if alert is not None and reading.goes_on:
            opened[key] = alert._replace(value=reading.value, message=reading.message, last=moment)
        elif alert is None and reading.begins:
            if len(opened) >= _MOST_OPEN:
                passed_over += 1
                continue
            opened[key] = Alert(
                reading.kind, reading.host, moment, reading.message, reading.value, moment
            )
            new.append(opened[key])
    quiet = timedelta(minutes=quiet_minutes)
    for key, alert in list(opened.items()):
        if alert.last < moment and now - parse_timestamp(alert.last) >= quiet:
            cleared.append(alert._replace(cleared=moment))
            del opened[key]
    return [*cleared[-_MOST_CLEARED:], *opened.values()], new, passed_over

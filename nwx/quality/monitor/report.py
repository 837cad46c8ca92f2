"""Reports on a running crawl."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from nwx.values.crawl_log import is_unanswered


class AlertKind(StrEnum):
    """Kinds of alerts; all but the last two are about a host."""

    ERRORS = "errors"  # it answers mostly 4xx and 5xx
    SILENT = "silent"  # it mostly gives no answer
    ROBOTS = "robots"  # robots.txt denies everything
    WALL = "wall"  # most pages have the same text: a login, a request for consent
    TRAP = "trap"  # ever more URLs, and hardly anything new among them
    RATE = "rate"  # a sudden fall of the fetches a minute
    DISK = "disk"  # hardly any space is left; `host` is the folder


class Alert(NamedTuple):
    """A condition that needs attention: since when, and when it was last true.

    Times are of 14 digits, UTC. `cleared` is "" while it holds, `told` is when a webhook or a
    command received it, "" if none did. `value` is the measurement, such as the share of errors.
    """

    kind: AlertKind
    host: str
    since: str
    message: str
    value: float
    last: str = ""
    cleared: str = ""
    told: str = ""


class MinuteCounts(NamedTuple):
    """Counts of a span of time, from `minute` (YYYYMMDDhhmm) on, `seconds` long.

    `pages` are HTML with status 2xx, `captures` fetches that were answered, `errors` statuses from
    400 on and fetches without an answer. `duplicates` are revisits, and captures of known
    documents; these and `new_documents` are known once a capture is in the archive.
    """

    minute: str
    seconds: int = 60
    pages: int = 0
    captures: int = 0
    bytes: int = 0
    errors: int = 0
    duplicates: int = 0
    new_documents: int = 0


class TypeCounts(NamedTuple):
    """Captures and bytes of a type of content (html, pdf, image, …)."""

    type: str
    captures: int
    bytes: int


class HostCounts(NamedTuple):
    """Counts of a host, as in `MinuteCounts`; `unanswered` are part of the errors.

    `robots` counts URLs that robots.txt denies. `mean_ms` and `slowest_ms` are known only from a
    crawl.log. `last` is the time of the newest fetch.
    """

    host: str
    pages: int = 0
    captures: int = 0
    bytes: int = 0
    errors: int = 0
    unanswered: int = 0
    robots: int = 0
    mean_ms: float | None = None
    slowest_ms: int | None = None
    last: str = ""


class LogProblem(NamedTuple):
    """Something in a log or an archive that could not be read or counted: file, byte, cause."""

    file: str
    offset: int | None
    message: str


_NOTHING, _NO_HOST = MinuteCounts(""), HostCounts("")


@dataclass(frozen=True, slots=True)
class MonitorReport:
    """State of a crawl when its monitor last looked.

    `began` and `looked` are when the monitor first and last looked, `first` and `last` the times of
    the oldest and newest fetch. `minutes` are in order; older ones are summed by hour, day and
    year. `hosts` are the first ones by pages, bytes, errors and slowness, of `hosts_counted`;
    `hosts_dropped` is how often a small host was dropped for another, and `other_hosts` then has
    the counts of the dropped ones. `documents_known` are captures, not revisits, of documents that
    were in the archive before; `archived` are captures in the archive. `queue` has the counts of
    the queue, of nwx (waiting, leased, done, blacklisted) or of Heritrix (queued, discovered,
    downloaded), `queued` the waiting URLs. `problems` are the last ones of `problems_total`.
    """

    name: str
    collection: str
    began: str
    looked: str = ""
    interval_seconds: float = 0.0
    crawl_log: str = ""
    first: str = ""
    last: str = ""
    totals: MinuteCounts = _NOTHING
    minutes: tuple[MinuteCounts, ...] = ()
    statuses: Mapping[int, int] = field(default_factory=dict)
    types: tuple[TypeCounts, ...] = ()
    hosts: tuple[HostCounts, ...] = ()
    hosts_counted: int = 0
    hosts_dropped: int = 0
    other_hosts: HostCounts = _NO_HOST
    archived: int = 0
    archived_bytes: int = 0
    revisits: int = 0
    documents_known: int = 0
    queued: int | None = None
    queue_source: str = ""
    queue: Mapping[str, int] = field(default_factory=dict)
    alerts: tuple[Alert, ...] = ()
    alerts_total: int = 0
    log_lines: int = 0
    problems: tuple[LogProblem, ...] = ()
    problems_total: int = 0

    @property
    def new_share(self) -> float | None:
        """The share of new documents among captures with a payload, None before the first."""
        counted = self.totals.new_documents + self.documents_known
        return self.totals.new_documents / counted if counted else None

    @property
    def asked(self) -> int:
        """How many fetches were answered or should have been: errors are a share of these."""
        return sum(
            count for status, count in self.statuses.items() if status >= 0 or is_unanswered(status)
        )

    @property
    def hosts_are_bounded(self) -> bool:
        """Whether counts of hosts may be incomplete, as small hosts were dropped."""
        return self.hosts_dropped > 0

    @property
    def open_alerts(self) -> tuple[Alert, ...]:
        """The alerts that hold now, the newest first."""
        return tuple(alert for alert in self.alerts if not alert.cleared)


def monitor_json(report: MonitorReport) -> dict[str, Any]:
    """Return a report as JSON has it."""
    found = asdict(report)
    for name in ("minutes", "types", "hosts", "alerts", "problems"):
        found[name] = [each._asdict() for each in getattr(report, name)]
    totals = report.totals._asdict()
    found["totals"] = {name: totals[name] for name in totals if name not in ("minute", "seconds")}
    found["other_hosts"] = report.other_hosts._asdict()
    found["statuses"] = {str(status): count for status, count in report.statuses.items()}
    return found | {"new_share": report.new_share, "hosts_are_bounded": report.hosts_are_bounded}

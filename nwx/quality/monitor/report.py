"""What is told of a crawl as it runs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from nwx.values.crawl_log import is_unanswered


class AlertKind(StrEnum):
    """What an alert is about; all but the last two are about a host."""

    ERRORS = "errors"  # it answers mostly 4xx and 5xx
    SILENT = "silent"  # it mostly gives no answer
    ROBOTS = "robots"  # robots.txt denies everything
    WALL = "wall"  # most pages have the same text: a login, a request for consent
    TRAP = "trap"  # ever more URLs, and hardly anything new among them
    RATE = "rate"  # a sudden fall of the fetches a minute
    DISK = "disk"  # hardly any space is left; `host` is the folder


class Alert(NamedTuple):
    """Something that somebody should look at: since when, and when it was last true.

    Times are of 14 digits, UTC. `cleared` is "" as long as it holds, `told`
    says when a webhook or a command was told, "" where none was. `value` is
    what was measured, such as the share of errors.
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

    `pages` are HTML with status 2xx, `captures` fetches that were answered,
    `errors` statuses from 400 on and fetches without an answer. `duplicates`
    are revisits, and captures of documents that were known; those and
    `new_documents` are known when a capture is in the archive.
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
    """Counts of a host, as `MinuteCounts` has them; `unanswered` are part of the errors.

    `robots` are URLs that robots.txt denies. `mean_ms` and `slowest_ms` are
    known from a crawl.log only. `last` is the time of the newest fetch.
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
    """A crawl as its monitor saw it last.

    `began` and `looked` are when the monitor first and last looked, `first`
    and `last` the times of the oldest and newest fetch. `minutes` come in
    order; older ones are summed up by hour, day and year. `hosts` are the
    first ones by pages, bytes, errors and slowness, of `hosts_counted`;
    `hosts_dropped` tells how often a small host gave way to another, and
    then `other_hosts` has what was counted of those. `documents_known` are
    captures, not revisits, of documents that were in the archive before;
    `archived` are captures in the archive. `queue` has what is known of the
    queue, of nwx (waiting, leased, done, blacklisted) or of Heritrix
    (queued, discovered, downloaded), `queued` the URLs that wait.
    `problems` are the last ones of `problems_total`.
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
        """Whether counts of hosts may lack what was dropped with small hosts."""
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

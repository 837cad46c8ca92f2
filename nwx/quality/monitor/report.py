"""Reports on a running crawl, and notices of its alerts."""

import json
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import requests

from nwx.bulk.child_processes import Death, KeptProcess
from nwx.bulk.child_processes import requests as messages
from nwx.errors import NwxError
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
    """The state of a crawl when its monitor last looked.

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
        """The fetches answered or left unanswered, of which errors are a share."""
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
    """Return a report as JSON values."""
    found = asdict(report)
    for name in ("minutes", "types", "hosts", "alerts", "problems"):
        found[name] = [each._asdict() for each in getattr(report, name)]
    totals = report.totals._asdict()
    found["totals"] = {name: totals[name] for name in totals if name not in ("minute", "seconds")}
    found["other_hosts"] = report.other_hosts._asdict()
    found["statuses"] = {str(status): count for status, count in report.statuses.items()}
    return found | {"new_share": report.new_share, "hosts_are_bounded": report.hosts_are_bounded}


_WEBHOOK_SECONDS, _MARGIN_SECONDS = 15.0, 5.0
_COMMAND_SECONDS = 30.0
_PAUSES = (1.0, 5.0, 30.0, 120.0)
_MOST_WAITING = 1_000
_ENDING_SECONDS = 2.0
_MOST_MESSAGE = 200


class NoticeError(NwxError):
    """An alert could not be delivered this time."""


class Webhook:
    """An address that receives alerts as JSON by POST.

    A separate process posts them: only killing it bounds the time of a name look-up, a connection
    and a response that arrives byte by byte.
    """

    def __init__(self, address: str, seconds: float = _WEBHOOK_SECONDS) -> None:
        self._address, self._seconds = address, seconds
        self._poster = KeptProcess(post_notices)

    def tell(self, notice: dict[str, Any]) -> None:
        """Post an alert, accepted with any status from 200 to 299; raises NoticeError if not."""
        message = json.dumps((self._address, notice, self._seconds)).encode()
        answer = self._poster.ask(message, seconds=self._seconds + _MARGIN_SECONDS)
        if isinstance(answer, Death):
            raise NoticeError(f"the webhook {answer.cause(self._seconds)}")
        if answer:
            raise NoticeError(f"the webhook {answer.decode()}")


def post_notices(connection: "Connection[Any, Any]") -> None:
    """Post alerts received over a connection; answer each with its problem, empty if none."""
    for message in messages(connection):
        address, notice, seconds = json.loads(message)
        signal.setitimer(signal.ITIMER_REAL, seconds)  # ends this process
        problem = _post(address, notice, seconds)
        signal.setitimer(signal.ITIMER_REAL, 0)
        connection.send_bytes(problem.encode())


def _post(address: str, notice: dict[str, Any], seconds: float) -> str:
    session = requests.Session()
    session.trust_env = False
    try:
        with session.post(
            address, json=notice, timeout=seconds, allow_redirects=False, stream=True
        ) as answer:
            taken = 200 <= answer.status_code < 300
            return "" if taken else f"answers {answer.status_code}"
    # urllib3 raises a kind of ValueError for some host names.
    except (requests.RequestException, OSError, ValueError) as error:
        return f"does not answer: {type(error).__name__}"
    finally:
        session.close()


class AlertCommand:
    """A program that gets alerts as JSON on its standard input; no shell reads its arguments."""

    def __init__(self, arguments: Sequence[str], seconds: float = _COMMAND_SECONDS) -> None:
        self._arguments, self._seconds = list(arguments), seconds

    def tell(self, notice: dict[str, Any]) -> None:
        """Run the program for a limited time; raises NoticeError if it does not end with 0."""
        name = self._arguments[0]
        try:
            done = subprocess.run(
                self._arguments,
                input=json.dumps(notice).encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=self._seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NoticeError(f"{name} took longer than {self._seconds:g} s") from error
        except OSError as error:
            raise NoticeError(f"{name} cannot be run: {error.strerror}") from error
        if done.returncode:
            raise NoticeError(f"{name} ended with {done.returncode}")


Channel = Webhook | AlertCommand
"""A receiver of alerts."""


class Notices:
    """A queue of alerts, and the thread that sends them one at a time.

    A rejected alert is retried after growing pauses and then dropped. The length of the queue is
    bounded: if it is exceeded, the oldest alert is dropped.
    """

    def __init__(
        self,
        channels: Sequence[Channel],
        on_problem: Callable[[str], object],
        pauses: Sequence[float] = _PAUSES,
    ) -> None:
        self._channels, self._on_problem, self._pauses = channels, on_problem, pauses
        self._waiting: deque[tuple[str, Alert]] = deque()
        self._told: list[Alert] = []
        self._changed = threading.Condition()
        self._busy = self._ending = False
        self._thread: threading.Thread | None = None

    def add(self, name: str, alert: Alert) -> None:
        """Queue an alert of a monitor for sending."""
        if not self._channels:
            return
        with self._changed:
            if len(self._waiting) >= _MOST_WAITING:
                _, dropped = self._waiting.popleft()
                self._told.append(dropped)
                self._on_problem(
                    f"too many alerts are waiting to be sent; one of {dropped.kind} was dropped"
                )
            self._waiting.append((name, alert))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="nwx-notices")
                self._thread.start()
            self._changed.notify_all()

    def take_sent(self) -> list[Alert]:
        """Return the alerts that were sent, or dropped, since the last call.

        An alert still pending at the end is neither: it is sent the next time.
        """
        with self._changed:
            told, self._told = self._told, []
            return told

    def finish(self, seconds: float) -> None:
        """Wait at most `seconds` until the queue is empty, then end.

        An alert waiting for a retry is not awaited.
        """
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._busy), seconds)
            self._ending = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._busy, _ENDING_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._ending:
                    self._changed.wait()
                if self._ending:
                    return
                name, alert = self._waiting.popleft()
                self._busy = True
            notice = {"monitor": name, **alert._asdict()}
            done = [self._tell(channel, notice) for channel in self._channels]
            with self._changed:
                self._busy = False
                if all(done):
                    self._told.append(alert)
                self._changed.notify_all()

    def _tell(self, channel: Channel, notice: dict[str, Any]) -> bool:
        """Send an alert; return whether it is finished, sent or dropped."""
        problem = ""
        for pause in (*self._pauses, None):
            try:
                channel.tell(notice)
            except NoticeError as error:
                problem = str(error)[:_MOST_MESSAGE]
            else:
                return True
            with self._changed:
                if pause is not None and self._changed.wait_for(lambda: self._ending, pause):
                    self._on_problem(f"an alert was not sent yet: {problem}")
                    return False
        self._on_problem(f"an alert was not sent: {problem}")
        return True

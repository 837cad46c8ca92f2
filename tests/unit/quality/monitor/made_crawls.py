"""Log lines, and a monitor of a crawl simulated by them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nwx.engine.base import Engine
from nwx.quality.monitor.alerts import DiskSpace
from nwx.quality.monitor.monitor import Monitor, MonitorOptions
from nwx.quality.monitor.report import Alert, AlertKind, MonitorReport, Notices
from tests.conformance.archive import sha1

BEGIN = datetime(2026, 11, 22, 8, tzinfo=UTC)
ROOMY = DiskSpace(10**12, 6 * 10**11)


def log_line(
    url: str,
    time: datetime = BEGIN,
    status: int = 200,
    *,
    size: int = 1_000,
    mime: str = "text/html",
    digest: str | None = None,
    took_ms: int = 20,
    notes: str = "-",
) -> str:
    """Return a line of a crawl.log; the digest is that of the URL."""
    begun = time - timedelta(milliseconds=took_ms)
    content = digest or sha1(url)
    answered = f"{begun:%Y%m%d%H%M%S}000+{took_ms} {content}" if status > 0 else "- -"
    return (
        f"{time:%Y-%m-%dT%H:%M:%S}.000Z {status:5} {size if status > 0 else '-':>10} {url} L"
        f" http://seed.example/ {mime if status > 0 else 'unknown'} #001 {answered} - {notes}\n"
    )


@dataclass
class Clock:
    """A clock set by tests."""

    now: datetime = BEGIN

    def __call__(self) -> datetime:
        """Return the current time."""
        return self.now


@dataclass
class MadeCrawl:
    """A simulated crawl of an archive with a generated log, and its monitor."""

    engine: Engine
    folder: Path
    with_log: bool = True
    clock: Clock = field(default_factory=Clock)
    notices: Notices | None = None
    space: DiskSpace = ROOMY
    collection: str = "web"

    def monitor(self, **options: object) -> Monitor:
        """Return a monitor of the crawl."""
        log = self.log if self.with_log else None
        asked = MonitorOptions("floods", self.collection, log, **options)  # type: ignore[arg-type]
        return Monitor(self.engine, asked, self.notices, self.clock, lambda _: self.space)

    @property
    def log(self) -> Path:
        """The path of the log."""
        return self.folder / "crawl.log"

    def write(self, lines: Iterable[str]) -> None:
        """Add lines to the log."""
        with self.log.open("a", encoding="utf-8") as stream:
            stream.writelines(lines)

    def minutes(
        self,
        monitor: Monitor,
        count: int,
        lines_of: Callable[[int, datetime], Iterable[str]],
    ) -> MonitorReport:
        """Let minutes pass; in each, write its lines, then let the monitor look."""
        for _ in range(count):
            start = self.clock.now
            number = int((start - BEGIN) / timedelta(minutes=1))
            self.write(lines_of(number, start))
            self.clock.now = start + timedelta(minutes=1)
            report = monitor.look()
        return report


def healthy(number: int, start: datetime) -> list[str]:
    """Return one minute of log lines of a healthy crawl over several hosts."""
    lines = []
    for place in range(40):
        host = f"www{place % 8}.example"
        time = start + timedelta(seconds=place)
        path = f"{number}/{place}"
        status = 404 if place % 10 == 9 else 200
        lines.append(log_line(f"http://{host}/{path}.html", time, status))
        if place % 5 == 0:
            image = log_line(
                f"http://{host}/{path}.png", time, mime="image/png", digest="sha1:LOGO"
            )
            lines.append(image)
        if place == 7:
            lines.append(log_line(f"http://dead{number}.example/", time, -2))
            lines.append(log_line(f"http://{host}/private/{path}", time, -9998))
            lines.append(log_line(f"dns:{host}", time, 1, mime="text/dns"))
    return lines


def kinds(alerts: Iterable[Alert]) -> set[tuple[AlertKind, str]]:
    """Return kinds and subjects of alerts."""
    return {(alert.kind, alert.host) for alert in alerts}

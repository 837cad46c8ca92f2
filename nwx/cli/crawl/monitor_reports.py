"""Reports on a running crawl, on a terminal."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, counted, size_words
from nwx.cli.terminal import OneLine, console
from nwx.quality.monitor.report import HostCounts, MinuteCounts, MonitorReport

_MINUTES_SHOWN, _HOSTS_SHOWN, _ALERTS_SHOWN, _TYPES_SHOWN = 8, 8, 8, 6


def print_monitor(report: MonitorReport) -> None:
    """Print a report."""
    console().print(_drawn(report))


@contextmanager
def live_monitor() -> Iterator[tuple[Callable[[MonitorReport], None], Callable[[str], None]]]:
    """Yield a function that replaces the report shown, and one that prints a line above it."""
    with Live(console=console(), auto_refresh=False, vertical_overflow="ellipsis") as live:

        def show(report: MonitorReport) -> None:
            live.update(_drawn(report), refresh=True)

        def show_line(text: str) -> None:
            live.console.print(Text(clean(text)), soft_wrap=True)

        yield show, show_line


def _drawn(report: MonitorReport) -> RenderableType:
    # The last parts may not fit on a terminal.
    parts: list[RenderableType] = [_head(report)]
    if report.alerts:
        parts.append(_alerts(report))
    if report.problems_total:
        last = report.problems[-1]
        place = "" if last.offset is None else f" at {last.offset}"
        number = counted(report.problems_total, "problem")
        text = f"{number}, the last: {last.file}{place}: {last.message}"
        parts.append(Text(clean(text), style="yellow"))
    return Group(*parts, _minutes(report), _hosts(report))


def _head(report: MonitorReport) -> RenderableType:
    totals = report.totals
    table = Table.grid(padding=(0, 2))
    share = report.new_share
    rows = (
        ("crawl", f"{clean(report.name)}, collection {clean(report.collection)}"),
        ("looked", _moment(report.looked)),
        ("captures", f"{totals.captures:,}, {size_words(totals.bytes)}, {totals.pages:,} pages"),
        ("errors", f"{totals.errors:,}"),
        ("statuses", _counts({str(key): count for key, count in report.statuses.items()})),
        ("types", _counts({one.type: one.captures for one in report.types})),
        ("in the archive", f"{report.archived:,} captures, {size_words(report.archived_bytes)}"),
        ("duplicates", f"{totals.duplicates:,}, {report.revisits:,} of them revisits"),
        (
            "new documents",
            f"{totals.new_documents:,}" + ("" if share is None else f" ({share:.0%})"),
        ),
    )
    for title, text in rows:
        table.add_row(title, text)
    if report.queue:
        table.add_row("queue", _counts(report.queue))
    return table


def _counts(counts: Mapping[str, int]) -> str:
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_TYPES_SHOWN]
    return ", ".join(f"{clean(name)} {count:,}" for name, count in most)


def _minutes(report: MonitorReport) -> RenderableType:
    table = _table("minute", "captures", "pages", "bytes", "errors", "duplicates", "new")
    for one in report.minutes[-_MINUTES_SHOWN:]:
        table.add_row(_span(one), *_numbers(one))
    return table


def _numbers(one: MinuteCounts) -> tuple[str, ...]:
    return (
        f"{one.captures:,}",
        f"{one.pages:,}",
        size_words(one.bytes),
        f"{one.errors:,}",
        f"{one.duplicates:,}",
        f"{one.new_documents:,}",
    )


def _hosts(report: MonitorReport) -> RenderableType:
    table = _table("host", "pages", "captures", "bytes", "errors", "mean ms", "slowest ms")
    for host in report.hosts[:_HOSTS_SHOWN]:
        table.add_row(OneLine(host.host), *_host_numbers(host))
    hidden = report.hosts_counted - min(len(report.hosts), _HOSTS_SHOWN)
    if hidden > 0:
        table.add_row(f"and {hidden:,} more")
    if report.hosts_are_bounded:
        table.add_row("small hosts, combined", *_host_numbers(report.other_hosts))
    return table


def _host_numbers(host: HostCounts) -> tuple[str, ...]:
    return (
        f"{host.pages:,}",
        f"{host.captures:,}",
        size_words(host.bytes),
        f"{host.errors:,}",
        "" if host.mean_ms is None else f"{host.mean_ms:,.0f}",
        "" if host.slowest_ms is None else f"{host.slowest_ms:,}",
    )


def _alerts(report: MonitorReport) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    for title in ("alert", "host", "since", "until", ""):
        table.add_column(title)
    shown = sorted(report.alerts, key=lambda one: bool(one.cleared))[:_ALERTS_SHOWN]
    for alert in shown:
        style = "" if alert.cleared else "bold red"
        table.add_row(
            Text(alert.kind, style=style),
            OneLine(alert.host),
            _moment(alert.since),
            _moment(alert.cleared),
            clean(alert.message),
        )
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for title in others:
        table.add_column(title, justify="right")
    return table


def _span(one: MinuteCounts) -> str:
    minute = one.minute
    day = f"{minute[:4]}-{minute[4:6]}-{minute[6:8]}"
    if one.seconds == 60:
        return f"{day} {minute[8:10]}:{minute[10:]}"
    return {3_600: f"{day} {minute[8:10]} h", 86_400: day}.get(one.seconds, minute[:4])


def _moment(timestamp: str) -> str:
    if not timestamp:
        return ""
    day = f"{timestamp[:4]}-{timestamp[4:6]}-{timestamp[6:8]}"
    return f"{day} {timestamp[8:10]}:{timestamp[10:12]}:{timestamp[12:14]}"

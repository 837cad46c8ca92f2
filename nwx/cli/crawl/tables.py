"""Printing of comparisons and of running crawls, in its own module as help does not need rich."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, counted, date_words, size_words
from nwx.cli.terminal import OneLine, console, number_table

if TYPE_CHECKING:
    from nwx.quality.monitor.report import HostCounts, MinuteCounts, MonitorReport
    from nwx.steering.comparison.comparison import (
        CollectionComparison,
        ComparedCollection,
        HostComparison,
    )
    from nwx.steering.comparison.counts import Overlap
    from nwx.steering.comparison.quality import QualityChanges, QualityComparison

_COMPARED_HOSTS_SHOWN = 10
_CHANGES_SHOWN = 5


def print_comparison(comparison: "CollectionComparison") -> None:
    """Print counts, relevance, quality, overlap, freshness and the hosts with most captures."""
    sides = comparison.sides
    table = number_table("", *(clean(side.name) for side in sides))
    for title, value in _COUNTS.items():
        table.add_row(title, *map(value, sides))
    for status in sorted({status for side in sides for status in side.counts.statuses}):
        counts = (side.counts.statuses[status] for side in sides)
        table.add_row(f"  status {status}", *(f"{count:,}" for count in counts))
    _add_ages(table, sides)
    if comparison.specification is not None:
        _add_relevance(table, comparison)
    if comparison.quality is not None:
        _add_quality(table, comparison.quality)
    console().print(table)
    if comparison.b is not None:
        _print_overlap(comparison)
    if comparison.quality is not None and comparison.quality.changes is not None:
        _print_changes(comparison, comparison.quality.changes)
    _print_hosts(comparison)


_COUNTS: "dict[str, Callable[[ComparedCollection], str]]" = {
    "captures": lambda side: f"{side.counts.captures:,}",
    "revisits": lambda side: f"{side.counts.revisits:,}",
    "URLs": lambda side: f"{side.counts.urls:,}",
    "hosts": lambda side: f"{side.counts.hosts:,}",
    "documents": lambda side: f"{side.counts.documents:,}",
    "duplicates": lambda side: _part(side.counts.duplicates, side.counts.captures),
    "bytes": lambda side: size_words(side.counts.bytes),
    "first capture": lambda side: date_words(side.counts.first),
    "last capture": lambda side: date_words(side.counts.last),
    "errors": lambda side: _part(side.counts.errors, side.counts.captures),
}


def _add_ages(table: Table, sides: "Sequence[ComparedCollection]") -> None:
    from nwx.steering.comparison.comparison_json import AGES, ages

    until = max(side.counts.last for side in sides)
    groups = [ages(side.counts, until) for side in sides]
    for place, days in enumerate((*AGES, None)):
        title = f"  up to {days} days old" if days else f"  more than {AGES[-1]} days old"
        table.add_row(title, *(f"{counts[place]:,} URLs" for counts in groups))


def _add_relevance(table: Table, comparison: "CollectionComparison") -> None:
    from nwx.steering.comparison.counts import SCORE_BINS

    assert comparison.specification is not None
    table.add_section()
    known = [side.relevance for side in comparison.sides if side.relevance is not None]
    rules = [side.rules for side in comparison.sides if side.rules is not None]
    table.add_row(
        f"relevant to {clean(comparison.specification.name)}",
        *(_part(one.relevant, one.pages) for one in known),
    )
    table.add_row("mean score", *("" if one.mean is None else f"{one.mean:.3f}" for one in known))
    for place in range(SCORE_BINS):
        if any(one.distribution[place] for one in known):
            title = f"  scores from {place / SCORE_BINS:.1f}"
            table.add_row(title, *(f"{one.distribution[place]:,}" for one in known))
    table.add_row("not analysed", *(f"{one.unscored:,}" for one in known))
    seeds = len(comparison.specification.seeds)
    table.add_row("seeds captured", *(_part(one.seeds, seeds) for one in rules))
    table.add_row("blacklisted URLs", *(f"{one.blacklisted:,}" for one in rules))
    table.add_row("URLs outside", *(f"{one.outside:,}" for one in rules))
    table.add_row("preferred URLs", *(f"{one.preferred:,}" for one in rules))


def _add_quality(table: Table, quality: "QualityComparison") -> None:
    from nwx.steering.comparison.quality import QUALITY_BINS

    table.add_section()
    sides = quality.sides
    table.add_row("pages checked", *(f"{one.pages:,}" for one in sides))
    means = ("" if one.mean is None else f"{one.mean:.3f}" for one in sides)
    table.add_row("mean playback score", *means)
    for place in range(QUALITY_BINS):
        if any(one.distribution[place] for one in sides):
            title = f"  scores from {place / QUALITY_BINS:.1f}"
            table.add_row(title, *(f"{one.distribution[place]:,}" for one in sides))
    for kind in sorted({kind for one in sides for kind in one.faults}):
        counts = (_part(one.faults[kind], one.pages) for one in sides)
        table.add_row(f"  fault: {clean(kind).replace('_', ' ')}", *counts)
    table.add_row("missing resources", *(f"{one.missing_resources:,}" for one in sides))


def _print_changes(comparison: "CollectionComparison", changes: "QualityChanges") -> None:
    assert comparison.b is not None
    a, b = clean(comparison.a.name), clean(comparison.b.name)
    click.echo(
        f"Of {changes.both:,} pages checked in both, {changes.worse:,} play worse in {b} than in"
        f" {a}, {changes.better:,} better, {changes.same:,} the same."
    )
    table = number_table("page", a, b)
    for page in (*changes.worst[:_CHANGES_SHOWN], *changes.best[:_CHANGES_SHOWN]):
        scores = (f"{score:.2f}" for score in (page.score_a, page.score_b))
        table.add_row(Text(clean(page.url)), *scores)
    if table.row_count:
        console().print(table)


def _print_overlap(comparison: "CollectionComparison") -> None:
    assert comparison.b is not None
    a, b = clean(comparison.a.name), clean(comparison.b.name)
    table = number_table("", "in both", f"only {a}", f"only {b}", f"{a} in {b}", f"{b} in {a}")
    for title, overlap in (
        ("URLs", comparison.urls),
        ("hosts", comparison.hosts),
        ("documents", comparison.documents),
    ):
        table.add_row(title, *_overlap_cells(overlap))
    console().print(table)
    fresh = comparison.freshness
    click.echo(
        f"Of the URLs in both, {fresh.newer_in_a:,} are newer in {a}, {fresh.newer_in_b:,} in {b};"
        f" the newest captures of {fresh.changed:,} differ."
    )


def _overlap_cells(overlap: "Overlap") -> list[str]:
    shares = overlap.share_of_a, overlap.share_of_b
    counts = overlap.both, overlap.only_a, overlap.only_b
    return [
        *(f"{count:,}" for count in counts),
        *("" if share is None else f"{share:.0%}" for share in shares),
    ]


def _print_hosts(comparison: "CollectionComparison") -> None:
    names = [clean(side.name) for side in comparison.sides]
    scored = comparison.specification is not None
    headings = [f"captures, {name}" for name in names] + [f"URLs, {name}" for name in names]
    headings += [f"relevant, {name}" for name in names] if scored else []
    table = number_table("host", *headings)
    for host in comparison.top_hosts[:_COMPARED_HOSTS_SHOWN]:
        table.add_row(Text(clean(host.host)), *_host_cells(host, scored=scored))
    console().print(table)


def _host_cells(host: "HostComparison", *, scored: bool) -> list[str]:
    numbers = [*host.captures, *host.urls, *(host.relevant if scored else ())]
    return [f"{number:,}" for number in numbers]


def _part(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.0%})" if whole else f"{part:,}"


_MINUTES_SHOWN, _HOSTS_SHOWN, _ALERTS_SHOWN, _TYPES_SHOWN = 8, 8, 8, 6


def print_monitor(report: "MonitorReport") -> None:
    """Print a report."""
    console().print(_drawn(report))


@contextmanager
def live_monitor() -> "Iterator[tuple[Callable[[MonitorReport], None], Callable[[str], None]]]":
    """Yield a function that replaces the report shown, and one that prints a line above it."""
    with Live(console=console(), auto_refresh=False, vertical_overflow="ellipsis") as live:

        def show(report: "MonitorReport") -> None:
            live.update(_drawn(report), refresh=True)

        def show_line(text: str) -> None:
            live.console.print(Text(clean(text)), soft_wrap=True)

        yield show, show_line


def _drawn(report: "MonitorReport") -> RenderableType:
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


def _head(report: "MonitorReport") -> RenderableType:
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


def _minutes(report: "MonitorReport") -> RenderableType:
    table = _table("minute", "captures", "pages", "bytes", "errors", "duplicates", "new")
    for one in report.minutes[-_MINUTES_SHOWN:]:
        table.add_row(_span(one), *_numbers(one))
    return table


def _numbers(one: "MinuteCounts") -> tuple[str, ...]:
    return (
        f"{one.captures:,}",
        f"{one.pages:,}",
        size_words(one.bytes),
        f"{one.errors:,}",
        f"{one.duplicates:,}",
        f"{one.new_documents:,}",
    )


def _hosts(report: "MonitorReport") -> RenderableType:
    table = _table("host", "pages", "captures", "bytes", "errors", "mean ms", "slowest ms")
    for host in report.hosts[:_HOSTS_SHOWN]:
        table.add_row(OneLine(host.host), *_host_numbers(host))
    hidden = report.hosts_counted - min(len(report.hosts), _HOSTS_SHOWN)
    if hidden > 0:
        table.add_row(f"and {hidden:,} more")
    if report.hosts_are_bounded:
        table.add_row("small hosts, combined", *_host_numbers(report.other_hosts))
    return table


def _host_numbers(host: "HostCounts") -> tuple[str, ...]:
    return (
        f"{host.pages:,}",
        f"{host.captures:,}",
        size_words(host.bytes),
        f"{host.errors:,}",
        "" if host.mean_ms is None else f"{host.mean_ms:,.0f}",
        "" if host.slowest_ms is None else f"{host.slowest_ms:,}",
    )


def _alerts(report: "MonitorReport") -> RenderableType:
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


def _span(one: "MinuteCounts") -> str:
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

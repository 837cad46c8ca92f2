"""A running crawl: the part of its page that refreshes itself, and its charts as pictures."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString, gettext, lazy_gettext
from werkzeug.exceptions import NotFound

from nwx.charts import specs
from nwx.charts.fields import Field, FieldKind, Spec, drawable
from nwx.charts.specs import TIME, rates
from nwx.errors import TimestampError
from nwx.quality.monitor.report import (
    HostCounts,
    MinuteCounts,
    MonitorReport,
    TypeCounts,
)
from nwx.values.crawl_log import ROBOTS_DENIED, is_unanswered
from nwx.values.timestamps import parse_timestamp, to_timestamp
from webapp.explore.charts import NARROW, PICTURE_WIDTH, asked_picture, picture_width, with_words
from webapp.explore.page import chart_values
from webapp.quality_labels import ALERT_NAMES
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.question_limits import answer_search

MONITOR_CHARTS = ("fetches", "bytes", "documents", "statuses", "types")
"""The names of all charts of a crawl."""

STATUSES_SHOWN = 20
TYPES_SHOWN = 12
_MINUTE = 12
_MOST_POINTS = 300
_WHOLE_MINUTE = 60.0


class Span(StrEnum):
    """The time span of the charts over time, up to the newest fetch."""

    HOUR = "hour"
    DAY = "day"
    ALL = "all"


_SECONDS = {Span.HOUR: 3_600, Span.DAY: 86_400}


@dataclass(frozen=True, slots=True)
class Rate:
    """A field of `MinuteCounts` over time: its name and its title."""

    name: str
    title: LazyString


@dataclass(frozen=True, slots=True)
class RateChart:
    """A chart over time, with the rates that it shows."""

    title: LazyString
    axis: LazyString
    kind: FieldKind
    rates: tuple[Rate, ...]


RATE_CHARTS = {
    "fetches": RateChart(
        lazy_gettext("Pages, captures and errors a minute"),
        lazy_gettext("A minute"),
        FieldKind.COUNT,
        (
            Rate("pages", lazy_gettext("pages")),
            Rate("captures", lazy_gettext("captures")),
            Rate("errors", lazy_gettext("errors")),
        ),
    ),
    "bytes": RateChart(
        lazy_gettext("Bytes a minute"),
        lazy_gettext("Bytes a minute"),
        FieldKind.BYTES,
        (Rate("bytes", lazy_gettext("bytes")),),
    ),
    "documents": RateChart(
        lazy_gettext("New documents and duplicates a minute"),
        lazy_gettext("A minute"),
        FieldKind.COUNT,
        (
            Rate("new_documents", lazy_gettext("new documents")),
            Rate("duplicates", lazy_gettext("duplicates")),
        ),
    ),
}


def monitor_chart(report: MonitorReport, name: str, span: Span, width: int) -> Spec:
    """Return a chart of a crawl by its name in MONITOR_CHARTS."""
    if name in RATE_CHARTS:
        return _rates(report, RATE_CHARTS[name], span, width)
    return _statuses(report, width) if name == "statuses" else _types(report, width)


def shown_minutes(report: MonitorReport, span: Span) -> list[MinuteCounts]:
    """Return the counts of a span of time up to the newest fetch, in order."""
    minutes = list(report.minutes)
    seconds = _SECONDS.get(span)
    if not minutes or seconds is None:
        return minutes
    try:
        end = parse_timestamp(minutes[-1].minute) + timedelta(seconds=minutes[-1].seconds)
        since = to_timestamp(end - timedelta(seconds=seconds))[:_MINUTE]
    except (TimestampError, OverflowError):
        return minutes
    return [one for one in minutes if one.minute >= since]


def merged_minutes(minutes: Sequence[MinuteCounts], most: int) -> list[MinuteCounts]:
    """Return the counts merged into about `most` spans of time."""
    seconds = sum(one.seconds for one in minutes)
    longest = seconds / most
    merged: list[MinuteCounts] = []
    for one in minutes:
        if merged and _are_neighbours(merged[-1], one) and merged[-1].seconds < longest:
            merged[-1] = _sum(merged[-1], one)
        else:
            merged.append(one)
    return merged


def _are_neighbours(one: MinuteCounts, other: MinuteCounts) -> bool:
    try:
        begins = parse_timestamp(one.minute), parse_timestamp(other.minute)
    except TimestampError:
        return False
    return begins[1] - begins[0] == timedelta(seconds=one.seconds)


def _sum(one: MinuteCounts, other: MinuteCounts) -> MinuteCounts:
    (minute, *counts), (_, *others) = one, other
    return MinuteCounts(minute, *(a + b for a, b in zip(counts, others, strict=True)))


def rate_of(counts: MinuteCounts, name: str) -> float:
    """Return a count per minute."""
    value: int = getattr(counts, name)
    return round(value * _WHOLE_MINUTE / counts.seconds, 1) if counts.seconds else float(value)


def status_name(status: int) -> str:
    """Return the label of a status; below 0 are Heritrix's codes for failed fetches."""
    if status == ROBOTS_DENIED:
        return gettext("denied by robots.txt (%(status)s)", status=status)
    if status < 0:
        if is_unanswered(status):
            return gettext("no answer (%(status)s)", status=status)
        return gettext("not fetched (%(status)s)", status=status)
    return str(status) if status else gettext("not known")


def _rates(report: MonitorReport, chart: RateChart, span: Span, width: int) -> Spec:
    names = tuple(str(rate.title) for rate in chart.rates)
    series = Field("series", gettext("What"), FieldKind.CATEGORY, names)
    value = Field("value", str(chart.axis), chart.kind)
    minutes = merged_minutes(shown_minutes(report, span), _MOST_POINTS)
    rows = [
        {TIME: instant, series.name: str(rate.title), value.name: count}
        for rate in chart.rates
        for instant, count in _points(minutes, rate.name)
    ]
    spec = with_words(rates(value, series), {"From": gettext("From")})
    return specs.sized_spec(specs.spec_with_rows(spec, rows), width, 0)


def _points(minutes: Sequence[MinuteCounts], name: str) -> Iterator[tuple[str, float]]:
    """Yield instants and the rate per minute from then on; 0.0 at gaps and at the end."""
    end = ""
    for one in minutes:
        try:
            begin = parse_timestamp(one.minute)
            behind = begin + timedelta(seconds=one.seconds)
        except (TimestampError, OverflowError):
            continue
        instant = begin.isoformat()
        if end and end < instant:
            yield end, 0.0
        yield instant, rate_of(one, name)
        end = behind.isoformat()
    if end:
        yield end, 0.0


def _statuses(report: MonitorReport, width: int) -> Spec:
    rows = [(str(status), count) for status, count in top_statuses(report)]
    return _bars(
        rows, Field("count", gettext("Fetches"), FieldKind.COUNT), gettext("Status"), width
    )


def top_statuses(report: MonitorReport) -> list[tuple[int, int]]:
    """Return the STATUSES_SHOWN most frequent status codes and their counts, descending."""
    ordered = sorted(report.statuses.items(), key=lambda one: (-one[1], one[0]))
    return ordered[:STATUSES_SHOWN]


def _types(report: MonitorReport, width: int) -> Spec:
    rows = [(one.type, one.bytes) for one in top_types(report)]
    return _bars(rows, Field("bytes", gettext("Bytes"), FieldKind.BYTES), gettext("Type"), width)


def top_types(report: MonitorReport) -> list[TypeCounts]:
    """Return the TYPES_SHOWN content types with most bytes, descending."""
    return sorted(report.types, key=lambda one: (-one.bytes, one.type))[:TYPES_SHOWN]


def _bars(rows: Sequence[tuple[str, int]], value: Field, title: str, width: int) -> Spec:
    names = tuple(drawable(name) for name, _ in rows)
    category = Field("name", title, FieldKind.CATEGORY, names)
    data: list[dict[str, Any]] = [
        {category.name: drawable(name), value.name: count} for name, count in rows
    ]
    spec = specs.spec_with_rows(specs.bars(category, value), data)
    return specs.sized_spec(spec, width, len(rows))


blueprint = Blueprint("monitor", __name__, url_prefix="/crawls")

RENEWED_SECONDS = 5
"""How often a page requests an update."""

RELOADED_SECONDS = 30
"""How often a page reloads itself without scripts."""

HOSTS_LISTED = 10
MINUTES_LISTED = 15
CRAWLS_LISTED = 200
_KEPT_SECONDS = 2.0
_LATE_INTERVALS, _LEAST_LATE_SECONDS = 3, 60.0

_Order = Callable[[HostCounts], float]


@dataclass(frozen=True, slots=True)
class ListedHosts:
    """The first hosts in an order, with the name and title of the order."""

    name: str
    title: str
    hosts: Sequence[HostCounts]


@dataclass(frozen=True, slots=True)
class MonitorView:
    """The view of a report on the page; `is_late` if the monitor seems to have stopped."""

    report: MonitorReport
    span: Span
    is_late: bool

    @property
    def hosts(self) -> list[ListedHosts]:
        """The hosts with most pages, those with most errors, and the slowest."""
        return [
            _hosts(self.report, "pages", gettext("Most pages"), lambda host: host.pages),
            _hosts(self.report, "errors", gettext("Most errors"), lambda host: host.errors),
            _hosts(self.report, "slow", gettext("Slowest"), lambda host: host.mean_ms or 0.0),
        ]

    @property
    def latest(self) -> list[Any]:
        """The last spans of time, the newest first."""
        return list(reversed(self.report.minutes[-MINUTES_LISTED:]))

    @property
    def charts(self) -> list[tuple[str, str]]:
        """The names and titles of the charts over time that are not empty."""
        shown = shown_minutes(self.report, self.span)
        return [
            (name, str(chart.title))
            for name, chart in RATE_CHARTS.items()
            if any(getattr(one, rate.name) for one in shown for rate in chart.rates)
        ]


def monitor_report(name: str) -> MonitorReport | None:
    """Return the report of a monitor, cached for 2 seconds; None without one."""
    shown = archive()
    return service().answers.answer(
        ("monitor", shown, name),
        lambda: answer_search(lambda: shown.monitor(name)),
        _KEPT_SECONDS,
    )


def monitors() -> list[tuple[MonitorReport, bool]]:
    """Return the reports of at most CRAWLS_LISTED monitors by name, and whether they are late."""
    names = answer_search(archive().monitored)
    found = map(monitor_report, names[:CRAWLS_LISTED])
    return [(report, is_late(report)) for report in found if report is not None]


def monitor_view(report: MonitorReport) -> MonitorView:
    """Return the view of a report with the time span in the request."""
    span = parameters.choice(request.args, "span", Span.DAY)
    return MonitorView(report, span, is_late(report))


def is_late(report: MonitorReport) -> bool:
    """Return whether the last look of the monitor is older than 3 intervals and 60 seconds."""
    try:
        looked = parse_timestamp(report.looked)
    except TimestampError:
        return True
    waited = (datetime.now(UTC) - looked).total_seconds()
    return waited > max(_LATE_INTERVALS * report.interval_seconds, _LEAST_LATE_SECONDS)


@blueprint.get("/<name>/monitor", endpoint="part")
def monitor_part(name: str) -> ResponseReturnValue:
    """Return the part of the page that shows the current report."""
    report = monitored_or_404(name)
    return render_template("_monitor.html", **monitor_values(report))


def monitor_values(report: MonitorReport) -> dict[str, Any]:
    """Return the template variables of that part."""
    return {
        "monitor": monitor_view(report),
        "renewed_seconds": RENEWED_SECONDS,
        "reload_seconds": RELOADED_SECONDS,
        "narrow": NARROW,
        "spans": tuple(Span),
        "alert_names": ALERT_NAMES,
        **chart_values(),
        "rate_of": rate_of,
        "status_name": status_name,
        "statuses": top_statuses(report),
        "types": top_types(report),
        "picture": _picture_address,
    }


def _picture_address(
    monitor: MonitorView, chart: str, scheme: str, width: int = PICTURE_WIDTH
) -> str:
    """Return the address of a picture; it changes after each look of the monitor."""
    report = monitor.report
    return url_for(
        "monitor.chart_picture",
        name=report.name,
        chart=chart,
        form="svg",
        scheme=scheme,
        span=monitor.span if monitor.span is not Span.DAY else None,
        narrow=1 if width == NARROW else None,
        looked=report.looked,
    )


def monitored_or_404(name: str) -> MonitorReport:
    """Return the report of a monitor; raises NotFound without one."""
    report = monitor_report(name)
    if report is None:
        raise NotFound(
            gettext(
                "no crawl %(name)s was monitored; `nwx monitor %(given)s` does it",
                name=repr(name[:100]),
                given=name[:100],
            )
        )
    return report


@blueprint.get("/<name>/monitor/<chart>.<form>")
def chart_picture(name: str, chart: str, form: str) -> ResponseReturnValue:
    """Return a chart of a crawl as a picture."""
    asked = asked_picture(form)
    span = parameters.choice(request.args, "span", Span.DAY)
    if chart not in MONITOR_CHARTS:
        raise NotFound(
            gettext(
                "a crawl has no chart %(chart)s; choose one of %(choices)s",
                chart=repr(chart),
                choices=", ".join(MONITOR_CHARTS),
            )
        )
    return asked.of_chart(
        monitor_chart(monitored_or_404(name), chart, span, picture_width()), chart
    )


def _hosts(report: MonitorReport, name: str, title: str, order: _Order) -> ListedHosts:
    ordered = sorted(report.hosts, key=lambda host: (-order(host), host.host))
    return ListedHosts(name, title, [host for host in ordered if order(host)][:HOSTS_LISTED])

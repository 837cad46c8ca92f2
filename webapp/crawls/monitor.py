"""A crawl as it runs: the part of its page that renews itself, and its charts as pictures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.errors import TimestampError
from nwx.quality.monitor.report import HostCounts, MonitorReport
from nwx.values.timestamps import parse_timestamp
from webapp.crawls.monitor_charts import (
    MONITOR_CHARTS,
    NARROW,
    RATE_CHARTS,
    WIDE,
    Span,
    monitor_chart,
    rate_of,
    shown_minutes,
    status_name,
    top_statuses,
    top_types,
)
from webapp.explore.charts import asked_picture
from webapp.explore.page import schemes
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.question_limits import answer_search

blueprint = Blueprint("monitor", __name__, url_prefix="/crawls")

RENEWED_SECONDS = 5
"""How often a page asks for what is new."""

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
    """Hosts in an order: what the order is in words, and the first ones."""

    name: str
    title: str
    hosts: Sequence[HostCounts]


@dataclass(frozen=True, slots=True)
class MonitorView:
    """What the page shows of a report; `is_late` tells that nobody monitors any more."""

    report: MonitorReport
    span: Span
    is_late: bool

    @property
    def hosts(self) -> list[ListedHosts]:
        """The hosts with most pages, with most errors, and those that are slowest."""
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
        """The names and titles of the charts over time that have something to show."""
        shown = shown_minutes(self.report, self.span)
        return [
            (name, str(chart.title))
            for name, chart in RATE_CHARTS.items()
            if any(getattr(one, rate.name) for one in shown for rate in chart.rates)
        ]


def monitor_report(name: str) -> MonitorReport | None:
    """Return the report of a monitor, at most 2 seconds old; None where there is none."""
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
    """Return what the page shows of a report, as the address asks it."""
    span = parameters.choice(request.args, "span", Span.DAY)
    return MonitorView(report, span, is_late(report))


def is_late(report: MonitorReport) -> bool:
    """Return whether the monitor has not looked for longer than it waits between two looks."""
    try:
        looked = parse_timestamp(report.looked)
    except TimestampError:
        return True
    waited = (datetime.now(UTC) - looked).total_seconds()
    return waited > max(_LATE_INTERVALS * report.interval_seconds, _LEAST_LATE_SECONDS)


@blueprint.get("/<name>/monitor", endpoint="part")
def monitor_part(name: str) -> ResponseReturnValue:
    """Return the part of the page that shows the monitor, as it is now."""
    report = monitored_or_404(name)
    return render_template("_monitor.html", **monitor_values(report))


def monitor_values(report: MonitorReport) -> dict[str, Any]:
    """Return what the templates of the part need."""
    return {
        "monitor": monitor_view(report),
        "renewed_seconds": RENEWED_SECONDS,
        "reload_seconds": RELOADED_SECONDS,
        "narrow": NARROW,
        "spans": tuple(Span),
        "shown_schemes": schemes(),
        "rate_of": rate_of,
        "status_name": status_name,
        "statuses": top_statuses(report),
        "types": top_types(report),
        "picture": _picture_address,
    }


def _picture_address(monitor: MonitorView, chart: str, scheme: str, width: int = WIDE) -> str:
    """Return the address of a picture, another one after each look of the monitor."""
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
                "nobody has monitored a crawl %(name)s; `nwx monitor %(given)s` does",
                name=repr(name[:100]),
                given=name[:100],
            )
        )
    return report


@blueprint.get("/<name>/monitor/<chart>.<form>")
def chart_picture(name: str, chart: str, form: str) -> ResponseReturnValue:
    """Return a chart of a crawl as a picture."""
    asked = asked_picture(form)
    width = NARROW if parameters.text(request.args, "narrow", 1) else WIDE
    span = parameters.choice(request.args, "span", Span.DAY)
    if chart not in MONITOR_CHARTS:
        raise NotFound(
            gettext(
                "a crawl has no chart %(chart)s; choose of %(choices)s",
                chart=repr(chart),
                choices=", ".join(MONITOR_CHARTS),
            )
        )
    return asked.of_chart(monitor_chart(monitored_or_404(name), chart, span, width), chart)


def _hosts(report: MonitorReport, name: str, title: str, order: _Order) -> ListedHosts:
    ordered = sorted(report.hosts, key=lambda host: (-order(host), host.host))
    return ListedHosts(name, title, [host for host in ordered if order(host)][:HOSTS_LISTED])

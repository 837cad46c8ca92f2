"""The charts of a crawl as it runs: rates over time, status codes, sizes by type."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from flask_babel import LazyString, gettext, lazy_gettext

from nwx.charts import specs
from nwx.charts.fields import Field, FieldKind, Spec, drawable
from nwx.charts.specs import TIME, rates
from nwx.errors import TimestampError
from nwx.quality.monitor.report import MinuteCounts, MonitorReport, TypeCounts
from nwx.values.crawl_log import ROBOTS_DENIED, is_unanswered
from nwx.values.timestamps import parse_timestamp, to_timestamp

MONITOR_CHARTS = ("fetches", "bytes", "documents", "statuses", "types")
"""The names of all charts of a crawl."""

WIDE, NARROW = 960, 460
"""Widths of pictures: for a desk, and for a phone, where a wide one would be too small to read."""

STATUSES_SHOWN = 20
TYPES_SHOWN = 12
_MINUTE = 12
_MOST_POINTS = 300
_WHOLE_MINUTE = 60.0


class Span(StrEnum):
    """How much of a crawl the charts over time show, up to its newest fetch."""

    HOUR = "hour"
    DAY = "day"
    ALL = "all"


_SECONDS = {Span.HOUR: 3_600, Span.DAY: 86_400}


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of `MinuteCounts` over time: its name there, and in words."""

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
    """Return the same counts in fewer spans of time, about `most`."""
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
    """Return how much there was a minute."""
    value: int = getattr(counts, name)
    return round(value * _WHOLE_MINUTE / counts.seconds, 1) if counts.seconds else float(value)


def status_name(status: int) -> str:
    """Return a status as it is shown; those below 0 are Heritrix's for what was not answered."""
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
    return specs.sized_spec(specs.spec_with_rows(rates(value, series), rows), width, 0)


def _points(minutes: Sequence[MinuteCounts], name: str) -> Iterator[tuple[str, float]]:
    """Yield instants and what there was a minute from then on; nothing where nothing is counted."""
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
    """Return the status codes that most fetches have, those first, at most STATUSES_SHOWN."""
    ordered = sorted(report.statuses.items(), key=lambda one: (-one[1], one[0]))
    return ordered[:STATUSES_SHOWN]


def _types(report: MonitorReport, width: int) -> Spec:
    rows = [(one.type, one.bytes) for one in top_types(report)]
    return _bars(rows, Field("bytes", gettext("Bytes"), FieldKind.BYTES), gettext("Type"), width)


def top_types(report: MonitorReport) -> list[TypeCounts]:
    """Return the types of content with most bytes, those first, at most TYPES_SHOWN."""
    return sorted(report.types, key=lambda one: (-one.bytes, one.type))[:TYPES_SHOWN]


def _bars(rows: Sequence[tuple[str, int]], value: Field, title: str, width: int) -> Spec:
    names = tuple(drawable(name) for name, _ in rows)
    category = Field("name", title, FieldKind.CATEGORY, names)
    data: list[dict[str, Any]] = [
        {category.name: drawable(name), value.name: count} for name, count in rows
    ]
    spec = specs.spec_with_rows(specs.bars(category, value), data)
    return specs.sized_spec(spec, width, len(rows))

"""Vega-Lite specifications without data, the same wherever a chart is drawn.

Rows have a column for each field, with the field's name; their names and the names in a field's
order are `drawable`. `spec_with_rows` adds the data to a specification; Kibana gets a query instead
(`nwx.exports.kibana`). `clickable` marks change the pointer; the page handles clicks.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from nwx.charts import fields
from nwx.charts.fields import Field, FieldKind, Spec

ROW_STEP = 24
_PLACE = "place_in_stack"


def bars(category: Field, value: Field, *, clickable: bool = False, bands: float = 1) -> Spec:
    """Return bars: vertical along months or years, horizontal for names in the order of the rows.

    Vertical bars are `bands` periods wide, for data with empty neighbouring periods.
    """
    encoding = {
        **_along(category, value),
        "tooltip": fields.tooltip(category, value),
    }
    return _spec(_bar(category, encoding, bands, cornerRadiusEnd=2), encoding, clickable)


def stacked(
    category: Field,
    series: Field,
    value: Field,
    *,
    share: bool = False,
    clickable: bool = False,
    bands: float = 1,
) -> Spec:
    """Return stacked bars, with `share` of shares of the whole; `bands` as in `bars`."""
    encoding = _along(category, value, stack="normalize" if share else "zero")
    if share:
        side = _value_side(category)
        encoding[side]["axis"] = {"title": f"Share of {value.title.lower()}", "format": ".0%"}
    encoding["color"] = fields.colour(series)
    encoding["tooltip"] = fields.tooltip(category, series, value)
    bar = _bar(category, encoding, bands)
    if not series.order:
        return _spec(bar, encoding, clickable)
    # Vega-Lite stacks by name by default; the first of the order goes next to the axis.
    encoding["order"] = {"field": _PLACE, "type": "quantitative"}
    place = {"calculate": f"indexof({json.dumps(series.order)}, datum.{series.name})", "as": _PLACE}
    return {"transform": [place], **_spec(bar, encoding, clickable)}


def grouped_bars(category: Field, series: Field, value: Field, *, clickable: bool = False) -> Spec:
    """Return bars side by side, one per series."""
    encoding = _along(category, value)
    offset = "xOffset" if category.is_period else "yOffset"
    encoding[offset] = {"field": series.name, "type": "nominal", "sort": list(series.order) or None}
    encoding["color"] = fields.colour(series)
    encoding["tooltip"] = fields.tooltip(category, series, value)
    return _spec(_bar(category, encoding, cornerRadiusEnd=2), encoding, clickable)


def lines(
    month: Field, value: Field, series: Field | None = None, *, clickable: bool = False
) -> Spec:
    """Return a line over months or years, or one per series, dotted over missing values."""
    encoding: Spec = {
        "x": {"field": month.name, "type": "ordinal", "axis": fields.name_axis(month)},
        "y": {
            "field": value.name,
            "type": "quantitative",
            "axis": fields.value_axis(value),
            "scale": {"zero": value.kind is not FieldKind.RATIO},
        },
    }
    if series:
        encoding["color"] = fields.colour(series)
    known = {"filter": f"isValid(datum.{value.name})"}
    dotted = {"type": "line", "strokeWidth": 1, "strokeDash": [2, 4]}
    mark = {
        "type": "line",
        "point": {"size": 36},
        "strokeWidth": 2,
        "invalid": "break-paths-show-domains",
    }
    told = {"tooltip": fields.tooltip(*filter(None, (month, series, value)))}
    layers = [{"transform": [known], "mark": dotted}, _spec(mark, told, clickable)]
    return {"encoding": encoding, "layer": layers}


def heat_map(across: Field, down: Field, value: Field, *, clickable: bool = False) -> Spec:
    """Return a grid of cells; higher values are darker, or lighter on a dark background."""
    encoding: Spec = {
        "x": _names(across),
        "y": _names(down),
        "color": {
            "field": value.name,
            "type": "quantitative",
            "legend": fields.legend(value),
            "scale": {"type": "sqrt"},
        },
        "opacity": {"condition": {"test": f"isValid(datum.{value.name})", "value": 1}, "value": 0},
        "tooltip": fields.tooltip(across, down, value),
    }
    return _spec({"type": "rect", "invalid": None}, encoding, clickable)


def spec_with_rows(spec: Spec, rows: Sequence[Mapping[str, Any]]) -> Spec:
    """Return a Vega-Lite specification with its data."""
    return {**spec, "data": {"values": [dict(row) for row in rows]}}


def sized_spec(spec: Spec, width: int | str, rows: int) -> Spec:
    """Return a Vega-Lite specification with a width, and the height that its rows need.

    `rows` is the number of names on the vertical axis, 0 for the default height.
    """
    fitted = {"type": "fit-x", "contains": "padding"}
    height = rows * ROW_STEP + ROW_STEP if rows else 280
    return {**spec, "width": width, "height": height, "autosize": fitted}


def _along(category: Field, value: Field, stack: str | None = None) -> Spec:
    side = _value_side(category)
    number: Spec = {
        "field": value.name,
        "type": "quantitative",
        "axis": fields.value_axis(value),
        "stack": stack,
    }
    return {"x" if side == "y" else "y": _names(category), side: number}


def _value_side(category: Field) -> str:
    return "y" if category.is_period else "x"


def _names(field: Field) -> Spec:
    return {
        "field": field.name,
        "type": "ordinal",
        "sort": fields.order(field),
        "axis": fields.name_axis(field),
    }


def _bar(category: Field, encoding: Spec, bands: float = 1, **more: int) -> Spec:
    """Return the mark of bars; wide bars need room at both ends of the axis."""
    # Otherwise months of many years would be thinner than a pixel.
    bar: Spec = {"type": "bar", "minBandSize": 2, "invalid": None, **more}
    if category.is_period and bands > 1:
        bar["width"] = {"band": bands}
        encoding["x"]["scale"] = {"paddingOuter": bands / 2}
    return bar


def _spec(mark: Spec, encoding: Spec, clickable: bool) -> Spec:
    return {"mark": {**mark, "cursor": "pointer"} if clickable else mark, "encoding": encoding}


MOST_POINTS = 400

_Point = TypeVar("_Point")


def curves(across: Field, value: Field, series: Field) -> Spec:
    """Return a line per series along a numeric column."""
    encoding: Spec = {
        "x": {
            "field": across.name,
            "type": "quantitative",
            "axis": {**fields.value_axis(across), "grid": False},
            "scale": {"nice": False},
        },
        "y": {
            "field": value.name,
            "type": "quantitative",
            "axis": fields.value_axis(value),
            "scale": {"zero": True},
        },
        "color": fields.colour(series),
        "tooltip": fields.tooltip(series, across, value),
    }
    return {"mark": {"type": "line", "strokeWidth": 2, "clip": True}, "encoding": encoding}


def thinned(points: Sequence[_Point], most: int = MOST_POINTS) -> list[tuple[int, _Point]]:
    """Return points with their positions, at most about `most` at equal steps, and the last one."""
    step = -(-len(points) // most) or 1
    last = len(points) - 1
    return [(place, one) for place, one in enumerate(points) if place % step == 0 or place == last]


TIME = "time"
"""The name of the column of times, which are texts such as 2026-03-05T10:20:00Z."""

_LABELS = {
    "year": "%Y",
    "month": "%b %Y",
    "date": "%-d %b",
    "hours": "%H:%M",
    "minutes": "%H:%M",
    "seconds": "%H:%M:%S",
}
"""The formats of a time, by its finest part that is not 0."""


def rates(value: Field, series: Field) -> Spec:
    """Return a step line per series over time (UTC), each value from its time up to the next."""
    told = fields.tooltip(series, value)
    instant = {
        "field": TIME,
        "type": "temporal",
        "title": "From",
        "format": "%Y-%m-%d %H:%M",
    }
    encoding: Spec = {
        "x": {
            "field": TIME,
            "type": "temporal",
            "scale": {"type": "utc", "nice": False},
            "axis": {
                "title": None,
                "grid": False,
                "format": _LABELS,
                "labelOverlap": "greedy",
                "labelSeparation": 8,
            },
        },
        "y": {
            "field": value.name,
            "type": "quantitative",
            "axis": fields.value_axis(value),
            "scale": {"zero": True},
        },
        "color": fields.colour(series),
        "tooltip": [instant, *told],
    }
    mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 2, "clip": True}
    return {"mark": mark, "encoding": encoding}


PAGES = Field("pages", "Pages fetched", FieldKind.COUNT)
HARVEST_RATE = Field("harvest_rate", "Harvest rate", FieldKind.SHARE)
RELEVANT = Field("relevant", "Relevant pages", FieldKind.COUNT)


def harvest_chart(
    harvests: Mapping[str, Sequence[tuple[int, int]]], width: int | str, value: Field = HARVEST_RATE
) -> Spec:
    """Return a chart of the harvest rates of crawls or, with RELEVANT, of relevant pages.

    `harvests` has the points of each crawl by name: the number of pages fetched so far, and the
    number of relevant pages among them.
    """
    crawl = Field("crawl", "Crawl", FieldKind.CATEGORY, tuple(harvests))
    rows = [
        {
            crawl.name: name,
            PAGES.name: pages,
            RELEVANT.name: relevant,
            HARVEST_RATE.name: relevant / pages,
        }
        for name, points in harvests.items()
        for _, (pages, relevant) in thinned(points)
        if pages
    ]
    return sized_spec(spec_with_rows(curves(PAGES, value, crawl), rows), width, 0)

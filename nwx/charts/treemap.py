"""Charts that Vega-Lite lacks: treemaps and link graphs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nwx.charts.fields import Field, FieldKind, Spec

TABLE = "table"
# Dark enough for white names, on either background.
_CELL_COLOURS = (
    "#0b6e63",
    "#34609f",
    "#8a4b16",
    "#6a4a9c",
    "#94344c",
    "#4c6b2f",
    "#1f6d80",
    "#735530",
    "#5a5f78",
    "#85487a",
)
_ROOM_FOR_NAMES = "(datum.x1 - datum.x0) > 60 && (datum.y1 - datum.y0) > 22"


def treemap(category: Field, value: Field, *, clickable: bool = False) -> Spec:
    """Return a treemap: a rectangle divided into one cell per row, with areas by value."""
    return {
        "padding": 0,
        "data": [{"name": TABLE}, {"name": "cells", "source": TABLE, "transform": _layout(value)}],
        "scales": [_colours(category)],
        "marks": [_cells(category, value, clickable), _labels(category)],
    }


def treemap_with_rows(spec: Spec, rows: Sequence[Mapping[str, Any]]) -> Spec:
    """Return a treemap with its data."""
    (_, *others) = spec["data"]
    return {**spec, "data": [{"name": TABLE, "values": [dict(row) for row in rows]}, *others]}


def sized_treemap(spec: Spec, width: int | str, height: int = 420) -> Spec:
    """Return a treemap with a width; "container" follows the width of the page."""
    if isinstance(width, int):
        return {**spec, "width": width, "height": height}
    measure = {
        "name": "width",
        "init": "containerSize()[0]",
        "on": [{"events": "window:resize", "update": "containerSize()[0]"}],
    }
    return {**spec, "height": height, "signals": [measure]}


def _layout(value: Field) -> list[Spec]:
    return [
        {"type": "filter", "expr": f"datum['{value.name}'] > 0"},
        {"type": "nest", "generate": True},
        {
            "type": "treemap",
            "field": value.name,
            "sort": {"field": "value", "order": "descending"},
            "round": True,
            "paddingInner": 2,
            "size": [{"signal": "width"}, {"signal": "height"}],
        },
        {"type": "filter", "expr": "!datum.children"},
    ]


def _colours(category: Field) -> Spec:
    return {
        "name": "colour",
        "type": "ordinal",
        "domain": {"data": TABLE, "field": category.name},
        "range": list(_CELL_COLOURS),
    }


def _cells(category: Field, value: Field, clickable: bool) -> Spec:
    form = "format({}, '.4~s') + 'B'" if value.kind is FieldKind.BYTES else "format({}, ',')"
    told = form.format(f"datum['{value.name}']")
    look: Spec = {
        "x": {"field": "x0"},
        "x2": {"field": "x1"},
        "y": {"field": "y0"},
        "y2": {"field": "y1"},
        "tooltip": {"signal": f"{{title: datum['{category.name}'], '{value.title}': {told}}}"},
    }
    if clickable:
        look["cursor"] = {"value": "pointer"}
    paint: Spec = {
        "fill": {"scale": "colour", "field": category.name},
        "cornerRadius": {"value": 3},
    }
    return {
        "type": "rect",
        "from": {"data": "cells"},
        "encode": {
            "enter": paint,
            "update": {**look, "fillOpacity": {"value": 1}},
            "hover": {"fillOpacity": {"value": 0.8}},
        },
    }


def _labels(category: Field) -> Spec:
    name = f"datum['{category.name}']"
    return {
        "type": "text",
        "from": {"data": "cells"},
        "interactive": False,
        "encode": {
            "update": {
                "x": {"signal": "datum.x0 + 7"},
                "y": {"signal": "datum.y0 + 7"},
                "baseline": {"value": "top"},
                "fill": {"value": "#ffffff"},
                "fontWeight": {"value": 600},
                "fontSize": {"value": 12},
                "limit": {"signal": "datum.x1 - datum.x0 - 12"},
                "text": {"signal": f"{_ROOM_FOR_NAMES} ? {name} : ''"},
            }
        },
    }


HEIGHT = 520
_ROOM = 0.08
DIRECTIONS = ("links here", "links from here", "both", "among others")
_COLOURS = ("#3f8fc0", "#e0a030", "#7a9e3f", "#8a969a")
_LEAST_POINT, _MOST_POINT = 40, 900
_NARROW, _WIDE = 320, 640
_NAME_WIDTH, _LETTER_WIDTH, _NAME_HEIGHT = 150, 6.5, 14
_SIDE = 0.1
_COLUMNS = {"columns": {"expr": f"width < {_WIDE} ? 2 : 6"}}

GraphRow = Mapping[str, Any]


def link_graph(hosts: Sequence[GraphRow], links: Sequence[GraphRow], size_title: str) -> Spec:
    """Return a link graph with its data.

    `hosts` have `host`, `x` and `y` (0 to 1), `value` (the point's area), `captured` and `centre`
    (whether it is drawn as the centre). `links` have `source`, `target`, `links`, `direction` (one
    of DIRECTIONS) and end points `x`, `y`, `x2`, `y2`.
    """
    return {
        "layer": [_lines(links), _points(hosts, size_title), _names(named_points(hosts))],
        "resolve": {"scale": {"size": "independent"}},
    }


def sized_link_graph(spec: Spec, width: int | str) -> Spec:
    """Return the chart with a width; "container" follows the width of the page."""
    fitted = {"type": "fit", "contains": "padding"}
    return {**spec, "width": width, "height": HEIGHT, "autosize": fitted}


def _across(field: str) -> Spec:
    domain = [-_ROOM, 1 + _ROOM]
    return {"field": field, "type": "quantitative", "axis": None, "scale": {"domain": domain}}


def _lines(rows: Sequence[GraphRow]) -> Spec:
    there = {row["direction"] for row in rows}
    colours = {name: one for name, one in zip(DIRECTIONS, _COLOURS, strict=True) if name in there}
    return {
        "data": {"values": [dict(row) for row in rows]},
        "mark": {"type": "rule", "opacity": 0.55},
        "encoding": {
            "x": _across("x"),
            "y": _across("y"),
            "x2": {"field": "x2"},
            "y2": {"field": "y2"},
            "strokeWidth": {
                "field": "links",
                "type": "quantitative",
                "scale": {"type": "log", "range": [0.75, 7], "domainMin": 1, "domainMax": 10_000},
                "legend": None,
            },
            "color": {
                "field": "direction",
                "type": "nominal",
                "scale": {"domain": list(colours), "range": list(colours.values())},
                "legend": {"title": None, "orient": "top", "symbolType": "stroke", **_COLUMNS},
            },
            "tooltip": [
                {"field": "source", "title": "From"},
                {"field": "target", "title": "To"},
                {"field": "links", "title": "Links", "type": "quantitative", "format": ","},
            ],
        },
    }


def _points(rows: Sequence[GraphRow], size_title: str) -> Spec:
    return {
        "data": {"values": [dict(row) for row in rows]},
        "mark": {"type": "point", "filled": True, "cursor": "pointer", "opacity": 1},
        "encoding": {
            "x": _across("x"),
            "y": _across("y"),
            "size": {
                "field": "value",
                "type": "quantitative",
                "scale": {"type": "sqrt", "range": [_LEAST_POINT, _MOST_POINT]},
                "legend": None,
            },
            "fill": {
                "field": "captured",
                "type": "nominal",
                "scale": {
                    "domain": ["captured", "never captured"],
                    "range": ["#1f9384", "#b8405e"],
                },
                "legend": {"title": None, "orient": "bottom", "symbolType": "circle"},
            },
            "tooltip": [
                {"field": "host", "title": "Host"},
                {"field": "value", "title": size_title, "type": "quantitative", "format": ","},
                {"field": "captured", "title": "State"},
            ],
        },
    }


def named_points(rows: Sequence[GraphRow]) -> list[GraphRow]:
    """Return points, each with whether its name has room in a `narrow` and in a `wide` chart.

    Names of larger points take precedence; `up` is the vertical offset of a name from its point.
    """
    most = max((row["value"] for row in rows), default=0) or 1
    radii = [
        math.sqrt((_LEAST_POINT + (_MOST_POINT - _LEAST_POINT) * math.sqrt(v / most)) / math.pi)
        for v in (row["value"] for row in rows)
    ]
    order = sorted(range(len(rows)), key=lambda at: (not rows[at]["centre"], -rows[at]["value"]))
    shown: dict[str, set[int]] = {"narrow": set(), "wide": set()}
    for name, width in (("narrow", _NARROW), ("wide", _WIDE)):
        boxes = [_name_box(row, radius, width) for row, radius in zip(rows, radii, strict=True)]
        for at in order:
            if not any(_overlap(boxes[at], boxes[other]) for other in shown[name]):
                shown[name].add(at)
    return [
        {
            **row,
            "up": -radii[at] - 5,
            "align": _align(row),
            **{name: at in known for name, known in shown.items()},
        }
        for at, row in enumerate(rows)
    ]


def _name_box(row: GraphRow, radius: float, width: int) -> tuple[float, float, float]:
    """Return the centre of a name in pixels, and half its width."""
    across, down = (part / (1 + 2 * _ROOM) for part in (width, HEIGHT))
    half = min(len(row["host"]) * _LETTER_WIDTH, _NAME_WIDTH) / 2
    shift = {"left": half, "right": -half}.get(_align(row), 0)
    return row["x"] * across + shift, -row["y"] * down - radius, half


def _align(row: GraphRow) -> str:
    """Return the alignment of a name: names of points near the sides stay within the chart."""
    return "left" if row["x"] < _SIDE else "right" if row["x"] > 1 - _SIDE else "center"


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    near = abs(one[1] - other[1]) < _NAME_HEIGHT
    return near and abs(one[0] - other[0]) < one[2] + other[2] + 4


def _names(rows: Sequence[GraphRow]) -> Spec:
    return {
        "data": {"values": [dict(row) for row in rows]},
        "transform": [{"filter": f"width < {_WIDE} ? datum.narrow : datum.wide"}],
        "mark": {
            "type": "text",
            "dy": {"expr": "datum.up"},
            "align": {"expr": "datum.align"},
            "fontSize": 11,
            "fontWeight": {"expr": "datum.centre ? 700 : 400"},
            "limit": _NAME_WIDTH,
            "tooltip": None,
        },
        "encoding": {"x": _across("x"), "y": _across("y"), "text": {"field": "host"}},
    }

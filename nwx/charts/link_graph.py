"""A graph of hosts as a Vega-Lite chart: hosts are points, links are lines between them."""

from collections.abc import Mapping, Sequence
from typing import Any

from nwx.charts.fields import Spec

HEIGHT = 520
_ROOM = 0.08
DIRECTIONS = ("links here", "links from here", "both", "among others")
_COLOURS = ("#3f8fc0", "#e0a030", "#7a9e3f", "#8a969a")
_MOST_POINT = 900
_STATES = {"captured": "#1f9384", "never captured": "#c9506c"}

GraphRow = Mapping[str, Any]


def link_graph(hosts: Sequence[GraphRow], links: Sequence[GraphRow], size_title: str) -> Spec:
    """Return a chart with its data.

    `hosts` have `host`, `x` and `y` (0 to 1), `value` (the area of the
    point), `captured` and `centre` (whether it is drawn as such). `links`
    have `source`, `target`, `links`, `direction` (one of DIRECTIONS) and the
    ends `x`, `y`, `x2`, `y2`.
    """
    return {
        "layer": [_lines(links), _points(hosts, size_title), _names(hosts)],
        "resolve": {"scale": {"size": "independent"}},
    }


def sized_link_graph(spec: Spec, width: int | str) -> Spec:
    """Return the chart for a width; "container" follows that of the page."""
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
                "legend": {"title": None, "orient": "top", "symbolType": "stroke"},
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
                "scale": {"type": "sqrt", "range": [40, _MOST_POINT]},
                "legend": None,
            },
            "fill": {
                "field": "captured",
                "type": "nominal",
                "scale": {
                    "domain": ["captured", "never captured"],
                    "range": ["#1f9384", "#b8405e"],
                },
                "legend": {"title": None, "orient": "top", "symbolType": "circle"},
            },
            "tooltip": [
                {"field": "host", "title": "Host"},
                {"field": "value", "title": size_title, "type": "quantitative", "format": ","},
                {"field": "captured", "title": "State"},
            ],
        },
    }


def _names(rows: Sequence[GraphRow]) -> Spec:
    return {
        "data": {"values": [dict(row) for row in rows]},
        "mark": {
            "type": "text",
            "dy": -14,
            "fontSize": 11,
            "fontWeight": {"expr": "datum.centre ? 700 : 400"},
            "limit": 150,
            "tooltip": None,
        },
        "encoding": {"x": _across("x"), "y": _across("y"), "text": {"field": "host"}},
    }

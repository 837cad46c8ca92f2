"""Vega-Lite specifications of rates over time: what a crawl fetches a minute."""

from nwx.charts import fields
from nwx.charts.fields import Field, Spec

TIME = "time"
"""The name of the column of instants, which are texts such as 2026-03-05T10:20:00Z."""

_LABELS = {
    "year": "%Y",
    "month": "%b %Y",
    "date": "%-d %b",
    "hours": "%H:%M",
    "minutes": "%H:%M",
    "seconds": "%H:%M:%S",
}
"""How an instant is written by the finest part of it that is not 0."""


def rates(value: Field, series: Field) -> Spec:
    """Return a line a series over time (UTC), each value from its instant up to the next."""
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

"""Vega-Lite specifications of curves over a number, as of relevant pages over pages fetched."""

from collections.abc import Sequence
from typing import TypeVar

from nwx.charts import fields
from nwx.charts.fields import Field, FieldKind, Spec

MOST_POINTS = 400

_Point = TypeVar("_Point")


def curves(across: Field, value: Field, series: Field) -> Spec:
    """Return a line a series along a number; a ratio is shown in percent, from 0 on."""
    axis = fields.value_axis(value)
    told = fields.tooltip(series, across, value)
    if value.kind is FieldKind.RATIO:
        axis["format"] = ".0%"
        told[-1]["format"] = ".1%"
    encoding: Spec = {
        "x": {
            "field": across.name,
            "type": "quantitative",
            "axis": {**fields.value_axis(across), "grid": False},
            "scale": {"nice": False},
        },
        "y": {"field": value.name, "type": "quantitative", "axis": axis, "scale": {"zero": True}},
        "color": fields.colour(series),
        "tooltip": told,
    }
    return {"mark": {"type": "line", "strokeWidth": 2, "clip": True}, "encoding": encoding}


def thinned(points: Sequence[_Point], most: int = MOST_POINTS) -> list[tuple[int, _Point]]:
    """Return points with their places, of many some at equal distances; the last is always kept."""
    step = -(-len(points) // most) or 1
    last = len(points) - 1
    return [(place, one) for place, one in enumerate(points) if place % step == 0 or place == last]

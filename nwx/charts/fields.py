"""The columns of charts, their colours and fonts."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nwx.facets.criteria import Criterion
from nwx.facets.question import FEATURES, Feature

Spec = dict[str, Any]
"""A Vega-Lite or Vega specification, or a part of one."""


class FieldKind(StrEnum):
    """The kind of a column's values."""

    MONTH = "month"
    YEAR = "year"
    CATEGORY = "category"
    COUNT = "count"
    BYTES = "bytes"
    RATIO = "ratio"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Field:
    """A chart column: its name in the rows, its title and the kind of its values.

    `order` is the natural order of a category's values, `colours` are their colours; both may be
    empty.
    """

    name: str
    title: str
    kind: FieldKind
    order: tuple[str, ...] = ()
    colours: tuple[str, ...] = ()

    @property
    def is_period(self) -> bool:
        """Whether the values are periods, which go on the horizontal axis."""
        return self.kind in (FieldKind.MONTH, FieldKind.YEAR)


# Characters that XML cannot contain, JavaScript line separators, bidirectional controls.
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def drawable(name: str) -> str:
    """Return a name with U+FFFD in place of each character that pictures cannot show."""
    return _NO_TEXT.sub("\ufffd", name)


_BYTES_LABEL = "format(datum.value, '.3~s') + 'B'"
_COUNT_LABEL = "datum.value >= 10000 ? format(datum.value, '.3~s') : format(datum.value, ',')"
_NAME_LABEL = "replace(datum.label, /_/g, ' ')"
# Up to two years, each month has a label; beyond, only the years.
_MONTH_LABEL = (
    "length(domain('x')) <= 24 ? datum.label"
    " : slice(datum.label, 5) == '01' ? slice(datum.label, 0, 4) : ''"
)
_FORMATS = {
    FieldKind.COUNT: ",",
    FieldKind.BYTES: ",",
    FieldKind.RATIO: ",.2f",
    FieldKind.SHARE: ".1%",
}


def value_axis(field: Field) -> Spec:
    """Return the axis of a numeric column."""
    axis: Spec = {"title": titled(field), "tickCount": 5, "grid": True}
    if field.kind is FieldKind.BYTES:
        axis["labelExpr"] = _BYTES_LABEL
    elif field.kind is FieldKind.COUNT:
        axis |= {"labelExpr": _COUNT_LABEL, "tickMinStep": 1}
    elif field.kind is FieldKind.SHARE:
        axis["format"] = ".2~%"
    return axis


def name_axis(field: Field) -> Spec:
    """Return the axis of months or years, which is horizontal, or of categories."""
    if field.is_period:
        label = {"labelExpr": _MONTH_LABEL} if field.kind is FieldKind.MONTH else {}
        return {
            "title": None,
            **label,
            "labelAngle": 0,
            "labelPadding": 6,
            "labelOverlap": "greedy",
            "labelSeparation": 4,
            "ticks": False,
        }
    return {"title": None, "labelExpr": _NAME_LABEL, "labelLimit": 220, "ticks": False}


def legend(field: Field) -> Spec:
    """Return the legend of a column shown by colour."""
    shown: Spec = {"title": field.title, "orient": "top", "labelLimit": 200}
    if field.kind is FieldKind.CATEGORY:
        return {**shown, "labelExpr": _NAME_LABEL, "symbolType": "square", "symbolSize": 120}
    label = _BYTES_LABEL if field.kind is FieldKind.BYTES else _COUNT_LABEL
    return {**shown, "title": titled(field), "gradientLength": 220, "labelExpr": label}


def titled(field: Field) -> str:
    """Return the title of a column, with its unit if the title lacks it."""
    if field.kind is FieldKind.BYTES and "bytes" not in field.title.lower():
        return f"{field.title} (bytes)"
    return field.title


def colour(field: Field) -> Spec:
    """Return the colour encoding of a category; without an order, values are in order of rows."""
    scale: Spec = {}
    if field.colours:
        scale = {"scale": {"domain": list(field.order), "range": list(field.colours)}}
    elif field.order:
        scale = {"sort": list(field.order)}
    else:
        scale = {"sort": None}
    return {"field": field.name, "type": "nominal", "legend": legend(field), **scale}


def tooltip(*fields: Field) -> list[Spec]:
    """Return the tooltip of a mark."""
    return [_tooltip_field(field) for field in fields]


def _tooltip_field(field: Field) -> Spec:
    told: Spec = {"field": field.name, "title": titled(field)}
    if field.kind in _FORMATS:
        return {**told, "type": "quantitative", "format": _FORMATS[field.kind]}
    return {**told, "type": "nominal"}


def order(field: Field) -> Any:
    """Return the sort order of a column along an axis; None means the order of the rows."""
    if field.is_period:
        return "ascending"
    return list(field.order) or None


SCHEMES = ("light", "dark")

# Distinguishable by lightness, also with colour blindness.
_ON_LIGHT = (
    "#0b7a6e",
    "#e08a1e",
    "#3f6fc0",
    "#b8405e",
    "#7fb069",
    "#7a55b0",
    "#57b5c9",
    "#8a6a3f",
    "#d98cb3",
    "#4f5d66",
    "#c2b030",
    "#9aa7ad",
)
_ON_DARK = (
    "#4fc0b0",
    "#f2b25c",
    "#86aef0",
    "#ee8398",
    "#a9d391",
    "#b79ce6",
    "#7ed3e6",
    "#c4a274",
    "#eeb0cf",
    "#a3b1ba",
    "#e0d267",
    "#6f7f86",
)
_HEAT_ON_LIGHT = ("#e3f1ee", "#a5d1c7", "#5fae9f", "#0b7a6e", "#053b35")
_HEAT_ON_DARK = ("#1f3330", "#286158", "#33897c", "#6fc7ba", "#d5f5ef")
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


def config(scheme: str, *, background: bool = False) -> Spec:
    """Return the Vega configuration of a colour scheme (SCHEMES).

    With `background`, for pictures, the background is painted, else transparent. Pictures have
    extra space around texts, as readers' fonts may be wider than the measured ones.
    """
    dark = scheme == "dark"
    ink, quiet, line = (
        ("#e5ebe9", "#a3b1ae", "#344044") if dark else ("#1b2422", "#55625f", "#dde2df")
    )
    heat = list(_HEAT_ON_DARK if dark else _HEAT_ON_LIGHT)
    palette = list(_ON_DARK if dark else _ON_LIGHT)
    painted = ("#1d2326" if dark else "#ffffff") if background else None
    mark = palette[0]
    return {
        "background": painted,
        "padding": {"left": 28, "right": 5, "top": 5, "bottom": 5} if background else 5,
        "font": _FONT,
        "axis": {
            "labelColor": quiet,
            "titleColor": quiet,
            "titleFontWeight": 600,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "gridColor": line,
            "domainColor": line,
            "tickColor": line,
        },
        "axisBand": {"grid": False},
        "legend": {
            "columns": 6,
            "columnPadding": 28 if background else 10,
            "labelColor": ink,
            "titleColor": quiet,
            "titleFontWeight": 600,
            "labelFontSize": 12,
            "titleFontSize": 12,
        },
        "title": {"color": ink, "fontSize": 15, "fontWeight": 600, "anchor": "start"},
        "view": {"stroke": None},
        "text": {"color": ink},
        "bar": {"color": mark},
        "line": {"color": mark},
        "point": {"color": mark, "filled": True},
        "range": {"category": palette, "heatmap": heat, "ramp": heat},
    }


ADDITIVE = frozenset({Feature.CAPTURES, Feature.BYTES})
"""The features for which a whole is the sum of its parts.

A document may be in several months, a URL may have several statuses: other features do not add
up, and are never stacked.
"""

OTHERS = "all others"
"""The name of the part of a whole that is in none of the values shown."""

_STATUS_COLOURS = {
    "ok": "#1f9384",
    "redirection": "#e0a030",
    "request_error": "#d2566a",
    "server_error": "#8f5fc4",
    "ignored": "#93a1a8",
}

_PERIODS = {Criterion.MONTH: FieldKind.MONTH, Criterion.YEAR: FieldKind.YEAR}

_KINDS = {"count": FieldKind.COUNT, "bytes": FieldKind.BYTES, "ratio": FieldKind.RATIO}


def criterion_field(criterion: Criterion) -> Field:
    """Return the column of a criterion, titled with its label."""
    definition = criterion.definition
    if criterion is Criterion.STATUS:
        names, colours = tuple(_STATUS_COLOURS), tuple(_STATUS_COLOURS.values())
        return Field(criterion.value, definition.label, FieldKind.CATEGORY, names, colours)
    kind = _PERIODS.get(criterion, FieldKind.CATEGORY)
    return Field(criterion.value, definition.label, kind, definition.values)


def feature_field(feature: Feature) -> Field:
    """Return the column of a feature."""
    described = FEATURES[feature]
    return Field(feature.value, described.title, _KINDS[described.unit])

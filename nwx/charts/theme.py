"""The colours and fonts of charts, on a light and on a dark background."""

from nwx.charts.fields import Spec

SCHEMES = ("light", "dark")

# Told apart also by those who see few colours, by their lightness.
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
    """Return the Vega configuration of a scheme (SCHEMES).

    With `background`, for pictures, it is painted, else transparent. Pictures
    leave room beside their texts: whoever shows them may have wider letters
    than those that they were measured with.
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

"""HTML of answers for notebooks: tables and small charts; all text is escaped."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

# C0, C1, bidirectional and other signs that change how text around them is shown.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST_CELL = 300
_WIDTH, _HEIGHT, _MARGIN = 420, 90, 14
_COLOURS = ("#30638e", "#d1495b", "#2a9d8f", "#edae49", "#6d597a", "#57606a")


def html_text(value: object) -> str:
    """Return a value as escaped text without control characters; lists are joined by blanks."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = " ".join(map(str, value))
    text = str(value)
    if len(text) > _LONGEST_CELL:
        text = f"{text[:_LONGEST_CELL]}…"
    return escape(_HIDDEN.sub("\ufffd", text))


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """Return a table with a line of words below it."""
    head = "".join(f"<th>{html_text(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{html_text(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    below = f"<p>{html_text(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def bar_chart(bars: Mapping[str, float]) -> str:
    """Return a bar for each value as SVG, "" without values."""
    if not bars:
        return ""
    most = max(*bars.values(), 0) or 1
    width = _WIDTH / len(bars)
    shapes = []
    for place, (name, value) in enumerate(bars.items()):
        height = _HEIGHT * max(value, 0) / most
        shapes.append(
            f'<rect x="{place * width:.1f}" y="{_HEIGHT - height:.1f}" width="{width * 0.8:.1f}"'
            f' height="{height:.1f}" fill="{_COLOURS[0]}"><title>{html_text(name)}: {value:,}'
            "</title></rect>"
        )
    return _chart("".join(shapes), list(bars))


def line_chart(periods: Sequence[str], curves: Mapping[str, Sequence[float]]) -> str:
    """Return a curve for each name over the same periods as SVG, "" without periods."""
    if not periods or not curves:
        return ""
    most = max((value for curve in curves.values() for value in curve), default=0) or 1
    step = _WIDTH / max(len(periods) - 1, 1)
    shapes = []
    for (name, curve), colour in zip(curves.items(), _COLOURS * len(curves), strict=False):
        points = " ".join(
            f"{place * step:.1f},{_HEIGHT - _HEIGHT * value / most:.1f}"
            for place, value in enumerate(curve)
        )
        shapes.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2">'
            f"<title>{html_text(name)}</title></polyline>"
        )
    named = ", ".join(
        f'<span style="color:{colour}">{html_text(name)}</span>'
        for name, colour in zip(curves, _COLOURS * len(curves), strict=False)
    )
    return f"{_chart(''.join(shapes), periods)}<p>{named}</p>"


def _chart(shapes: str, labels: Sequence[str]) -> str:
    first, last = html_text(labels[0]), html_text(labels[-1])
    below = _HEIGHT + _MARGIN
    ends = f'<text x="0" y="{below}" font-size="11">{first}</text>'
    if len(labels) > 1:
        ends += f'<text x="{_WIDTH}" y="{below}" font-size="11" text-anchor="end">{last}</text>'
    return f'<svg role="img" width="{_WIDTH}" height="{below + 4}">{shapes}{ends}</svg>'

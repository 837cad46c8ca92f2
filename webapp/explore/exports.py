"""The explorer's answers as files: CSV, JSON, PNG, SVG."""

from collections.abc import Iterator
from typing import Any

from flask import Blueprint, Response, jsonify, request
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.charts.panels import OTHERS
from nwx.facets.question import Feature, Features, features_json
from nwx.values.csv_cells import csv_line
from webapp.explore.answers import Grid, gather
from webapp.explore.asked_pictures import asked_picture
from webapp.explore.backend import ask, site_ranks
from webapp.explore.charts import drawn
from webapp.explore.labels import label_of
from webapp.explore.view import ExplorerView, read_explorer_view

blueprint = Blueprint("explore_exports", __name__, url_prefix="/explore")


@blueprint.get("/table.<suffix>")
def table(suffix: str) -> ResponseReturnValue:
    """Return the numbers of a page, all features of each cell, unrounded."""
    if suffix not in ("csv", "json"):
        raise NotFound(
            gettext("tables come as csv and json, not as %(suffix)s", suffix=repr(suffix))
        )
    view = read_explorer_view(request.args)
    grid = gather(view, ask, site_ranks(view))
    if suffix == "json":
        response = jsonify(_json(view, grid))
    else:
        response = Response(_csv(view, grid), mimetype="text/csv")
    response.headers["Content-Disposition"] = f'inline; filename="{_name(view)}.{suffix}"'
    return response


@blueprint.get("/chart.<form>")
def picture(form: str) -> ResponseReturnValue:
    """Return the chart of a page as a picture."""
    asked = asked_picture(form)
    view = read_explorer_view(request.args)
    chart = drawn(view, gather(view, ask, site_ranks(view)), label_of(view.other))
    return asked.answer(chart.picture(asked.scheme, asked.format), _name(view))


def _name(view: ExplorerView) -> str:
    return "-".join((view.feature.value, "by", *view.by))


def _heads(view: ExplorerView) -> list[str]:
    selection = ["selection"] if view.compares else []
    return [*selection, *(criterion.value for criterion in view.by)]


def _cells(view: ExplorerView, grid: Grid) -> Iterator[tuple[tuple[str, ...], Features]]:
    """Yield the cells of a grid with what they are of: values, or a selection and a value."""
    for line in grid.lines:
        if not grid.columns:
            yield (line.value,), line.whole
        for column, cell in zip(grid.columns, line.cells, strict=True):
            if cell and column != OTHERS:
                yield ((column, line.value) if view.compares else (line.value, column)), cell


def _json(view: ExplorerView, grid: Grid) -> dict[str, Any]:
    heads = _heads(view)
    other: dict[str, Any] = {}
    if grid.other_total:
        other["other_where"] = list(map(str, view.other_where))
        other["other_total"] = features_json(grid.other_total)
    return {
        "where": list(map(str, view.where)),
        "by": [criterion.value for criterion in view.by],
        "total": features_json(grid.total),
        **other,
        "rows": [
            {**dict(zip(heads, values, strict=True)), **features_json(cell)}
            for values, cell in _cells(view, grid)
        ],
        "found": grid.found,
        "answered_by": list(grid.answered_by),
    }


def _csv(view: ExplorerView, grid: Grid) -> str:
    lines = [csv_line([*_heads(view), *(feature.value for feature in Feature)])]
    for values, cell in _cells(view, grid):
        lines.append(csv_line([*values, *features_json(cell).values()]))
    return "".join(lines)

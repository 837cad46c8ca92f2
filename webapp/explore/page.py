"""The explorer: facet counts of the archive as charts, tables and files."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from gzip import decompress
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString, gettext, lazy_gettext
from werkzeug.exceptions import NotFound

from nwx.charts import fields
from nwx.charts.fields import OTHERS
from nwx.charts.pictures import browser_bundle, bundle_version
from nwx.errors import UsageError
from nwx.facets.criteria import Criterion
from nwx.facets.question import FacetCondition, Feature, Features, features_json
from nwx.settings import cache_folder
from nwx.values.records import csv_lines
from webapp.explore.answers import (
    CRITERION_LABELS,
    WAYS,
    Grid,
    NamedCriterion,
    ask,
    described_feature,
    gather,
    in_sentence,
    is_ordered,
    label_of,
    number_label,
    ratio,
    readable,
    site_ranks,
    value_labels,
)
from webapp.explore.charts import TITLES, asked_picture, chart_looks, drawn
from webapp.explore.view import (
    TOPS,
    ExplorerAddresses,
    ExplorerOrder,
    ExplorerView,
    Within,
    conditions,
    explorer_pairs,
    read_explorer_view,
    refine,
    search_within,
)
from webapp.site import parameters
from webapp.site.context import archive, preferences
from webapp.site.preferences import Theme
from webapp.site.question_limits import answer_facets

blueprint = Blueprint("explore", __name__, url_prefix="/explore")

ORDERS = {
    ExplorerOrder.MOST: lazy_gettext("Most"),
    ExplorerOrder.LEAST: lazy_gettext("Least"),
    ExplorerOrder.NAME: lazy_gettext("By name"),
}
SITE_ORDERS = {
    ExplorerOrder.PAGERANK: lazy_gettext("PageRank"),
    ExplorerOrder.HARMONIC: lazy_gettext("Harmonic centrality"),
}
CAPTURES_A_PAGE = 50
MOST_OFFSET = 10_000
BUNDLE_SECONDS = 86_400 * 30


@dataclass(frozen=True, slots=True)
class ExplorerChip:
    """The label of a condition, and the address without it."""

    name: str
    label: str
    address: str


@blueprint.get("", endpoint="show")
def show_explorer() -> ResponseReturnValue:
    """Show the chart and the table of a facet question."""
    view = read_explorer_view(request.args)
    to = _addresses(view)
    grid = gather(view, ask, site_ranks(view))
    chart = drawn(view, grid, label_of(view.other))
    return render_template(
        "explore.html",
        to=to,
        grid=grid,
        chart=chart,
        spec=chart.page_spec(),
        chips=_chips(to),
        ways=[WAYS[way] for way in grid.answered_by],
        other_label=label_of(view.other),
        ordered=is_ordered(view.by[0]),
        **_common(view),
    )


@blueprint.get("/change")
def change() -> ResponseReturnValue:
    """Redirect from the forms to the address with one more condition, or to a comparison."""
    view = read_explorer_view(request.args)
    criterion = parameters.choice(request.args, "criterion", Criterion.SITE)
    value = parameters.text(request.args, "value")
    if not value:
        raise UsageError.translated(
            "no %(criterion)s is given; write one, such as %(example)s",
            criterion=criterion,
            example=criterion.definition.example,
        )
    negated = parameters.text(request.args, "is", 3) == "not"
    (added,) = conditions([f"{criterion}{'!=' if negated else '='}{value}"], "value")
    if "compare" in request.args:
        view = replace(view, other=(added,), by=view.by[:1])
    else:
        view = replace(view, where=tuple(dict.fromkeys((*view.where, added))))
    return redirect(_addresses(view).here())


@blueprint.get("/captures")
def captures() -> ResponseReturnValue:
    """List the captures of a selection."""
    view = read_explorer_view(request.args)
    page = parameters.list_page(request.args, CAPTURES_A_PAGE, MOST_OFFSET // CAPTURES_A_PAGE)
    shown = archive()
    total, found = answer_facets(lambda: shown.selected_captures(view.where, page.begin, page.size))
    last = -(-min(total, MOST_OFFSET) // CAPTURES_A_PAGE)
    to = _addresses(replace(view, by=()))
    return render_template(
        "explore_captures.html",
        to=to,
        chips=_chips(ExplorerAddresses(url_for(".captures"), view)),
        total=total,
        captures=found,
        page=page.number,
        last_page=last,
        here=url_for(".captures"),
        reach=MOST_OFFSET,
        **_common(view),
    )


@blueprint.get("/vega.js")
def vega() -> ResponseReturnValue:
    """Return the JavaScript bundle that draws charts."""
    packed = request.accept_encodings["gzip"] > 0
    bundle = browser_bundle(cache_folder())
    response = Response(bundle if packed else decompress(bundle), mimetype="text/javascript")
    if packed:
        response.content_encoding = "gzip"
    response.vary.add("Accept-Encoding")
    response.cache_control.max_age = BUNDLE_SECONDS
    response.cache_control.immutable = True
    response.add_etag()
    return response.make_conditional(request)


def _addresses(view: ExplorerView) -> ExplorerAddresses:
    return ExplorerAddresses(url_for(".show"), view)


def _common(view: ExplorerView) -> dict[str, object]:
    return {
        "view": view,
        "state": explorer_pairs(view),
        "within": _search_address,
        "narrowed": lambda *chosen: refine(view, *chosen).where,
        "captures_page": url_for(".captures"),
        "others": OTHERS,
        **chart_values(),
        "ratio": ratio,
        "in_sentence": in_sentence,
        "criteria": {one: NamedCriterion(str(label)) for one, label in CRITERION_LABELS.items()},
        "features": {one: described_feature(one) for one in Feature},
        "kinds": TITLES,
        "orders": _orders(view),
        "tops": TOPS,
        "number": number_label,
        "readable": readable,
    }


def _orders(view: ExplorerView) -> dict[ExplorerOrder, LazyString]:
    """Return the possible orders of a list; sites by centrality only if links were inverted."""
    if view.by[:1] != (Criterion.SITE,) or view.compares or not archive().is_built("links"):
        return ORDERS
    return ORDERS | SITE_ORDERS


def extended(address: str, **more: object) -> str:
    """Return an address with more parameters."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode(more)}"


def chart_values() -> dict[str, object]:
    """Return the template variables of charts: the reader's colour schemes, Vega settings."""
    chosen = preferences().theme
    return {
        "shown_schemes": fields.SCHEMES if chosen is Theme.AUTO else (str(chosen),),
        "looks": {scheme: chart_looks(scheme) for scheme in fields.SCHEMES},
        "bundle_version": bundle_version(),
        "extended": extended,
    }


def _chips(to: ExplorerAddresses) -> list[ExplorerChip]:
    return [
        ExplorerChip(str(CRITERION_LABELS[own.criterion]), value_labels(own), to.without(own))
        for own in to.view.where
    ]


def _search_address(where: tuple[FacetCondition, ...]) -> tuple[str, Within]:
    """Return the address of a search within a selection, and the conditions it lacks."""
    within = search_within(where)
    values: dict[str, list[str]] = {}
    for name, value in within.pairs:
        values.setdefault(name, []).append(value)
    return url_for("search.results", **values), within  # type: ignore[arg-type]


@blueprint.get("/table.<suffix>")
def table(suffix: str) -> ResponseReturnValue:
    """Return the numbers of a page as a file, with all features of each cell, unrounded."""
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
    """Yield the cells of a grid with their heads: values, or a selection and a value."""
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
    columns = [*_heads(view), *(feature.value for feature in Feature)]
    rows = ([*values, *features_json(cell).values()] for values, cell in _cells(view, grid))
    return "".join(csv_lines(columns, rows))

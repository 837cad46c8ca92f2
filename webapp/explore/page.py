"""The explorer: how much of the archive is what, as charts and tables."""

from dataclasses import dataclass, replace
from gzip import decompress
from urllib.parse import urlencode

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString, lazy_gettext

from nwx.charts import fields
from nwx.charts.panels import OTHERS
from nwx.charts.pictures import browser_bundle, bundle_version
from nwx.errors import ErrorText, UsageError
from nwx.facets.criteria import Criterion
from nwx.facets.question import FacetCondition, Feature
from nwx.settings import cache_folder
from webapp.explore.answers import gather, is_ordered
from webapp.explore.backend import ask, captures_behind, site_ranks
from webapp.explore.chart_looks import chart_looks
from webapp.explore.charts import TITLES, drawn
from webapp.explore.labels import (
    WAYS,
    in_sentence,
    label_of,
    number_label,
    ratio,
    readable,
    value_labels,
)
from webapp.explore.names import CRITERION_LABELS, NamedCriterion, described_feature
from webapp.explore.text_search import Within, search_within
from webapp.explore.view import (
    TOPS,
    ExplorerAddresses,
    ExplorerOrder,
    ExplorerView,
    conditions,
    explorer_pairs,
    read_explorer_view,
    refine,
)
from webapp.links.backend import link_answers
from webapp.site import parameters
from webapp.site.context import preferences
from webapp.site.preferences import Theme

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
    """A condition in words, and the address without it."""

    name: str
    label: str
    address: str


@blueprint.get("", endpoint="show")
def show_explorer() -> ResponseReturnValue:
    """Show the chart and the table of a question."""
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
        looks={scheme: chart_looks(scheme) for scheme in fields.SCHEMES},
        shown_schemes=schemes(),
        chips=_chips(to),
        ways=[WAYS[way] for way in grid.answered_by],
        other_label=label_of(view.other),
        ordered=is_ordered(view.by[0]),
        **_common(view),
    )


@blueprint.get("/change")
def change() -> ResponseReturnValue:
    """Lead from the forms to the address with one more condition, or to a comparison."""
    view = read_explorer_view(request.args)
    criterion = parameters.choice(request.args, "criterion", Criterion.SITE)
    value = parameters.text(request.args, "value")
    if not value:
        raise UsageError(
            ErrorText(
                "no %(criterion)s is given; write one, such as %(example)s",
                criterion=criterion,
                example=criterion.definition.example,
            )
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
    page = parameters.number_parameter(request.args, "page", 1, 1, MOST_OFFSET // CAPTURES_A_PAGE)
    total, found = captures_behind(view.where, (page - 1) * CAPTURES_A_PAGE, CAPTURES_A_PAGE)
    last = -(-min(total, MOST_OFFSET) // CAPTURES_A_PAGE)
    to = _addresses(replace(view, by=()))
    return render_template(
        "explore_captures.html",
        to=to,
        chips=_chips(ExplorerAddresses(url_for(".captures"), view)),
        total=total,
        captures=found,
        page=page,
        last_page=last,
        here=url_for(".captures"),
        reach=MOST_OFFSET,
        **_common(view),
    )


@blueprint.get("/vega.js")
def vega() -> ResponseReturnValue:
    """Return the libraries that draw charts in browsers."""
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
        "extended": extended,
        "ratio": ratio,
        "in_sentence": in_sentence,
        "bundle_version": bundle_version(),
        "criteria": {one: NamedCriterion(str(label)) for one, label in CRITERION_LABELS.items()},
        "features": {one: described_feature(one) for one in Feature},
        "kinds": TITLES,
        "orders": _orders(view),
        "tops": TOPS,
        "number": number_label,
        "readable": readable,
    }


def _orders(view: ExplorerView) -> dict[ExplorerOrder, LazyString]:
    """Return the orders that a list can have; sites by centrality once links were inverted."""
    if view.by[:1] != (Criterion.SITE,) or view.compares or link_answers().links() is None:
        return ORDERS
    return ORDERS | SITE_ORDERS


def extended(address: str, **more: object) -> str:
    """Return an address with more parameters."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode(more)}"


def schemes() -> tuple[str, ...]:
    """Return the schemes that a reader may see charts in: the chosen one, or both."""
    chosen = preferences().theme
    return fields.SCHEMES if chosen is Theme.AUTO else (str(chosen),)


def _chips(to: ExplorerAddresses) -> list[ExplorerChip]:
    return [
        ExplorerChip(str(CRITERION_LABELS[own.criterion]), value_labels(own), to.without(own))
        for own in to.view.where
    ]


def _search_address(where: tuple[FacetCondition, ...]) -> tuple[str, Within]:
    """Return the address of a search within a selection, and what it leaves out."""
    within = search_within(where)
    values: dict[str, list[str]] = {}
    for name, value in within.pairs:
        values.setdefault(name, []).append(value)
    return url_for("search.results", **values), within  # type: ignore[arg-type]

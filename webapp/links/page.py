"""The pages of links: the graph of hosts, the links to a URL, missing URLs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import chain, islice

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext

from nwx import Rows
from nwx.charts.fields import Spec, drawable
from nwx.charts.pictures import PictureFormat, draw_picture
from nwx.charts.treemap import DIRECTIONS, GraphRow, link_graph, sized_link_graph
from nwx.links.host_graph import Neighbourhood
from nwx.links.kept_links import LinkGraph
from nwx.links.missing_urls import KIND_GROUPS, MissingUrl
from nwx.values.records import csv_lines, json_array
from nwx.values.urlkeys import urlkey
from nwx.values.urls import KINDS
from webapp.explore.charts import asked_picture, chart_looks, picture_width, with_words
from webapp.explore.page import chart_values
from webapp.search.history import year_bars
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.parameters import Arguments, Asked
from webapp.site.question_limits import answer_facets
from webapp.site.responses import exported_file, form_of

GRAPH_TOPS = (20, 40, 80)
_DEFAULT_TOP = GRAPH_TOPS[1]


class Level(StrEnum):
    """The level of the graph: what a point stands for."""

    HOSTS = "hosts"
    DOMAINS = "domains"


class PointSize(StrEnum):
    """The number that the size of a point shows."""

    INLINKS = "inlinks"
    DOCUMENTS = "documents"


@dataclass(frozen=True, slots=True)
class LinksView:
    """The requested graph: a host or domain at its centre ("" is none), a year (0 is all)."""

    host: str = ""
    level: Level = Level.HOSTS
    size: PointSize = PointSize.INLINKS
    year: int = 0
    top: int = _DEFAULT_TOP

    def graph(self) -> LinkGraph:
        """Return the graph of the view from the archive."""
        shown, domains = archive(), self.level is Level.DOMAINS
        return answer_facets(
            lambda: shown.link_graph(self.host, domains=domains, year=self.year, top=self.top)
        )


def read_links_view(arguments: Arguments) -> LinksView:
    """Return the view of an address; raises UsageError on invalid parameters."""
    host = parameters.text(arguments, "host", 300).lower()
    if "//" in host:
        host = host.partition("//")[2]
    return LinksView(
        host=host.partition("/")[0].removeprefix("www."),
        level=parameters.choice(arguments, "level", Level.HOSTS),
        size=parameters.choice(arguments, "size", PointSize.INLINKS),
        year=parameters.number_parameter(arguments, "year", 0, 0, 9999),
        top=parameters.one_of(arguments, "top", _DEFAULT_TOP, GRAPH_TOPS),
    )


def links_asked(base: str, view: LinksView) -> parameters.Asked:
    """Return a view as the parameters of a page at `base`."""
    return parameters.Asked(base, asdict(view), asdict(LinksView()))


_HERE, _AWAY, _BOTH, _OTHERS = DIRECTIONS


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """The drawing of a neighbourhood, with the number of documents of each host."""

    around: Neighbourhood
    documents: Mapping[str, int]
    by_inlinks: bool
    spec: Spec

    def page_spec(self) -> Spec:
        """Return the specification for a page, as wide as its container."""
        return sized_link_graph(self.spec, "container")

    def picture(self, scheme: str, form: PictureFormat) -> bytes:
        """Return a picture with a painted background; raises DrawingError."""
        looks = chart_looks(scheme, background=True)
        return draw_picture(sized_link_graph(self.spec, picture_width()), looks, form)


def drawn_graph(found: LinkGraph, *, by_inlinks: bool) -> DrawnGraph:
    """Return the drawing of a graph; points are sized by a host's inlinks or documents."""
    around, documents = found.around, found.documents
    title = "Hosts that link to it" if by_inlinks else "Documents"
    hosts = [
        {
            "host": drawable(one.host),
            "x": one.x,
            "y": one.y,
            "value": one.hosts_in if by_inlinks else documents.get(one.host, 0),
            "captured": "captured" if documents.get(one.host) else "never captured",
            "centre": one.host == around.centre,
        }
        for one in around.hosts
    ]
    spec = link_graph(hosts, list(_edges(around)), title)
    return DrawnGraph(around, documents, by_inlinks, spec)


def _edges(around: Neighbourhood) -> Iterator[GraphRow]:
    """Yield the lines; two hosts that link to each other share one."""
    links = {(source, target): count for source, target, count in around.edges}
    for (source, target), count in links.items():
        back = links.get((target, source), 0)
        if back and source > target:
            continue
        ends = around.hosts[source], around.hosts[target]
        yield {
            "source": drawable(ends[0].host),
            "target": drawable(ends[1].host),
            "links": count + back,
            "direction": _direction(around, source, target, back),
            "x": ends[0].x,
            "y": ends[0].y,
            "x2": ends[1].x,
            "y2": ends[1].y,
        }


def _direction(around: Neighbourhood, source: int, target: int, back: int) -> str:
    if not around.centre or 0 not in (source, target):
        return _OTHERS
    if back:
        return _BOTH
    return _HERE if target == 0 else _AWAY


blueprint = Blueprint("links", __name__, url_prefix="/links")

LINKS_A_PAGE = 50
LEVELS = {Level.HOSTS: lazy_gettext("Hosts"), Level.DOMAINS: lazy_gettext("Domains")}
SIZES = {PointSize.INLINKS: lazy_gettext("Inlinks"), PointSize.DOCUMENTS: lazy_gettext("Documents")}


@blueprint.get("", endpoint="show")
def show_links() -> ResponseReturnValue:
    """Show the links to a URL, or the graph around a host."""
    shown = archive()
    if not shown.is_built("links"):
        return render_template("links.html", years=None)
    if "url" in request.args:
        return _url_page()
    view = read_links_view(request.args)
    return render_template(
        "links.html",
        view=view,
        to=links_asked(url_for(".show"), view),
        years=shown.link_years(),
        graph=_drawn(view),
        current=shown.links_are_current(),
        levels=LEVELS,
        sizes=SIZES,
        tops=GRAPH_TOPS,
        **chart_values(),
    )


@blueprint.get("/graph.<form>")
def graph_picture(form: str) -> ResponseReturnValue:
    """Return the graph as a picture."""
    asked = asked_picture(form)
    drawn = _drawn(read_links_view(request.args))
    return asked.answer(drawn.picture(asked.scheme, asked.format), "links")


def _drawn(view: LinksView) -> DrawnGraph:
    drawn = drawn_graph(view.graph(), by_inlinks=view.size is PointSize.INLINKS)
    return replace(drawn, spec=with_words(drawn.spec, _graph_words()))


def _graph_words() -> dict[str, str]:
    """Return translations of the words in the chart into the language of the page."""
    return {
        "From": gettext("From"),
        "To": gettext("To"),
        "Links": gettext("Links"),
        "Host": gettext("Host"),
        "State": gettext("State"),
        "Documents": gettext("Documents"),
        "Hosts that link to it": gettext("Hosts that link to it"),
        "links here": gettext("links here"),
        "links from here": gettext("links from here"),
        "both": gettext("both"),
        "among others": gettext("among others"),
        "captured": gettext("captured"),
        "never captured": gettext("never captured"),
    }


def _url_page() -> ResponseReturnValue:
    url = parameters.needed_url(request.args, "/links")
    key = urlkey(url)
    year = parameters.number_parameter(request.args, "year", 0, 0, 9999)
    page, shown = parameters.list_page(request.args, LINKS_A_PAGE), archive()
    found = answer_facets(
        lambda: shown.inlinks(key, year=year, offset=page.begin, limit=LINKS_A_PAGE)
    )
    bars = year_bars(
        found.years,
        lambda one: url_for(".show", url=url, year=None if int(one) == year else one),
        [f"{year:04}"],
    )
    return render_template(
        "url_links.html", url=url, year=year, page=page.number, found=found, bars=bars
    )


missing_blueprint = Blueprint("missing", __name__, url_prefix="/missing")

ROWS_A_PAGE = 100
MOST_MISSING_PAGES = 10
MISSING_COLUMNS = ("url", "kind", "pages", "status")
_FIELDS = ("kind", "site", "host", "collection", "from", "to")


def asked_list(arguments: Arguments, base: str) -> Asked:
    """Return the parameters of a list of missing URLs or repairs, for a page at `base`."""
    given = {name: parameters.text(arguments, name, 300) for name in _FIELDS}
    if given["kind"]:
        parameters.one_of_these("kind", given["kind"], (*KIND_GROUPS, *KINDS))
    return Asked(base, given)


def missing_of(arguments: Arguments, base: str) -> tuple[Asked, Rows[MissingUrl]]:
    """Return the parameters of an address, and the missing URLs that match."""
    asked = asked_list(arguments, base)
    return asked, archive().missing(**asked.options())


@missing_blueprint.get("", endpoint="show")
def show_missing() -> ResponseReturnValue:
    """List missing URLs, one page of a table."""
    page, shown = parameters.list_page(request.args, ROWS_A_PAGE, MOST_MISSING_PAGES), archive()
    view, found = missing_of(request.args, url_for(".show"))
    if not shown.is_built("links"):
        return render_template("missing.html", rows=None)
    rows = answer_facets(lambda: found[page.begin : page.end])
    return render_template(
        "missing.html",
        view=view,
        **page.shown(rows),
        last_page=MOST_MISSING_PAGES,
        here=view.base,
        current=shown.links_are_current(),
        collections=shown.collections(),
        groups=tuple(KIND_GROUPS),
        kinds=KINDS,
        suffixes=tuple(MISSING_FORMATS),
    )


@missing_blueprint.get("/urls.<suffix>")
def export_missing(suffix: str) -> ResponseReturnValue:
    """Return all missing URLs that match as a file: CSV, JSON, or a list of URLs."""
    refusal = lazy_gettext("lists come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(MISSING_FORMATS, suffix, refusal)
    found = iter(missing_of(request.args, "")[1])
    return exported_file(
        f"missing.{suffix}", media_type, lambda: write(chain(list(islice(found, 1)), found))
    )


def _csv_lines(found: Iterable[MissingUrl]) -> Iterator[str]:
    return csv_lines(MISSING_COLUMNS, ((one.url, one.kind, one.pages, one.status) for one in found))


def _url_lines(found: Iterable[MissingUrl]) -> Iterator[str]:
    for one in found:
        yield f"{one.url}\n"


MISSING_FORMATS = {
    "csv": ("text/csv", _csv_lines),
    "json": ("application/json", json_array),
    "txt": ("text/plain", _url_lines),
}

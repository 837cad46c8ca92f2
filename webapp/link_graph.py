"""The graph of links between hosts or domains, as a page and in the JSON API."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext

from nwx.charts.fields import Spec, drawable
from nwx.charts.pictures import PictureFormat, draw_picture
from nwx.charts.treemap import DIRECTIONS, GraphRow, link_graph, sized_link_graph
from nwx.links.archive_links import LinkGraph
from nwx.links.host_graph import Neighbourhood
from nwx.searching.answers import Count
from webapp.explore.charts import asked_picture, chart_looks, picture_width, with_words
from webapp.explore.page import chart_values
from webapp.linked_urls import link_api_blueprint, show_url_links
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.openapi import (
    COUNT,
    NOT_FOUND,
    Operation,
    Parameter,
    check_parameters,
    picture_operation,
)
from webapp.site.parameters import Arguments
from webapp.site.question_limits import answer_facets
from webapp.site.responses import json_answer

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
LEVELS = {Level.HOSTS: lazy_gettext("Hosts"), Level.DOMAINS: lazy_gettext("Domains")}
SIZES = {PointSize.INLINKS: lazy_gettext("Inlinks"), PointSize.DOCUMENTS: lazy_gettext("Documents")}


@blueprint.get("", endpoint="show")
def show_links() -> ResponseReturnValue:
    """Show the links to a URL, or the graph around a host."""
    shown = archive()
    if not shown.is_built("links"):
        return render_template("links.html", years=None)
    if "url" in request.args:
        return show_url_links()
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


@dataclass(frozen=True, slots=True)
class GraphHostAnswer:
    """A host of a graph: its links to and from the centre, or all hosts if there is none."""

    host: str
    links_to: Count
    links_from: Count
    hosts_in: Count
    documents: Count


@dataclass(frozen=True, slots=True)
class GraphLinkAnswer:
    """The number of links from one host to another: pairs of linking and linked URL."""

    source: str
    target: str
    links: Count


@dataclass(frozen=True, slots=True)
class LinkGraphAnswer:
    """The hosts or domains around one, and their links; `found` is the number before `top`."""

    centre: str
    level: Level
    year: int | None
    found: Count
    hosts: tuple[GraphHostAnswer, ...]
    links: tuple[GraphLinkAnswer, ...]


GRAPH_PARAMETERS = (
    Parameter("host", "the host or domain in the middle; the most linked ones without it"),
    Parameter("level", "what is linked", {"enum": list(Level), "default": "hosts"}),
    Parameter("year", "links of pages captured in this year", {**COUNT, "maximum": 9999}),
    Parameter("top", "the most hosts", {"enum": list(GRAPH_TOPS), "default": GRAPH_TOPS[1]}),
    Parameter("size", "what the size of a point tells", {"enum": list(PointSize)}),
)

LINK_GRAPH_OPERATIONS = (
    Operation(
        "linkGraph",
        "/api/links/graph",
        "The hosts, or domains, that link to one and that it links to",
        GRAPH_PARAMETERS,
        LinkGraphAnswer,
        errors=NOT_FOUND,
        example="/api/links/graph?level=domains",
    ),
    picture_operation(
        "exportLinkGraph",
        "/links/graph.{form}",
        "The graph of hosts as a picture",
        GRAPH_PARAMETERS,
    ),
)


@link_api_blueprint.get("/links/graph", endpoint="graph")
def graph_around() -> ResponseReturnValue:
    """Answer with the graph around a host."""
    check_parameters(request.args, GRAPH_PARAMETERS)
    view = read_links_view(request.args)
    found = view.graph()
    around, hosts = found.around, found.around.hosts
    return json_answer(
        LinkGraphAnswer(
            centre=around.centre,
            level=view.level,
            year=view.year or None,
            found=around.found,
            hosts=tuple(
                GraphHostAnswer(
                    one.host,
                    one.links_to,
                    one.links_from,
                    one.hosts_in,
                    found.documents.get(one.host, 0),
                )
                for one in hosts
            ),
            links=tuple(
                GraphLinkAnswer(hosts[source].host, hosts[target].host, count)
                for source, target, count in around.edges
            ),
        )
    )

"""The pages of links: the graph of hosts, and the links to a URL."""

from dataclasses import replace

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound

from nwx.charts import fields
from nwx.charts.pictures import bundle_version
from nwx.errors import UsageError
from nwx.links.host_graph import Neighbourhood, neighbourhood
from nwx.model import LinkCell
from nwx.values.urlkeys import urlkey
from nwx.values.urls import domain_of_host
from webapp.explore.asked_pictures import asked_picture
from webapp.explore.chart_looks import chart_looks, with_words
from webapp.explore.page import extended, schemes
from webapp.links.backend import GraphKey, LinkAnswers, link_answers
from webapp.links.graph import DrawnGraph, documents_by_host, drawn_graph
from webapp.links.inlinks import url_inlinks
from webapp.links.view import (
    GRAPH_TOPS,
    Level,
    LinksAddresses,
    LinksView,
    PointSize,
    read_links_view,
)
from webapp.search.bars import year_bars
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.question_limits import answer_facets

blueprint = Blueprint("links", __name__, url_prefix="/links")

LINKS_A_PAGE = 50
_MOST_PAGES = 10_000
LEVELS = {Level.HOSTS: lazy_gettext("Hosts"), Level.DOMAINS: lazy_gettext("Domains")}
SIZES = {PointSize.INLINKS: lazy_gettext("Inlinks"), PointSize.DOCUMENTS: lazy_gettext("Documents")}


@blueprint.get("", endpoint="show")
def show_links() -> ResponseReturnValue:
    """Show the links to a URL, or the graph around a host."""
    answers = link_answers()
    links = answers.links()
    if links is None:
        return render_template("links.html", years=None)
    if "url" in request.args:
        return _url_page(parameters.url(request.args))
    view = read_links_view(request.args)
    to = LinksAddresses(url_for(".show"), view)
    years = links.years()
    return render_template(
        "links.html",
        view=view,
        to=to,
        years=years,
        graph=_graph(answers, view),
        current=links.is_current(),
        levels=LEVELS,
        sizes=SIZES,
        tops=GRAPH_TOPS,
        looks={scheme: chart_looks(scheme) for scheme in fields.SCHEMES},
        shown_schemes=schemes(),
        extended=extended,
        bundle_version=bundle_version(),
    )


@blueprint.get("/graph.<form>")
def graph_picture(form: str) -> ResponseReturnValue:
    """Return the graph as a picture."""
    asked = asked_picture(form)
    answers = link_answers()
    if answers.links() is None:
        raise NotFound(gettext("the links of this archive were never inverted"))
    drawn = _graph(answers, read_links_view(request.args))
    return asked.answer(drawn.picture(asked.scheme, asked.format), "links")


def _graph(answers: LinkAnswers, view: LinksView) -> DrawnGraph:
    archive = engine()

    def draw() -> DrawnGraph:
        around = shown_neighbourhood(answers, view)
        documents = documents_by_host(archive, around, domains=view.level is Level.DOMAINS)
        return drawn_graph(around, documents, by_inlinks=view.size is PointSize.INLINKS)

    drawn = answer_facets(draw)
    return replace(drawn, spec=with_words(drawn.spec, _graph_words()))


def _graph_words() -> dict[str, str]:
    """Return the words of `nwx.charts.treemap` in the language of the page."""
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


def shown_neighbourhood(answers: LinkAnswers, view: LinksView) -> Neighbourhood:
    """Return the part of the graph that a view shows."""
    domains = view.level is Level.DOMAINS
    graph = answers.graph(GraphKey(domains, LinkCell(view.year or None)))
    host = domain_of_host(view.host) if domains and view.host else view.host
    return neighbourhood(graph, host, view.top) if graph else Neighbourhood(host, (), (), 0)


def _url_page(url: str) -> ResponseReturnValue:
    if not url:
        raise UsageError(gettext("url is missing; write %(address)s", address="/links?url=ADDRESS"))
    year = parameters.number_parameter(request.args, "year", 0, 0, 9999)
    page = parameters.number_parameter(request.args, "page", 1, 1, _MOST_PAGES)
    links, archive, key = link_answers().links(), engine(), urlkey(url)
    if links is None:
        raise NotFound(gettext("the links of this archive were never inverted"))
    found = answer_facets(
        lambda: url_inlinks(links, key, year or None, (page - 1) * LINKS_A_PAGE, LINKS_A_PAGE)
    )
    status = archive.statuses([key]).get(key)
    bars = year_bars(
        found.years,
        lambda one: url_for(".show", url=url, year=None if int(one) == year else one),
        [f"{year:04}"],
    )
    return render_template(
        "url_links.html",
        url=url,
        year=year,
        page=page,
        found=found,
        bars=bars,
        status=status,
        captured=status is not None,
    )

"""The pages of links: the graph of hosts, the links to a URL, what the archive lacks."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from json import dumps
from urllib.parse import urlencode

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound

from nwx.charts import fields
from nwx.charts.pictures import bundle_version
from nwx.errors import TimestampError, UsageError
from nwx.links.host_graph import Neighbourhood, neighbourhood
from nwx.links.missing_urls import (
    KIND_GROUPS,
    MissingQuestion,
    MissingUrl,
    PageFilter,
    missing_urls,
)
from nwx.model import LinkCell
from nwx.query.dates import date_span
from nwx.values.csv_cells import csv_line
from nwx.values.urlkeys import urlkey
from nwx.values.urls import KINDS, domain_of_host
from webapp.explore.charts import asked_picture, chart_looks, with_words
from webapp.explore.page import extended, schemes
from webapp.links.backend import GraphKey, LinkAnswers, link_answers, url_inlinks
from webapp.links.graph import (
    GRAPH_TOPS,
    DrawnGraph,
    Level,
    LinksAddresses,
    LinksView,
    PointSize,
    documents_by_host,
    drawn_graph,
    read_links_view,
)
from webapp.search.history import year_bars
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.parameters import Arguments
from webapp.site.question_limits import answer_facets
from webapp.site.responses import exported_file, form_of

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


missing_blueprint = Blueprint("missing", __name__, url_prefix="/missing")

ROWS_A_PAGE = 100
MOST_MISSING_PAGES = 10
MISSING_COLUMNS = ("url", "kind", "pages", "status")
_FIELDS = ("kind", "site", "host", "collection", "from", "to")


@dataclass(frozen=True, slots=True)
class MissingView:
    """The parameters of an address, and the question that they are."""

    given: dict[str, str]
    question: MissingQuestion

    def address(self, base: str, **more: object) -> str:
        """Return an address with the same parameters, and more."""
        pairs = {**self.given, **{name: value for name, value in more.items() if value}}
        return f"{base}?{urlencode(pairs)}" if pairs else base


def read_missing_view(arguments: Arguments) -> MissingView:
    """Return the question of an address; raises UsageError for what makes no sense."""
    given = {name: parameters.text(arguments, name, 300) for name in _FIELDS}
    kind = given["kind"]
    if kind and kind not in KIND_GROUPS and kind not in KINDS:
        raise UsageError(parameters.not_a_choice("kind", kind, (*KIND_GROUPS, *KINDS)))
    kinds = MissingQuestion().kinds
    try:
        since = date_span(given["from"])[0] if given["from"] else ""
        until = date_span(given["to"])[1] if given["to"] else ""
    except TimestampError as error:
        raise UsageError(error.text) from error
    pages = PageFilter(given["site"], given["collection"], since, until)
    wanted = KIND_GROUPS.get(kind, frozenset({kind})) if kind else kinds
    shown = {name: value for name, value in given.items() if value}
    return MissingView(shown, MissingQuestion(wanted, pages, given["host"]))


@missing_blueprint.get("", endpoint="show")
def show_missing() -> ResponseReturnValue:
    """List what is missing, a page of a table."""
    view = read_missing_view(request.args)
    page = parameters.number_parameter(request.args, "page", 1, 1, MOST_MISSING_PAGES)
    answers, archive = link_answers(), engine()
    links = answers.links()
    if links is None:
        return render_template("missing.html", rows=None)
    begin = (page - 1) * ROWS_A_PAGE
    rows = answer_facets(
        lambda: list(
            islice(missing_urls(archive, links, view.question), begin, begin + ROWS_A_PAGE + 1)
        )
    )
    return render_template(
        "missing.html",
        view=view,
        rows=rows[:ROWS_A_PAGE],
        more=len(rows) > ROWS_A_PAGE,
        page=page,
        last_page=MOST_MISSING_PAGES,
        here=url_for(".show"),
        current=links.is_current(),
        collections=archive.collections(),
        groups=tuple(KIND_GROUPS),
        kinds=KINDS,
        suffixes=tuple(MISSING_FORMATS),
    )


@missing_blueprint.get("/urls.<suffix>")
def export_missing(suffix: str) -> ResponseReturnValue:
    """Return all that is missing as a file: CSV, JSON, or a list of URLs."""
    refusal = lazy_gettext("lists come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(MISSING_FORMATS, suffix, refusal)
    view, links, archive = read_missing_view(request.args), link_answers().links(), engine()
    if links is None:
        raise NotFound(gettext("the links of this archive were never inverted"))
    found = missing_urls(archive, links, view.question)
    return exported_file(f"missing.{suffix}", media_type, lambda: write(found))


def _csv_lines(found: Iterable[MissingUrl]) -> Iterator[str]:
    yield csv_line(MISSING_COLUMNS)
    for one in found:
        yield csv_line((one.url, one.kind, one.pages, "" if one.status is None else one.status))


def _json_lines(found: Iterable[MissingUrl]) -> Iterator[str]:
    opening = "["
    for one in found:
        yield f"{opening}\n{dumps(asdict(one), ensure_ascii=False)}"
        opening = ","
    yield "[]\n" if opening == "[" else "\n]\n"


def _url_lines(found: Iterable[MissingUrl]) -> Iterator[str]:
    for one in found:
        yield f"{one.url}\n"


MISSING_FORMATS = {
    "csv": ("text/csv", _csv_lines),
    "json": ("application/json", _json_lines),
    "txt": ("text/plain", _url_lines),
}

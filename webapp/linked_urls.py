"""Linked URLs: the links to a URL, missing URLs and repairs, as pages and in the JSON API."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice

import msgspec
from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import lazy_gettext

from nwx import Rows
from nwx.links.archive_links import UrlInlinks
from nwx.links.missing_urls import KIND_GROUPS, MissingUrl
from nwx.model import Anchor
from nwx.quality.missing_resources import RESOURCE_KINDS
from nwx.quality.repair_list import (
    Repair,
    RepairCounts,
    RepairList,
    csv_of_repairs,
    json_of_repairs,
)
from nwx.quality.scores import Review
from nwx.searching.answers import Count, Timestamp
from nwx.values.records import csv_lines, json_array
from nwx.values.urlkeys import urlkey
from nwx.values.urls import KINDS
from webapp.search.history import year_bars
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.openapi import (
    COUNT,
    NOT_FOUND,
    Operation,
    Parameter,
    check_parameters,
    file_parameter,
    paging_parameters,
)
from webapp.site.parameters import Arguments, Asked
from webapp.site.question_limits import answer_facets
from webapp.site.responses import exported_file, form_of, json_answer

LINKS_A_PAGE = 50


def show_url_links() -> ResponseReturnValue:
    """Show the links to the URL of the address, one page of a list."""
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


@dataclass(frozen=True, slots=True)
class AnchorAnswer:
    """An anchor text, and the number of URLs that link with it."""

    text: str
    count: Count


@dataclass(frozen=True, slots=True)
class InlinkAnswer:
    """A link: the linking page, the time of its first capture, the kind and the anchor text."""

    url: str
    timestamp: Timestamp
    kind: str
    text: str


class LinksAnswer(msgspec.Struct, frozen=True, rename={"sources": "from"}):
    """The links to a URL; `documents` counts distinct linking URLs other than itself.

    `anchors` are of links from other hosts, `own_anchors` of links from the
    same host. `first` and `last` are null if nothing links to the URL.
    `from` lists links. (Not a dataclass, as `from` is a Python keyword.)
    """

    url: str
    documents: Count
    hosts: Count
    domains: Count
    first: Timestamp | None
    last: Timestamp | None
    kinds: dict[str, int]
    anchors: tuple[AnchorAnswer, ...]
    own_anchors: tuple[AnchorAnswer, ...]
    sources: tuple[InlinkAnswer, ...]
    status: int | None
    captured: bool


LINKS_PARAMETERS = (
    Parameter("url", "the linked URL; http:// and www. make no difference", required=True),
    Parameter("year", "links of pages captured in this year", {**COUNT, "maximum": 9999}),
    Parameter("collection", "links of pages of this collection"),
    *paging_parameters("links", 100, 1_000),
)
_MISSING = (
    Parameter("kind", "the kind of link", {"enum": [*KIND_GROUPS, *KINDS]}),
    Parameter("site", "needed by pages of this host, or of one below it"),
    Parameter("host", "missing on this host, or on one below it"),
    Parameter("collection", "needed by pages of this collection"),
    Parameter("from", "needed by pages captured at or after this date"),
    Parameter("to", "needed by pages captured at or before the end of this date"),
)
MISSING_PARAMETERS = (
    *_MISSING,
    Parameter("limit", "the URLs to return", {**COUNT, "maximum": 10_000, "default": 100}),
)


link_api_blueprint = Blueprint("link_api", __name__, url_prefix="/api")

_MOST_LINKS = 1_000
_MOST_MISSING = 10_000


@link_api_blueprint.get("/links", endpoint="links")
def links_of_url() -> ResponseReturnValue:
    """Answer with the links to a URL."""
    arguments, shown = request.args, archive()
    check_parameters(arguments, LINKS_PARAMETERS)
    url = parameters.needed_url(arguments, "/api/links")
    key = urlkey(url)
    year = parameters.number_parameter(arguments, "year", 0, 0, 9999)
    collection = parameters.text(arguments, "collection", 64)
    offset, limit = parameters.paging(arguments, 100, _MOST_LINKS)
    found = answer_facets(
        lambda: shown.inlinks(
            key, year=year, collection=collection, offset=offset, limit=limit, by_year=False
        )
    )
    return json_answer(_links_answer(url, found))


def _links_answer(url: str, found: UrlInlinks) -> LinksAnswer:
    counts = found.counts
    return LinksAnswer(
        url=url,
        documents=counts.documents,
        hosts=counts.hosts,
        domains=counts.domains,
        first=counts.first or None,
        last=counts.last or None,
        kinds=dict(counts.kinds),
        anchors=tuple(map(_anchor, counts.anchors)),
        own_anchors=tuple(map(_anchor, counts.own_anchors)),
        sources=tuple(
            InlinkAnswer(one.url, one.timestamp, one.kind, one.text) for one in found.listed
        ),
        status=found.status or None,
        captured=found.status is not None,
    )


def _anchor(anchor: Anchor) -> AnchorAnswer:
    return AnchorAnswer(anchor.text, anchor.documents)


@link_api_blueprint.get("/missing")
def missing() -> ResponseReturnValue:
    """Answer with the URLs that captured pages need and the archive lacks."""
    check_parameters(request.args, MISSING_PARAMETERS)
    limit = parameters.number_parameter(request.args, "limit", 100, 1, _MOST_MISSING)
    found = missing_of(request.args, "")[1]
    return json_answer(answer_facets(lambda: found[:limit]))


repairs_blueprint = Blueprint("repairs", __name__, url_prefix="/quality/repairs")

REPAIRS_A_PAGE = 100
MOST_REPAIR_PAGES = 10

_Write = Callable[[RepairCounts, Iterator[Repair], Sequence[Review]], Iterator[str]]
REPAIR_FORMATS: dict[str, tuple[str, _Write]] = {
    "csv": ("text/csv", csv_of_repairs),
    "json": ("application/json", json_of_repairs),
    "txt": ("text/plain", lambda _, repairs, __: (f"{one.url}\n" for one in repairs)),
}


@dataclass(frozen=True, slots=True)
class ListedRepairs:
    """The beginning of a list of repairs, and the counts that it is based on.

    `whole` has for each repair the number of pages made whole by it and all before it.
    """

    counts: RepairCounts
    repairs: Sequence[Repair]
    whole: Sequence[int]
    is_current: bool


@repairs_blueprint.get("", endpoint="show")
def show_repairs() -> ResponseReturnValue:
    """List repairs, one page of a table."""
    view, shown = asked_list(request.args, url_for(".show")), archive()
    page = parameters.list_page(request.args, REPAIRS_A_PAGE, MOST_REPAIR_PAGES)
    key = "repairs", shown.stamp(), *view.given.items()
    options = view.options()
    # Cached until links, checks or captures change.
    listed = service().answers.answer(
        key, lambda: answer_facets(lambda: _listed(shown.repairs(**options)))
    )
    rows = list(zip(listed.repairs, listed.whole, strict=True))
    return render_template(
        "repairs.html",
        view=view,
        counts=listed.counts,
        **page.shown(rows[page.begin : page.end]),
        last_page=MOST_REPAIR_PAGES,
        here=view.base,
        current=listed.is_current,
        collections=shown.collections(),
        kinds=RESOURCE_KINDS,
        suffixes=tuple(REPAIR_FORMATS),
    )


@repairs_blueprint.get("/list.<suffix>")
def export_repairs(suffix: str) -> ResponseReturnValue:
    """Return all repairs as a file: CSV, JSON, or a list of URLs for a crawler."""
    refusal = lazy_gettext("repairs come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(REPAIR_FORMATS, suffix, refusal)
    options, shown = asked_list(request.args, "").options(), archive()

    def begin() -> Iterator[str]:
        found = answer_facets(lambda: shown.repairs(**options))
        reviews = shown.repair_reviews(options.get("collection", ""))
        return write(found.counts(), found.repairs(), reviews)

    return exported_file(f"repairs.{suffix}", media_type, begin)


def _listed(found: RepairList) -> ListedRepairs:
    repairs = list(islice(found.repairs(), REPAIRS_A_PAGE * MOST_REPAIR_PAGES + 1))
    whole = tuple(accumulate(one.whole for one in repairs))
    return ListedRepairs(found.counts(), repairs, whole, found.is_current())


LINK_OPERATIONS = (
    Operation(
        "links",
        "/api/links",
        "The links to a URL, captured or not: counts, anchor texts, linking pages",
        LINKS_PARAMETERS,
        LinksAnswer,
        errors=NOT_FOUND,
        example="/api/links?url=http%3A%2F%2Fexample.com%2F",
    ),
    Operation(
        "missing",
        "/api/missing",
        "URLs that captured pages need and the archive lacks",
        MISSING_PARAMETERS,
        tuple[MissingUrl, ...],
        errors=NOT_FOUND,
        example="/api/missing?kind=embedded",
    ),
    Operation(
        "exportMissing",
        "/missing/urls.{suffix}",
        "All of that as a file: CSV, JSON, or a list of URLs",
        (file_parameter(*MISSING_FORMATS), *_MISSING),
        media_types=tuple(media_type for media_type, _ in MISSING_FORMATS.values()),
        errors=NOT_FOUND,
    ),
    Operation(
        "exportRepairs",
        "/quality/repairs/list.{suffix}",
        "The missing resources whose capture repairs most pages, as a file: CSV, JSON, or a list"
        " of URLs",
        (
            file_parameter(*REPAIR_FORMATS),
            Parameter("kind", "the kind of resource", {"enum": list(RESOURCE_KINDS)}),
            Parameter("site", "repair pages of this host, or of one below it"),
            Parameter("host", "resources on this host, or on one below it"),
            Parameter("collection", "repair pages of this collection"),
            Parameter("from", "repair pages captured at or after this date"),
            Parameter("to", "repair pages captured at or before the end of this date"),
        ),
        media_types=("text/csv", "application/json", "text/plain"),
        errors=NOT_FOUND,
    ),
)

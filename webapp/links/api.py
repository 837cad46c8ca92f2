"""The JSON API of links: its operations and answers."""

from dataclasses import dataclass

import msgspec
from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from nwx.links.kept_links import UrlInlinks
from nwx.links.missing_urls import KIND_GROUPS, MissingUrl
from nwx.model import Anchor
from nwx.searching.answers import Count, Timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import KINDS
from webapp.links.page import (
    GRAPH_TOPS,
    MISSING_FORMATS,
    Level,
    PointSize,
    missing_of,
    read_links_view,
)
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.openapi import (
    COUNT,
    NOT_FOUND,
    Operation,
    Parameter,
    check_parameters,
    file_parameter,
    paging_parameters,
    picture_operation,
)
from webapp.site.question_limits import answer_facets
from webapp.site.responses import json_answer


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


LINKS_PARAMETERS = (
    Parameter("url", "the linked URL; http:// and www. make no difference", required=True),
    Parameter("year", "links of pages captured in this year", {**COUNT, "maximum": 9999}),
    Parameter("collection", "links of pages of this collection"),
    *paging_parameters("links", 100, 1_000),
)
GRAPH_PARAMETERS = (
    Parameter("host", "the host or domain in the middle; the most linked ones without it"),
    Parameter("level", "what is linked", {"enum": list(Level), "default": "hosts"}),
    Parameter("year", "links of pages captured in this year", {**COUNT, "maximum": 9999}),
    Parameter("top", "the most hosts", {"enum": list(GRAPH_TOPS), "default": GRAPH_TOPS[1]}),
    Parameter("size", "what the size of a point tells", {"enum": list(PointSize)}),
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
        "linkGraph",
        "/api/links/graph",
        "The hosts, or domains, that link to one and that it links to",
        GRAPH_PARAMETERS,
        LinkGraphAnswer,
        errors=NOT_FOUND,
        example="/api/links/graph?level=domains",
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
    picture_operation(
        "exportLinkGraph",
        "/links/graph.{form}",
        "The graph of hosts as a picture",
        GRAPH_PARAMETERS,
    ),
)


blueprint = Blueprint("link_api", __name__, url_prefix="/api")

_MOST_LINKS = 1_000
_MOST_MISSING = 10_000


@blueprint.get("/links", endpoint="links")
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


@blueprint.get("/links/graph", endpoint="graph")
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


@blueprint.get("/missing")
def missing() -> ResponseReturnValue:
    """Answer with the URLs that captured pages need and the archive lacks."""
    check_parameters(request.args, MISSING_PARAMETERS)
    limit = parameters.number_parameter(request.args, "limit", 100, 1, _MOST_MISSING)
    found = missing_of(request.args, "")[1]
    return json_answer(answer_facets(lambda: found[:limit]))

"""The JSON API of links."""

from itertools import islice

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from nwx.errors import UsageError
from nwx.links.archive_links import ArchiveLinks
from nwx.links.missing_urls import missing_urls
from nwx.model import Anchor, LinkCell, LinkCounts
from nwx.searching.answers import answer_to_json
from nwx.values.urlkeys import urlkey
from webapp.links.backend import link_answers
from webapp.links.graph import documents_by_host
from webapp.links.missing_page import read_missing_view
from webapp.links.operations import (
    GRAPH_PARAMETERS,
    LINKS_PARAMETERS,
    MISSING_PARAMETERS,
    AnchorAnswer,
    GraphHostAnswer,
    GraphLinkAnswer,
    InlinkAnswer,
    LinkGraphAnswer,
    LinksAnswer,
    MissingAnswer,
)
from webapp.links.page import shown_neighbourhood
from webapp.links.view import Level, read_links_view
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.openapi import check_parameters
from webapp.site.question_limits import answer_facets

blueprint = Blueprint("link_api", __name__, url_prefix="/api")

_MOST_LINKS = 1_000
_MOST_MISSING = 10_000


def _links() -> ArchiveLinks:
    links = link_answers().links()
    if links is None:
        raise NotFound("the links of this archive were never inverted; run nwx invert-links")
    return links


@blueprint.get("/links", endpoint="links")
def links_of_url() -> ResponseReturnValue:
    """Answer with the links to a URL."""
    arguments = request.args
    check_parameters(arguments, LINKS_PARAMETERS)
    url = parameters.url(arguments)
    if not url:
        raise UsageError("url is missing; write /api/links?url=ADDRESS")
    year = parameters.number_parameter(arguments, "year", 0, 0, 9999)
    cell = LinkCell(year or None, parameters.text(arguments, "collection", 64))
    offset = parameters.number_parameter(arguments, "offset", 0, 0, parameters.MAX_OFFSET)
    limit = parameters.number_parameter(arguments, "limit", 100, 0, _MOST_LINKS)
    links, archive = _links(), engine()

    def find() -> LinksAnswer:
        key = urlkey(url)
        counts = links.counts(key, cell) or LinkCounts()
        found = islice(links.inlinks(key, cell), offset, offset + limit)
        status = archive.statuses([key]).get(key)
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
                InlinkAnswer(one.url, one.timestamp, one.kind, one.text) for one in found
            ),
            status=status or None,
            captured=status is not None,
        )

    return jsonify(answer_to_json(answer_facets(find)))


def _anchor(anchor: Anchor) -> AnchorAnswer:
    return AnchorAnswer(anchor.text, anchor.documents)


@blueprint.get("/links/graph", endpoint="graph")
def graph_around() -> ResponseReturnValue:
    """Answer with the graph around a host."""
    check_parameters(request.args, GRAPH_PARAMETERS)
    view, answers, archive = read_links_view(request.args), link_answers(), engine()
    _links()

    def find() -> LinkGraphAnswer:
        around = shown_neighbourhood(answers, view)
        documents = documents_by_host(archive, around, domains=view.level is Level.DOMAINS)
        hosts = around.hosts
        return LinkGraphAnswer(
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
                    documents.get(one.host, 0),
                )
                for one in hosts
            ),
            links=tuple(
                GraphLinkAnswer(hosts[source].host, hosts[target].host, count)
                for source, target, count in around.edges
            ),
        )

    return jsonify(answer_to_json(answer_facets(find)))


@blueprint.get("/missing")
def missing() -> ResponseReturnValue:
    """Answer with what captured pages need and the archive lacks."""
    check_parameters(request.args, MISSING_PARAMETERS)
    view, links, archive = read_missing_view(request.args), _links(), engine()
    limit = parameters.number_parameter(request.args, "limit", 100, 1, _MOST_MISSING)
    found = answer_facets(lambda: list(islice(missing_urls(archive, links, view.question), limit)))
    rows = tuple(MissingAnswer(one.url, one.kind, one.pages, one.status) for one in found)
    return jsonify(answer_to_json(rows))

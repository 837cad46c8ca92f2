"""The JSON API of crawls."""

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from nwx.quality.monitor.report import monitor_json
from nwx.searching.answers import answer_to_json
from webapp.crawls.monitor import is_late, monitored_or_404
from webapp.crawls.operations import (
    MOST_LINKS_ANSWERED,
    SCORED_LINKS_PARAMETERS,
    AnalysisAnswer,
    CrawlAnswer,
    ScoredLinkAnswer,
)
from webapp.crawls.page import stored_or_404
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.openapi import check_parameters
from webapp.site.question_limits import answer_search

blueprint = Blueprint("crawl_api", __name__, url_prefix="/api/crawls")


@blueprint.get("")
def crawls() -> ResponseReturnValue:
    """Answer with the crawl specifications."""
    check_parameters(request.args, ())
    index = engine().crawl_index()

    def find() -> tuple[CrawlAnswer, ...]:
        return tuple(
            CrawlAnswer(
                stored.name,
                stored.number,
                stored.version,
                stored.saved,
                tuple(
                    AnalysisAnswer(one.version, one.documents, one.urls)
                    for one in index.analysed_versions(stored.name)
                ),
            )
            for stored in index.specifications()
        )

    return jsonify(answer_to_json(answer_search(find)))


@blueprint.get("/<name>/monitor")
def crawl_monitor(name: str) -> ResponseReturnValue:
    """Answer with what the monitor of a crawl saw last."""
    check_parameters(request.args, ())
    report = monitored_or_404(name)
    return jsonify({**monitor_json(report), "is_late": is_late(report)})


@blueprint.get("/<name>/links")
def scored_links(name: str) -> ResponseReturnValue:
    """Answer with the linked URLs of a crawl by relevance."""
    arguments = request.args
    check_parameters(arguments, SCORED_LINKS_PARAMETERS)
    offset = parameters.number_parameter(arguments, "offset", 0, 0, parameters.MAX_OFFSET)
    limit = parameters.number_parameter(arguments, "limit", 100, 0, MOST_LINKS_ANSWERED)
    host = parameters.text(arguments, "host", 300).lower()
    version = parameters.text(arguments, "version", 100)
    index = engine().crawl_index()
    stored_or_404(index, name)

    def find() -> tuple[ScoredLinkAnswer, ...]:
        found = index.best_links(name, limit, offset, host, version) if limit else []
        return tuple(ScoredLinkAnswer(*link) for link in found)

    return jsonify(answer_to_json(answer_search(find)))

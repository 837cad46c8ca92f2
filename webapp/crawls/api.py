"""The JSON API of crawls: its operations and answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from nwx.quality.monitor.report import monitor_json
from nwx.searching.answers import Count, Timestamp
from nwx.values.records import copied
from webapp.crawls.comparison import CHARTS
from webapp.crawls.monitor import MONITOR_CHARTS, Span, is_late, monitored_or_404
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.openapi import (
    NOT_FOUND,
    Operation,
    Parameter,
    check_parameters,
    paging_parameters,
    picture_operation,
)
from webapp.site.question_limits import answer_search
from webapp.site.responses import json_answer

MOST_LINKS_ANSWERED = 10_000


@dataclass(frozen=True, slots=True)
class AnalysisAnswer:
    """The number of documents analysed at a version, and of URLs that they link to."""

    version: str
    documents: Count
    urls: Count


@dataclass(frozen=True, slots=True)
class CrawlAnswer:
    """A crawl specification as last saved, and the versions that documents were analysed at.

    `number` counts the saves under the name; `version` changes with what analysis depends on.
    """

    name: str
    number: Count
    version: str
    saved: Timestamp
    analysed: tuple[AnalysisAnswer, ...]


@dataclass(frozen=True, slots=True)
class ScoredLinkAnswer:
    """A linked URL: its highest relevance (null if blacklisted), with its parts and reason.

    `via` is the page with that link. The parts add up to the relevance.
    """

    url: str
    relevance: float | None
    role: str
    parts: Mapping[str, float]
    reason: str
    via: str


SCORED_LINKS_PARAMETERS = (
    Parameter("host", "URLs of this host"),
    Parameter("version", "scores of this version; those that were written last without it"),
    *paging_parameters("URLs", 100, MOST_LINKS_ANSWERED),
)

_COMPARED = (
    Parameter("a", "a collection", required=True),
    Parameter("b", "another collection"),
    Parameter("spec", "the name of a crawl whose specification defines relevance"),
)

CRAWL_OPERATIONS = (
    Operation(
        "crawls",
        "/api/crawls",
        "The crawl specifications",
        (),
        tuple[CrawlAnswer, ...],
        example="/api/crawls",
    ),
    Operation(
        "crawlLinks",
        "/api/crawls/{name}/links",
        "The linked URLs of a crawl by relevance, blacklisted ones at the end",
        (Parameter("name", "the crawl", place="path"), *SCORED_LINKS_PARAMETERS),
        tuple[ScoredLinkAnswer, ...],
        errors=NOT_FOUND,
    ),
    Operation(
        "crawlMonitor",
        "/api/crawls/{name}/monitor",
        "A crawl as it runs: counts, hosts, status codes, alerts, as its monitor saw it last",
        (Parameter("name", "the crawl", place="path"),),
        media_types=("application/json",),
        errors=NOT_FOUND,
    ),
    picture_operation(
        "crawlChart",
        "/crawls/{name}/monitor/{chart}.{form}",
        "A chart of that as a picture",
        (Parameter("span", "the time shown", {"enum": list(Span), "default": Span.DAY}),),
        (
            Parameter("name", "the crawl", place="path"),
            Parameter("chart", "what it shows", {"enum": list(MONITOR_CHARTS)}, place="path"),
        ),
    ),
    Operation(
        "compareCrawls",
        "/crawls/compare/numbers.json",
        "Two collections compared, or one with a crawl specification",
        _COMPARED,
        media_types=("application/json",),
        errors=NOT_FOUND,
    ),
    picture_operation(
        "exportComparison",
        "/crawls/compare/{chart}.{form}",
        "A chart of that as a picture",
        _COMPARED,
        (Parameter("chart", "what it shows", {"enum": list(CHARTS)}, place="path"),),
    ),
)


blueprint = Blueprint("crawl_api", __name__, url_prefix="/api/crawls")


@blueprint.get("")
def crawls() -> ResponseReturnValue:
    """Answer with the crawl specifications."""
    check_parameters(request.args, ())
    found = answer_search(archive().crawls)
    return json_answer(
        [
            copied(
                CrawlAnswer,
                stored,
                analysed=tuple(copied(AnalysisAnswer, one) for one in analysed),
            )
            for stored, analysed in found
        ]
    )


@blueprint.get("/<name>/monitor")
def crawl_monitor(name: str) -> ResponseReturnValue:
    """Answer with the last report of a crawl's monitor."""
    check_parameters(request.args, ())
    report = monitored_or_404(name)
    return jsonify({**monitor_json(report), "is_late": is_late(report)})


@blueprint.get("/<name>/links")
def scored_links(name: str) -> ResponseReturnValue:
    """Answer with the linked URLs of a crawl, highest relevance first."""
    arguments = request.args
    check_parameters(arguments, SCORED_LINKS_PARAMETERS)
    offset, limit = parameters.paging(arguments, 100, MOST_LINKS_ANSWERED)
    host = parameters.text(arguments, "host", 300).lower()
    version = parameters.text(arguments, "version", 100)
    own = archive()
    own.crawl_specification(name)
    if not limit:
        return json_answer(())
    found, _ = answer_search(lambda: own.crawl_links(name, limit, offset, host, version))
    return json_answer([ScoredLinkAnswer(*link) for link in found])

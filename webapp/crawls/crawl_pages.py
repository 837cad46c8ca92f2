"""Crawl specifications with their best links, as pages and in the JSON API of crawls."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flask import (
    Blueprint,
    Response,
    jsonify,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_babel import lazy_gettext

from nwx.errors import SpecificationError, WithheldError
from nwx.quality.monitor.report import MonitorReport, monitor_json
from nwx.searching.answers import Count, Timestamp
from nwx.steering.comparison.counts import CrawlHarvest
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.specifications.specification_files import write_specification
from nwx.steering.specifications.specification_store import (
    AnalysedVersion,
    ScoredLink,
    StoredSpecification,
    UnknownCrawlError,
    specification_of,
)
from nwx.values.records import copied
from webapp.crawls.comparison import CHARTS
from webapp.crawls.editor import is_writable, requested_number
from webapp.crawls.monitor import (
    MONITOR_CHARTS,
    Span,
    is_late,
    monitor_report,
    monitor_values,
    monitored_or_404,
    monitors,
)
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

blueprint = Blueprint("crawls", __name__, url_prefix="/crawls")

SCORED_A_PAGE = 50
_MEDIA_TYPES = {"toml": "application/toml", "json": "application/json"}
PARTS = {
    "document": lazy_gettext("the page"),
    "near": lazy_gettext("text near the link"),
    "role": lazy_gettext("kind of the link"),
    "preferred": lazy_gettext("preferred"),
    "novelty": lazy_gettext("novelty"),
}
"""The parts of relevance and their labels, in the order of their colours."""


@dataclass(frozen=True, slots=True)
class ListedCrawl:
    """A crawl in the list; `analysed` counts what was analysed at its last version."""

    stored: StoredSpecification
    analysed: AnalysedVersion


@dataclass(frozen=True, slots=True)
class ListedLink:
    """A link on the page of a crawl; `status` is that of its captures, None without any."""

    link: ScoredLink
    status: int | None

    @property
    def parts(self) -> list[tuple[str, float]]:
        """The nonzero parts of its relevance, those of PARTS first."""
        given = self.link.parts
        names = [*PARTS, *(name for name in given if name not in PARTS)]
        return [(name, given[name]) for name in names if given.get(name)]


@blueprint.get("", endpoint="show")
def show_crawls() -> ResponseReturnValue:
    """List the crawl specifications."""
    found = answer_search(archive().crawls)
    return render_template(
        "crawls.html",
        crawls=[ListedCrawl(one, _analysed(analysed, one)) for one, analysed in found],
        monitors=monitors(),
        writable=is_writable(),
    )


def _analysed(found: Sequence[AnalysedVersion], stored: StoredSpecification) -> AnalysedVersion:
    nothing = AnalysedVersion(stored.version, 0, 0)
    return next((one for one in found if one.version == stored.version), nothing)


def _shown_report(name: str) -> MonitorReport | None:
    """Return the report of a crawl's monitor, None without one that the viewer may see."""
    with suppress(WithheldError):
        return monitor_report(name)
    return None


@blueprint.get("/<name>")
def show_crawl(name: str) -> ResponseReturnValue:
    """Show a running crawl, its specification, and the links with the highest scores."""
    report = _shown_report(name)
    has_tab = bool(parameters.text(request.args, "tab", 20))
    shown = monitor_values(report) if report and not has_tab else {}
    try:
        stored = archive().crawl_specification(name)
    except UnknownCrawlError:
        if report is None:
            raise
        return render_template("monitored_crawl.html", **(shown or monitor_values(report)))
    page = parameters.list_page(request.args, SCORED_A_PAGE)
    host = parameters.text(request.args, "host", 300).lower()
    version = parameters.text(request.args, "version", 100)
    own = archive()

    if shown:
        return render_template(
            "crawl.html", stored=stored, tabs=True, saved="", writable=is_writable(), **shown
        )

    def links() -> tuple[CrawlSpecification | None, list[ListedLink]]:
        found, _ = own.crawl_links(name, SCORED_A_PAGE + 1, page.begin, host, version)
        statuses = own.url_statuses(link.url for link in found)
        return _readable(stored), [ListedLink(link, statuses.get(link.url)) for link in found]

    specification, found = answer_search(links)
    return render_template(
        "crawl.html",
        stored=stored,
        specification=specification,
        analysed=own.analysed_versions(name),
        version=version,
        links=found[:SCORED_A_PAGE],
        more=len(found) > SCORED_A_PAGE,
        page=page.number,
        host=host,
        **_saved(),
        harvest=_harvest(name, version) if specification else None,
        part_names=PARTS,
        tabs=report is not None,
    )


def _saved() -> dict[str, Any]:
    return {"saved": parameters.text(request.args, "saved", 20), "writable": is_writable()}


def _harvest(name: str, version: str) -> CrawlHarvest:
    own = archive()
    return answer_search(lambda: own.crawl_harvest(name, version))


@lru_cache(maxsize=4)
def _readable(stored: StoredSpecification) -> CrawlSpecification | None:
    """Return a saved specification, None if this version of nwx no longer accepts it."""
    try:
        return specification_of(stored)
    except SpecificationError:
        return None


@blueprint.get("/<name>/specification.<any(toml, json):form>")
def download(name: str, form: str) -> Response:
    """Return a specification as a file: as it was saved, or as JSON."""
    stored = archive().crawl_specification(name, requested_number())
    is_as_saved = (form == "json") == stored.text.lstrip().startswith("{")
    text = stored.text
    if not is_as_saved:
        text = write_specification(specification_of(stored), "json" if form == "json" else "toml")
    response = Response(text, content_type=f"{_MEDIA_TYPES[form]}; charset=utf-8")
    response.headers["Content-Disposition"] = f'inline; filename="{stored.name}.{form}"'
    return response


@blueprint.get("/<name>/versions")
def show_versions(name: str) -> ResponseReturnValue:
    """List all saved versions of a specification."""
    versions = archive().crawl_versions(name)
    return render_template(
        "crawl_versions.html",
        stored=archive().crawl_specification(name),
        versions=versions,
        writable=is_writable(),
        action=url_for("crawl_editor.restore_version", name=name),
    )


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


crawl_api_blueprint = Blueprint("crawl_api", __name__, url_prefix="/api/crawls")


@crawl_api_blueprint.get("")
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


@crawl_api_blueprint.get("/<name>/monitor")
def crawl_monitor(name: str) -> ResponseReturnValue:
    """Answer with the last report of a crawl's monitor."""
    check_parameters(request.args, ())
    report = monitored_or_404(name)
    return jsonify({**monitor_json(report), "is_late": is_late(report)})


@crawl_api_blueprint.get("/<name>/links")
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

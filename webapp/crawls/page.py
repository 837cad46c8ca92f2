"""The pages of crawls: the list, and a crawl with the links that it scores highest."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from flask import Blueprint, Response, render_template, request, url_for
from flask.typing import ResponseReturnValue

from nwx.engine.access.rules import Role
from nwx.errors import SpecificationError, WithheldError
from nwx.quality.monitor.report import MonitorReport
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.specifications.specification_files import write_specification
from nwx.steering.specifications.specification_store import (
    AnalysedVersion,
    ScoredLink,
    StoredSpecification,
    UnknownCrawlError,
    specification_of,
)
from webapp.crawls.monitor import monitor_report, monitor_values, monitors
from webapp.crawls.queue import queue_service
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.question_limits import answer_search
from webapp.users.guards import has_role

blueprint = Blueprint("crawls", __name__, url_prefix="/crawls")

SCORED_A_PAGE = 50
_MEDIA_TYPES = {"toml": "application/toml", "json": "application/json"}
PARTS = ("document", "near", "role", "preferred", "novelty")
"""The parts of relevance, in the order of their colours."""


@dataclass(frozen=True, slots=True)
class ListedCrawl:
    """A crawl as the list shows it; `analysed` is what was analysed at its last version."""

    stored: StoredSpecification
    analysed: AnalysedVersion


@dataclass(frozen=True, slots=True)
class ListedLink:
    """A link as its page shows it; `status` is that of its captures, None without any."""

    link: ScoredLink
    status: int | None

    @property
    def parts(self) -> list[tuple[str, float]]:
        """The parts of its relevance that are not 0, those of PARTS first."""
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


def is_writable() -> bool:
    """Return whether the viewer can save specifications here, by a role or with the token."""
    return has_role(Role.CURATOR) or bool(queue_service().token)


def _analysed(found: Sequence[AnalysedVersion], stored: StoredSpecification) -> AnalysedVersion:
    nothing = AnalysedVersion(stored.version, 0, 0)
    return next((one for one in found if one.version == stored.version), nothing)


def _shown_report(name: str) -> MonitorReport | None:
    """Return what the monitor of a crawl saw, None where there is none that may be shown."""
    with suppress(WithheldError):
        return monitor_report(name)
    return None


@blueprint.get("/<name>")
def show_crawl(name: str) -> ResponseReturnValue:
    """Show a crawl as it runs, its specification, and the links that this scores highest."""
    report = _shown_report(name)
    shown = monitor_values(report) if report else {}
    try:
        stored = archive().crawl_specification(name)
    except UnknownCrawlError:
        if report is None:
            raise
        return render_template("monitored_crawl.html", **shown)
    page = parameters.list_page(request.args, SCORED_A_PAGE)
    host = parameters.text(request.args, "host", 300).lower()
    version = parameters.text(request.args, "version", 100)
    own = archive()

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
        saved=parameters.text(request.args, "saved", 20),
        writable=is_writable(),
        part_names=PARTS,
        **shown,
    )


@lru_cache(maxsize=4)
def _readable(stored: StoredSpecification) -> CrawlSpecification | None:
    """Return a saved specification, None where this version of nwx does not take it any more."""
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


def requested_number() -> str:
    """Return the number of a saved specification that is asked for, "" for the last."""
    return str(parameters.number_parameter(request.args, "number", 0, 0, 10**9) or "")


@blueprint.get("/<name>/versions")
def show_versions(name: str) -> ResponseReturnValue:
    """List all that was saved of a specification."""
    versions = archive().crawl_versions(name)
    return render_template(
        "crawl_versions.html",
        stored=archive().crawl_specification(name),
        versions=versions,
        writable=is_writable(),
        action=url_for("crawl_editor.restore_version", name=name),
    )

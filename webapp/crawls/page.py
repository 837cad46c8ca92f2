"""The pages of crawls: the list, and a crawl with the links that it scores highest."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from flask import Blueprint, Response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from nwx.engine.access.rules import Role
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import (
    AnalysedVersion,
    CrawlIndex,
    ScoredLink,
    StoredSpecification,
)
from nwx.errors import SpecificationError, UrlError, WithheldError
from nwx.quality.monitor.report import MonitorReport
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.specifications.specification_files import write_specification
from nwx.steering.specifications.specification_store import (
    UnknownCrawlError,
    specification_of,
    stored_specification,
)
from nwx.values.urlkeys import urlkey
from webapp.crawls.monitor import monitor_report, monitor_values, monitors
from webapp.crawls.queue import queue_service
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.question_limits import answer_search
from webapp.site.words import error_text
from webapp.users.guards import has_role

blueprint = Blueprint("crawls", __name__, url_prefix="/crawls")

SCORED_A_PAGE = 50
_MOST_PAGES = 10_000
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
    crawls = engine().crawl_index()

    def read() -> list[ListedCrawl]:
        found = crawls.specifications()
        return [
            ListedCrawl(one, _analysed(crawls.analysed_versions(one.name), one)) for one in found
        ]

    return render_template(
        "crawls.html",
        crawls=answer_search(read),
        monitors=monitors(engine()),
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
        return monitor_report(engine(), name)
    return None


@blueprint.get("/<name>")
def show_crawl(name: str) -> ResponseReturnValue:
    """Show a crawl as it runs, its specification, and the links that this scores highest."""
    report = _shown_report(name)
    shown = monitor_values(report) if report else {}
    if report and engine().crawl_index().specification(name) is None:
        return render_template("monitored_crawl.html", **shown)
    page = parameters.number_parameter(request.args, "page", 1, 1, _MOST_PAGES)
    host = parameters.text(request.args, "host", 300).lower()
    version = parameters.text(request.args, "version", 100)
    saved = parameters.text(request.args, "saved", 20)
    archive = engine()
    crawls = archive.crawl_index()
    stored = stored_or_404(crawls, name)

    def links() -> tuple[CrawlSpecification | None, list[ListedLink]]:
        start = (page - 1) * SCORED_A_PAGE
        return _readable(stored), _listed(
            archive, crawls.best_links(name, SCORED_A_PAGE + 1, start, host, version)
        )

    specification, found = answer_search(links)
    return render_template(
        "crawl.html",
        stored=stored,
        specification=specification,
        analysed=crawls.analysed_versions(name),
        version=version,
        links=found[:SCORED_A_PAGE],
        more=len(found) > SCORED_A_PAGE and page < _MOST_PAGES,
        page=page,
        host=host,
        saved=saved,
        writable=is_writable(),
        part_names=PARTS,
        **shown,
    )


def stored_or_404(crawls: CrawlIndex, name: str, number: int = 0) -> StoredSpecification:
    """Return what was saved of a crawl last, or under a number; raises NotFound without it."""
    try:
        return stored_specification(crawls, name, str(number) if number else "")
    except UnknownCrawlError as error:
        raise NotFound(error_text(error)) from error


@lru_cache(maxsize=4)
def _readable(stored: StoredSpecification) -> CrawlSpecification | None:
    """Return a saved specification, None where this version of nwx does not take it any more."""
    try:
        return specification_of(stored)
    except SpecificationError:
        return None


def _listed(archive: Engine, links: Sequence[ScoredLink]) -> list[ListedLink]:
    keys = {link.url: _key(link.url) for link in links}
    statuses = archive.statuses([key for key in keys.values() if key])
    return [ListedLink(link, statuses.get(keys[link.url])) for link in links]


def _key(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""


@blueprint.get("/<name>/specification.<any(toml, json):form>")
def download(name: str, form: str) -> Response:
    """Return a specification as a file: as it was saved, or as JSON."""
    stored = stored_or_404(engine().crawl_index(), name, requested_number())
    is_as_saved = (form == "json") == stored.text.lstrip().startswith("{")
    text = stored.text
    if not is_as_saved:
        text = write_specification(specification_of(stored), "json" if form == "json" else "toml")
    response = Response(text, content_type=f"{_MEDIA_TYPES[form]}; charset=utf-8")
    response.headers["Content-Disposition"] = f'inline; filename="{stored.name}.{form}"'
    return response


def requested_number() -> int:
    """Return the number of a saved specification that is asked for, 0 for the last."""
    return parameters.number_parameter(request.args, "number", 0, 0, 10**9)


@blueprint.get("/<name>/versions")
def show_versions(name: str) -> ResponseReturnValue:
    """List all that was saved of a specification."""
    crawls = engine().crawl_index()
    stored = stored_or_404(crawls, name)
    documents = {one.version: one.documents for one in crawls.analysed_versions(name)}
    return render_template(
        "crawl_versions.html",
        stored=stored,
        versions=crawls.versions(name),
        documents=documents,
        writable=is_writable(),
        action=url_for("crawl_editor.restore_version", name=name),
    )

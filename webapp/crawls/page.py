"""Pages of crawls: the list, a crawl with its best links, the specification editor."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import Forbidden

from nwx.engine.access.rules import Role
from nwx.errors import EngineConflictError, ErrorText, SpecificationError, WithheldError
from nwx.quality.monitor.report import MonitorReport
from nwx.steering.comparison.counts import CrawlHarvest
from nwx.steering.specifications.file_values import SpecificationProblem
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.specifications.specification_files import read_specification, write_specification
from nwx.steering.specifications.specification_store import (
    AnalysedVersion,
    ScoredLink,
    StoredSpecification,
    UnknownCrawlError,
    specification_of,
)
from webapp.crawls.editor_form import MOST_EDITED_CHARACTERS, editor_values, text_with_fields
from webapp.crawls.monitor import monitor_report, monitor_values, monitors
from webapp.crawls.queue import queue_service
from webapp.headers import has_token
from webapp.login_page import has_role, needs_role
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.question_limits import answer_search

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


def is_writable() -> bool:
    """Return whether the viewer can save specifications, by role or with the token."""
    return has_role(Role.CURATOR) or bool(queue_service().token)


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


def requested_number() -> str:
    """Return the requested number of a saved specification, "" for the last."""
    return str(parameters.number_parameter(request.args, "number", 0, 0, 10**9) or "")


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


editor_blueprint = Blueprint("crawl_editor", __name__, url_prefix="/crawls")

EDITOR_FORM_BYTES = 5 << 20
"""Enough for MOST_EDITED_CHARACTERS of three bytes each, which forms send as nine."""

_PROBLEMS_SHOWN = 200
_TEMPLATE = """\
name = "harbours"
seeds = [
  "https://www.example.org/",
]
keywords = [
  "harbour",
  "lighthouse",
]

[[entities]]
name = "Harbour Museum"
aliases = ["Museum of the Harbour"]
kind = "organisation"

[[rules]]
action = "blacklist"
hosts = ["ads.example.com"]
"""


@dataclass(frozen=True, slots=True)
class _Edited:
    """The edited text, the name of its crawl ("" for a new one), and the number it is based on."""

    text: str
    name: str = ""
    number: int = 0
    problems: tuple[SpecificationProblem, ...] = ()
    message: str = ""
    valid: CrawlSpecification | None = None


@editor_blueprint.get("/new")
def new_crawl() -> ResponseReturnValue:
    """Show the editor with an example specification."""
    return _page(_Edited(_TEMPLATE))


@editor_blueprint.get("/<name>/edit")
def edit_crawl(name: str) -> ResponseReturnValue:
    """Show the editor with the last specification of a crawl, or an earlier one."""
    own, number = archive(), requested_number()
    last = own.crawl_specification(name)
    shown = own.crawl_specification(name, number) if number else last
    return _page(_Edited(shown.text, last.name, last.number))


@editor_blueprint.post("/new")
@needs_role(Role.CURATOR, or_token=True)
def save_new_crawl() -> ResponseReturnValue:
    """Check or save a new specification."""
    return _answer("")


@editor_blueprint.post("/<name>/edit")
@needs_role(Role.CURATOR, or_token=True)
def save_crawl(name: str) -> ResponseReturnValue:
    """Check or save the specification of a crawl."""
    return _answer(name)


@editor_blueprint.post("/<name>/restore")
@needs_role(Role.CURATOR, or_token=True)
def restore_version(name: str) -> ResponseReturnValue:
    """Save an earlier specification again."""
    check_sender()
    number = parameters.number_parameter(request.form, "number", 0, 1, 10**9)
    last = parameters.number_parameter(request.form, "last", 0, 1, 10**9)
    return _to_crawl(archive().restore_crawl(name, str(number), last or None))


def _answer(name: str) -> ResponseReturnValue:
    edited = _posted(name)
    if request.form.get("action") in ("to-form", "to-text"):
        return _page(edited)
    try:
        # Reading a long text takes a while: it is limited like a search.
        specification = answer_search(lambda: _checked(edited))
        if request.form.get("action") == "check":
            return _page(_with_problems(edited, valid=specification))
        check_sender()
        _check_queue(edited, specification)
        saved = archive().save_crawl(edited.text, "", edited.number)
    except SpecificationError as error:
        return _page(_with_problems(edited, problems=error.problems[:_PROBLEMS_SHOWN]), 400)
    except EngineConflictError:
        return _page(_conflicting(edited), 409)
    return _to_crawl(saved)


def _posted(name: str) -> _Edited:
    """Return the content of a form, with line ends as in files."""
    request.max_form_memory_size = EDITOR_FORM_BYTES
    number = parameters.number_parameter(request.form, "number", 0, 0, 10**9)
    text = request.form.get("text", "").replace("\r\n", "\n")
    return _Edited(text_with_fields(text), name, number)


def _checked(edited: _Edited) -> CrawlSpecification:
    """Return the specification in a form; raises SpecificationError if it is invalid."""
    if len(edited.text) > MOST_EDITED_CHARACTERS:
        text = ErrorText(
            "has %(count)s characters; the page accepts %(most)s, `nwx crawls add` accepts more",
            count=len(edited.text),
            most=MOST_EDITED_CHARACTERS,
        )
        raise SpecificationError("", [SpecificationProblem("", text)])
    specification = read_specification(edited.text, "")
    if edited.name and specification.name != edited.name:
        text = ErrorText(
            "is %(name)s; the name of %(old)s cannot be changed",
            name=repr(specification.name),
            old=edited.name,
        )
        raise SpecificationError("", [SpecificationProblem("name", text)])
    return specification


def _check_queue(edited: _Edited, specification: CrawlSpecification) -> None:
    """Raise SpecificationError if a curator changes the queue: `nwx steer` sends the token there.

    A sender of the token may change it.
    """
    if not has_role(Role.CURATOR) or has_role(Role.ADMINISTRATOR):
        return
    last = archive().crawl_specification(edited.name).text if edited.name else ""
    if specification.queue and (
        not last or read_specification(last, "").queue != specification.queue
    ):
        text = ErrorText("can be changed by administrators only; the token of the queue goes there")
        raise SpecificationError("", [SpecificationProblem("queue", text)])


def check_sender() -> None:
    """Raise Forbidden unless the form was sent from these pages, by a curator or with the token."""
    if has_role(Role.CURATOR):
        return  # `needs_role` has checked the form
    token = queue_service().token
    if not token:
        raise Forbidden(gettext("saving is disabled here; set NWX_QUEUE_TOKEN"))
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise Forbidden(gettext("forms can only be sent from the pages of this archive"))
    if not has_token(f"Bearer {request.form.get('token', '')}", token):
        raise Forbidden(gettext("the token is wrong; it is the NWX_QUEUE_TOKEN of this service"))


def _conflicting(edited: _Edited) -> _Edited:
    """Return a form with a message about the conflict; sending it again overwrites."""
    name = edited.name or read_specification(edited.text, "").name
    try:
        last = archive().crawl_specification(name)
    except UnknownCrawlError:
        return _Edited(
            edited.text, "", 0, message=gettext("The crawl was removed; save again to add it.")
        )
    message = (
        gettext(
            "The crawl %(name)s already exists, saved as number %(number)s.",
            name=name,
            number=last.number,
        )
        if not edited.name
        else gettext(
            "Somebody else saved number %(number)s of %(name)s meanwhile.",
            name=name,
            number=last.number,
        )
    )
    return _Edited(edited.text, name, last.number, message=message)


def _with_problems(
    edited: _Edited,
    problems: tuple[SpecificationProblem, ...] = (),
    valid: CrawlSpecification | None = None,
) -> _Edited:
    return _Edited(edited.text, edited.name, edited.number, problems, "", valid)


def _page(edited: _Edited, status: int = 200) -> Response:
    is_long = len(edited.text) > MOST_EDITED_CHARACTERS
    page = render_template(
        "crawl_editor.html",
        edited=edited,
        is_long=is_long,
        **({} if is_long else editor_values(edited.text)),
        writable=is_writable(),
        action=url_for(".save_crawl", name=edited.name)
        if edited.name
        else url_for(".save_new_crawl"),
    )
    return make_response(page, status)


def _to_crawl(saved: StoredSpecification) -> ResponseReturnValue:
    address = url_for("crawls.show_crawl", name=saved.name, saved=saved.number)
    return redirect(address, code=303)

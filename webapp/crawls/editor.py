"""The editor of crawl specifications: checks, saves, restores; for curators, or with the token."""

from dataclasses import dataclass

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import Forbidden

from nwx.engine.access.rules import Role
from nwx.errors import EngineConflictError, SpecificationError
from nwx.steering.specifications.file_values import SpecificationProblem
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.specifications.specification_files import read_specification
from nwx.steering.specifications.specification_store import StoredSpecification, UnknownCrawlError
from webapp.crawls.page import is_writable, requested_number
from webapp.crawls.queue import queue_service
from webapp.headers import has_token
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.question_limits import answer_search
from webapp.users.guards import has_role, needs_role

blueprint = Blueprint("crawl_editor", __name__, url_prefix="/crawls")

MOST_EDITED_CHARACTERS = 500_000
"""Longer specifications are added by the command: a form's body must not be large."""

EDITOR_FORM_BYTES = 5 << 20
"""Enough for so many characters of three bytes each, which forms send as nine."""

_PROBLEMS_SHOWN = 200
_TEMPLATE = """\
name = ""
seeds = [
  "https://",
]
keywords = [
  "",
]

[[entities]]
name = ""
aliases = []
kind = "other"

[[rules]]
action = "prefer"
hosts = []
"""


@dataclass(frozen=True, slots=True)
class _Edited:
    """A form: what is edited, of which crawl ("" is a new one), and from which number on."""

    text: str
    name: str = ""
    number: int = 0
    problems: tuple[SpecificationProblem, ...] = ()
    message: str = ""
    valid: CrawlSpecification | None = None


@blueprint.get("/new")
def new_crawl() -> ResponseReturnValue:
    """Show the editor with a beginning."""
    return _page(_Edited(_TEMPLATE))


@blueprint.get("/<name>/edit")
def edit_crawl(name: str) -> ResponseReturnValue:
    """Show the editor with the specification of a crawl, or an earlier one."""
    own, number = archive(), requested_number()
    last = own.crawl_specification(name)
    shown = own.crawl_specification(name, number) if number else last
    return _page(_Edited(shown.text, last.name, last.number))


@blueprint.post("/new")
@needs_role(Role.CURATOR, or_token=True)
def save_new_crawl() -> ResponseReturnValue:
    """Check or save a new specification."""
    return _answer("")


@blueprint.post("/<name>/edit")
@needs_role(Role.CURATOR, or_token=True)
def save_crawl(name: str) -> ResponseReturnValue:
    """Check or save the specification of a crawl."""
    return _answer(name)


@blueprint.post("/<name>/restore")
@needs_role(Role.CURATOR, or_token=True)
def restore_version(name: str) -> ResponseReturnValue:
    """Save an earlier specification again."""
    check_sender()
    number = parameters.number_parameter(request.form, "number", 0, 1, 10**9)
    last = parameters.number_parameter(request.form, "last", 0, 1, 10**9)
    return _to_crawl(archive().restore_crawl(name, str(number), last or None))


def _answer(name: str) -> ResponseReturnValue:
    edited = _posted(name)
    try:
        # Reading a long text takes a while: so many at once, and no longer than a search.
        specification = answer_search(lambda: _checked(edited))
        if request.form.get("action") == "check":
            return _page(_with(edited, valid=specification))
        check_sender()
        _check_queue(edited, specification)
        saved = archive().save_crawl(edited.text, "", edited.number)
    except SpecificationError as error:
        return _page(_with(edited, problems=error.problems[:_PROBLEMS_SHOWN]), 400)
    except EngineConflictError:
        return _page(_conflicting(edited), 409)
    return _to_crawl(saved)


def _posted(name: str) -> _Edited:
    """Return what a form holds; line ends are those of files again."""
    request.max_form_memory_size = EDITOR_FORM_BYTES
    number = parameters.number_parameter(request.form, "number", 0, 0, 10**9)
    text = request.form.get("text", "").replace("\r\n", "\n")
    return _Edited(text, name, number)


def _checked(edited: _Edited) -> CrawlSpecification:
    """Return the specification of a form; raises SpecificationError where it is none."""
    if len(edited.text) > MOST_EDITED_CHARACTERS:
        reason = (
            f"has {len(edited.text):,} characters; the page takes {MOST_EDITED_CHARACTERS:,}, "
            f"`nwx crawls add` takes more"
        )
        raise SpecificationError("", [SpecificationProblem("", reason)])
    specification = read_specification(edited.text, "")
    if edited.name and specification.name != edited.name:
        reason = f"is {specification.name!r}; the name of {edited.name} cannot be changed"
        raise SpecificationError("", [SpecificationProblem("name", reason)])
    return specification


def _check_queue(edited: _Edited, specification: CrawlSpecification) -> None:
    """Raise SpecificationError if a curator names another queue: `nwx steer` sends the token there.

    Who sends the token with the form knows it.
    """
    if not has_role(Role.CURATOR) or has_role(Role.ADMINISTRATOR):
        return
    last = archive().crawl_specification(edited.name).text if edited.name else ""
    if specification.queue and (
        not last or read_specification(last, "").queue != specification.queue
    ):
        reason = "can be changed by administrators only; the token of the queue is sent there"
        raise SpecificationError("", [SpecificationProblem("queue", reason)])


def check_sender() -> None:
    """Raise Forbidden unless a form was sent from here, by a curator or with the token."""
    if has_role(Role.CURATOR):
        return  # `needs_role` has looked at the form
    token = queue_service().token
    if not token:
        raise Forbidden(gettext("nothing is saved here; it needs NWX_QUEUE_TOKEN to be set"))
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise Forbidden(gettext("crawl specifications are saved from their own pages only"))
    if not has_token(f"Bearer {request.form.get('token', '')}", token):
        raise Forbidden(gettext("the token is wrong; it is the NWX_QUEUE_TOKEN of this service"))


def _conflicting(edited: _Edited) -> _Edited:
    """Return a form that says what is in its way; sent again, it takes the place of that."""
    name = edited.name or read_specification(edited.text, "").name
    try:
        last = archive().crawl_specification(name)
    except UnknownCrawlError:
        return _Edited(
            edited.text, "", 0, message=gettext("The crawl was removed; save again to add it.")
        )
    message = (
        gettext(
            "There is a crawl %(name)s already, saved as number %(number)s.",
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


def _with(
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
        writable=is_writable(),
        action=url_for(".save_crawl", name=edited.name)
        if edited.name
        else url_for(".save_new_crawl"),
    )
    return make_response(page, status)


def _to_crawl(saved: StoredSpecification) -> ResponseReturnValue:
    address = url_for("crawls.show_crawl", name=saved.name, saved=saved.number)
    return redirect(address, code=303)

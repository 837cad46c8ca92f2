"""The editor of crawl specifications: a text or its form, with a preview of pages that match."""

from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import Forbidden

from nwx.access.restricted_engine import RestrictedEngine
from nwx.engine.access.rules import Role
from nwx.errors import EngineConflictError, ErrorText, SpecificationError
from nwx.model import SearchResult
from nwx.steering.specifications.file_values import SpecificationProblem
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.specifications.specification_files import (
    FORM_FIELDS,
    SpecificationForm,
    form_of_text,
    read_specification,
    text_with_form,
)
from nwx.steering.specifications.specification_store import StoredSpecification, UnknownCrawlError
from webapp.crawls.queue import queue_service
from webapp.headers import has_token
from webapp.login_page import has_role, needs_role
from webapp.site import parameters
from webapp.site.context import archive, engine
from webapp.site.question_limits import answer_search


def is_writable() -> bool:
    """Return whether the viewer can save specifications, by role or with the token."""
    return has_role(Role.CURATOR) or bool(queue_service().token)


def can_judge() -> bool:
    """Return whether the viewer can save judgements, reviews and watches of the whole archive."""
    return is_writable() and not isinstance(engine(), RestrictedEngine)


def requested_number() -> str:
    """Return the requested number of a saved specification, "" for the last."""
    return str(parameters.number_parameter(request.args, "number", 0, 0, 10**9) or "")


blueprint = Blueprint("crawl_editor", __name__, url_prefix="/crawls")

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


@blueprint.get("/new")
def new_crawl() -> ResponseReturnValue:
    """Show the editor with an example specification."""
    return _page(_Edited(_TEMPLATE))


@blueprint.get("/<name>/edit")
def edit_crawl(name: str) -> ResponseReturnValue:
    """Show the editor with the last specification of a crawl, or an earlier one."""
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


MOST_EDITED_CHARACTERS = 500_000
"""Longer specifications need the command: the body of a form must not be large."""

_PREVIEWED, _PREVIEWED_KEYWORDS = 5, 50


def editor_values(text: str) -> dict[str, object]:
    """Return the form of a text (None if unreadable), and the pages that match its keywords."""
    fields = form_of_text(text)
    return {
        "fields": fields,
        "collections": archive().collections(),
        "stamp": _stamp(fields) if fields else "",
        "preview": _preview(fields) if fields else None,
    }


def text_with_fields(text: str) -> str:
    """Return a text with the form fields that were changed since the form was shown."""
    given = {one: request.form.get(one, "").replace("\r\n", "\n") for one in FORM_FIELDS}
    shown = request.form.get("shown", "")
    fields = SpecificationForm(**given)
    if not shown or shown == _stamp(fields) or len(text) > MOST_EDITED_CHARACTERS:
        return text
    with suppress(SpecificationError):
        return text_with_form(text, fields)
    return text


def _stamp(fields: SpecificationForm) -> str:
    return blake2b(repr(fields).encode(), digest_size=8).hexdigest()


def _preview(fields: SpecificationForm) -> SearchResult | None:
    """Return the archived pages that match the keywords of a form, None without keywords."""
    words = [word.replace('"', " ").strip() for word in fields.keywords.splitlines()]
    query = " OR ".join(f'"{word}"' for word in words[:_PREVIEWED_KEYWORDS] if word)
    if not query:
        return None
    named = archive().collections()
    collection = fields.collection if fields.collection in named else ()
    found = archive().search(query, limit=_PREVIEWED, collection=collection)
    return answer_search(lambda: found.page())

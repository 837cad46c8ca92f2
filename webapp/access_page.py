"""The page of access rules with their forms, and the marks of hidden captures."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from flask import (
    Blueprint,
    Flask,
    Response,
    g,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext

from nwx.access.restricted_engine import RestrictedEngine
from nwx.access.rule_requests import AskedCapture
from nwx.engine.access.access_index import ChangeKind
from nwx.engine.access.aclj import scope_words
from nwx.engine.access.decisions import SHOWS_ALL, Decision, Decisions
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Role
from nwx.errors import ErrorText, FormatError, UsageError
from nwx.values.urlkeys import urlkey
from webapp.login_page import needs_role
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.viewer import viewer
from webapp.site.words import error_text

RULE_FIELDS = (
    *("action", "what", "collection", "from", "to", "until", "years"),
    *("users", "addresses", "reason"),
)
TEST_FIELDS = ("url", "collection", "date", "user", "address")
MOST_FIELD_CHARACTERS = 10_000
_SEPARATORS = re.compile(r"[\s,;]+")


def _stored(form: parameters.Arguments) -> AccessRule:
    """Store the rule in a form; raises UsageError if it is incomplete or invalid."""
    values = {name: parameters.text(form, name, MOST_FIELD_CHARACTERS) for name in RULE_FIELDS}
    if values["action"] not in set(Action):
        raise UsageError(gettext("choose an action"))
    if not values["what"]:
        raise UsageError(gettext("name what the rule applies to; * is all captures"))
    if not values["reason"]:
        raise UsageError(gettext("a rule needs a reason"))
    return archive().add_rule(
        values["action"],
        values["what"],
        by=viewer().user,
        collection=values["collection"],
        from_=values["from"],
        to=values["to"],
        until=values["until"],
        years=_years(values["years"]),
        addresses=_listed(values["addresses"]),
        users=_listed(values["users"]),
        reason=values["reason"],
    )


def _decision(form: parameters.Arguments) -> Decision:
    """Return the decision of the rules about the capture in a form; raises UsageError."""
    values = {name: parameters.text(form, name, MOST_FIELD_CHARACTERS) for name in TEST_FIELDS}
    return archive().decide(**values).decision


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, _SEPARATORS.split(text)))


def _years(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 5):
        raise UsageError(ErrorText("%(text)s is not a number of years", text=repr(text[:20])))
    return int(text)


blueprint = Blueprint("access", __name__, url_prefix="/settings/access")

RULES_A_PAGE = 100
_ID_CHARACTERS = 40
ACTION_LABELS = {
    Action.ALLOW: lazy_gettext("allow"),
    Action.BLOCK: lazy_gettext("block: not listed, and 451 at its address"),
    Action.EXCLUDE: lazy_gettext("exclude: as if not in the archive"),
    Action.EMBARGO: lazy_gettext("embargo: blocked until a date, or for some years"),
    Action.LOCAL: lazy_gettext("local: blocked except for some users or addresses"),
}
CHANGE_LABELS = {
    ChangeKind.ADDED: lazy_gettext("added"),
    ChangeKind.CHANGED: lazy_gettext("changed"),
    ChangeKind.REMOVED: lazy_gettext("removed"),
}


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the page shows next to the rules: problems of a sent form, the decision of a test."""

    problem: str = ""
    decision: Decision | None = None
    test_problem: str = ""


@blueprint.get("")
@needs_role(Role.ADMINISTRATOR)
def show() -> ResponseReturnValue:
    """Show the rules, and test a URL if given."""
    if not request.args.get("url"):
        return _page(_Shown())
    try:
        return _page(_Shown(decision=_decision(request.args)))
    except UsageError as error:
        return _page(_Shown(test_problem=error_text(error)), 400)


@blueprint.post("")
@needs_role(Role.ADMINISTRATOR)
def add_rule() -> ResponseReturnValue:
    """Store a rule."""
    try:
        stored = _stored(request.form)
    except UsageError as error:
        return _page(_Shown(problem=error_text(error)), 400)
    return redirect(url_for(".show", saved=stored.id, _anchor="rules"), code=303)


@blueprint.post("/remove")
@needs_role(Role.ADMINISTRATOR)
def remove_rule() -> ResponseReturnValue:
    """Remove a rule; it stays in the log."""
    id = parameters.text(request.form, "id", _ID_CHARACTERS)
    shown = archive()
    known = any(rule.id == id for rule in shown.rules())
    removed, purged = shown.remove_rules([id], viewer().user) if known else (0, [])
    kept_out = 1 if purged else None
    return redirect(url_for(".show", removed=removed, kept_out=kept_out, _anchor="rules"), code=303)


@blueprint.get("/log")
@needs_role(Role.ADMINISTRATOR)
def show_log() -> ResponseReturnValue:
    """Show the log of rule changes, newest first."""
    page = parameters.list_page(request.args, RULES_A_PAGE)
    changes = archive().rule_changes(RULES_A_PAGE + 1, page.begin)
    return _unstored(
        render_template(
            "access_log.html",
            **page.shown(changes),
            kinds=CHANGE_LABELS,
            scope_words=scope_words,
        )
    )


def _page(shown: _Shown, status: int = 200) -> Response:
    page = parameters.list_page(request.args, RULES_A_PAGE)
    wanted = parameters.text(request.args, "q", parameters.MAX_VALUE)
    rules = [rule for rule in archive().rules() if _has(rule, wanted.casefold())]
    rules.sort(key=lambda rule: (rule.made_at, rule.id), reverse=True)
    return _unstored(
        render_template(
            "access.html",
            **page.shown(rules[page.begin : page.end]),
            total=len(rules),
            wanted=wanted,
            shown=shown,
            given=_given(request.form, RULE_FIELDS),
            tested=_given(request.args, TEST_FIELDS),
            actions=ACTION_LABELS,
            saved=parameters.text(request.args, "saved", _ID_CHARACTERS),
            removed=parameters.text(request.args, "removed", _ID_CHARACTERS),
            kept_out="kept_out" in request.args,
            scope_words=scope_words,
        ),
        status,
    )


def _given(form: parameters.Arguments, names: tuple[str, ...]) -> dict[str, str]:
    return {name: form.get(name, "")[:MOST_FIELD_CHARACTERS] for name in names}


def _has(rule: AccessRule, wanted: str) -> bool:
    """Return whether any field of a rule contains a casefolded text."""
    if not wanted:
        return True
    texts = (rule.id, rule.action, rule.scope.url, scope_words(rule.scope), rule.reason)
    return any(wanted in text.casefold() for text in (*texts, *rule.users, *rule.addresses))


def _unstored(page: str, status: int = 200) -> Response:
    """Return a page that browsers must not store: the next user could go back to it."""
    response = make_response(page, status)
    response.headers["Cache-Control"] = "no-store"
    return response


@dataclass(frozen=True, slots=True)
class HiddenMark:
    """The number of a document's captures `hidden` from readers, of all its `captures`.

    `action` and `reason` are why, None and "" if readers see some captures.
    """

    hidden: int
    captures: int
    action: Action | None = None
    reason: str = ""


def hidden_marks(ids: Sequence[str]) -> dict[str, HiddenMark]:
    """Return the marks of documents, by id, that are partly or wholly hidden from readers.

    Empty for readers: what is hidden from them must not be marked.
    """
    if not viewer().sees_all:
        return {}
    everybody = service().engines.for_viewer(EVERYBODY)
    if not isinstance(everybody, RestrictedEngine):
        return {}
    own, shown = archive().document_dates(ids), everybody.dates(ids)
    marks = {}
    for id, dates in own.items():
        seen = len(shown[id].seen) if id in shown else 0
        if seen < len(dates.seen):
            marks[id] = _mark(everybody, id, len(dates.seen) - seen, len(dates.seen))
    return marks


def _mark(everybody: RestrictedEngine, id: str, hidden: int, captures: int) -> HiddenMark:
    decision = everybody.decision(id) if hidden == captures else None
    if decision is None or not decision.is_hidden:
        return HiddenMark(hidden, captures)
    reason = decision.rule.reason if decision.rule else ""
    return HiddenMark(hidden, captures, decision.action, reason)


def prepare_hidden_marks(app: Flask) -> None:
    """Add the functions for marks to an application's templates."""
    app.jinja_env.globals.update(
        mark_of_capture=mark_of_capture, mark_of_url=mark_of_url, counts_hidden=counts_hidden
    )
    app.jinja_env.filters["action_name"] = _action_name


def _action_name(action: Action) -> str:
    """Return the name that the label of an action begins with."""
    return str(ACTION_LABELS[action]).partition(":")[0].strip()


def mark_of_capture(
    url: str, timestamp: str, digest: str = "", collection: str = "", source_file: str = ""
) -> HiddenMark | None:
    """Return the mark of a capture hidden from readers; None for others and to readers.

    Unknown properties of the capture are "": rules about these do not apply.
    """
    decisions = _reader_decisions()
    if decisions.hides_nothing:
        return None
    with suppress(FormatError):
        place = AskedCapture(urlkey(url), url, digest, collection, source_file, timestamp)
        decision = decisions.decide(place)
        if decision.is_hidden:
            reason = decision.rule.reason if decision.rule else ""
            return HiddenMark(1, 1, decision.action, reason)
    return None


def mark_of_url(url: str) -> HiddenMark | None:
    """Return the mark of a URL hidden from readers; None for others and to readers."""
    if _reader_decisions().hides_nothing:
        return None
    everybody = service().engines.for_viewer(EVERYBODY)
    is_hidden = isinstance(everybody, RestrictedEngine) and url in everybody.hidden_urls([url])
    return HiddenMark(1, 1) if is_hidden else None


def counts_hidden() -> bool:
    """Return whether counts for the viewer may include captures hidden from readers."""
    return not _reader_decisions().hides_nothing


def _reader_decisions() -> Decisions:
    """Return the decisions for readers if the viewer sees all, else SHOWS_ALL."""
    if not viewer().sees_all:
        return SHOWS_ALL
    found: Decisions | None = g.get("reader_decisions")
    if found is None:
        rules = service().engine.access_index().rules()
        found = g.reader_decisions = rules.for_viewer(EVERYBODY)
    return found

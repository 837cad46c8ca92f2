"""Access rules for administrators: listed, added, removed, tested; and the log of changes."""

from dataclasses import dataclass

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import lazy_gettext

from nwx.engine.access.access_index import AccessIndex
from nwx.engine.access.decisions import Decision
from nwx.engine.access.planned_changes import ChangeKind
from nwx.engine.access.rules import AccessRule, Action, Role
from nwx.engine.access.scope_texts import scope_words
from nwx.errors import UsageError
from webapp.access.access_form import (
    MOST_FIELD_CHARACTERS,
    RULE_FIELDS,
    TEST_FIELDS,
    rule_of_form,
    tested_of_form,
)
from webapp.site import parameters
from webapp.site.context import unrestricted_engine
from webapp.site.error_texts import error_text
from webapp.site.viewer import viewer
from webapp.users.guards import needs_role

blueprint = Blueprint("access", __name__, url_prefix="/settings/access")

RULES_A_PAGE = 100
_MOST_PAGES = 10_000
_ID_CHARACTERS = 40
ACTION_LABELS = {
    Action.ALLOW: lazy_gettext("allow"),
    Action.BLOCK: lazy_gettext("block: in no list, and told at its address"),
    Action.EXCLUDE: lazy_gettext("exclude: as if it were not in the archive"),
    Action.EMBARGO: lazy_gettext("embargo: blocked until a date, or for years"),
    Action.LOCAL: lazy_gettext("local: blocked but for some users or addresses"),
}
CHANGE_LABELS = {
    ChangeKind.ADDED: lazy_gettext("added"),
    ChangeKind.CHANGED: lazy_gettext("changed"),
    ChangeKind.REMOVED: lazy_gettext("removed"),
}


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the page shows beside the rules: a form that was sent, what came of it."""

    problem: str = ""
    decision: Decision | None = None
    test_problem: str = ""


@blueprint.get("")
@needs_role(Role.ADMINISTRATOR)
def show() -> ResponseReturnValue:
    """Show the rules, and test a URL where one is given."""
    if not request.args.get("url"):
        return _page(_Shown())
    try:
        capture, asker = tested_of_form(request.args)
    except UsageError as error:
        return _page(_Shown(test_problem=error_text(error)), 400)
    return _page(_Shown(decision=_access().rules().for_viewer(asker).decide(capture)))


@blueprint.post("")
@needs_role(Role.ADMINISTRATOR)
def add_rule() -> ResponseReturnValue:
    """Store a rule."""
    try:
        (stored,) = _access().put([rule_of_form(request.form)], viewer().user)
    except UsageError as error:
        return _page(_Shown(problem=error_text(error)), 400)
    return redirect(url_for(".show", saved=stored.id, _anchor="rules"), code=303)


@blueprint.post("/remove")
@needs_role(Role.ADMINISTRATOR)
def remove_rule() -> ResponseReturnValue:
    """Remove a rule; the log keeps it."""
    id = parameters.text(request.form, "id", _ID_CHARACTERS)
    purged = any(rule.id == id and rule.purged for rule in _access().rules().rules)
    removed = _access().remove([id], viewer().user)
    kept_out = 1 if removed and purged else None
    return redirect(url_for(".show", removed=removed, kept_out=kept_out, _anchor="rules"), code=303)


@blueprint.get("/log")
@needs_role(Role.ADMINISTRATOR)
def show_log() -> ResponseReturnValue:
    """Show who changed which rules, the last change first."""
    page = parameters.number_parameter(request.args, "page", 1, 1, _MOST_PAGES)
    changes = _access().changes(RULES_A_PAGE + 1, (page - 1) * RULES_A_PAGE)
    return _unstored(
        render_template(
            "access_log.html",
            changes=changes[:RULES_A_PAGE],
            page=page,
            more=len(changes) > RULES_A_PAGE,
            kinds=CHANGE_LABELS,
            scope_words=scope_words,
        )
    )


def _access() -> AccessIndex:
    return unrestricted_engine().access_index()


def _page(shown: _Shown, status: int = 200) -> Response:
    page = parameters.number_parameter(request.args, "page", 1, 1, _MOST_PAGES)
    wanted = parameters.text(request.args, "q", parameters.MAX_VALUE)
    rules = [rule for rule in _access().rules().rules if _has(rule, wanted.casefold())]
    rules.sort(key=lambda rule: (rule.made_at, rule.id), reverse=True)
    start = (page - 1) * RULES_A_PAGE
    return _unstored(
        render_template(
            "access.html",
            rules=rules[start : start + RULES_A_PAGE],
            total=len(rules),
            page=page,
            more=len(rules) > start + RULES_A_PAGE,
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
    """Return whether a rule has a text anywhere that people look for."""
    if not wanted:
        return True
    texts = (rule.id, rule.action, rule.scope.url, scope_words(rule.scope), rule.reason)
    return any(wanted in text.casefold() for text in (*texts, *rule.users, *rule.addresses))


def _unstored(page: str, status: int = 200) -> Response:
    """Return a page that no browser keeps: whoever comes after must not go back to it."""
    response = make_response(page, status)
    response.headers["Cache-Control"] = "no-store"
    return response

"""Logging in and out."""

import logging
from threading import BoundedSemaphore

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext, ngettext
from werkzeug.exceptions import BadRequest, NotFound, ServiceUnavailable

from nwx.accounts.user_options import UserMode
from nwx.engine.access.rules import Viewer
from nwx.errors import NwxError
from webapp.site.viewer import viewer
from webapp.users.guards import check_origin, open_to_all, own_path
from webapp.users.user_service import (
    Login,
    UserService,
    begin_session,
    check_form,
    checked_login,
    end_session,
    users,
)

blueprint = Blueprint("login", __name__)

_HASHED_AT_ONCE = BoundedSemaphore(2)
"""Each takes 64 MiB of memory and a processor for a while."""

_PATIENCE_SECONDS = 3
_OWN_ROUTES = ("login.show", "login.log_in", "login.log_out")
_log = logging.getLogger(__name__)


@blueprint.get("/login")
def show() -> ResponseReturnValue:
    """Show the form to log in."""
    _users_or_404()
    return _page(own_path(request.args.get("next", "")))


@blueprint.post("/login")
@open_to_all
def log_in() -> ResponseReturnValue:
    """Begin a session, and lead to where the reader wanted to go."""
    found = _users_or_404()
    check_origin(lazy_gettext("logins"))
    following = own_path(request.form.get("next", ""))
    try:
        check_form()
    except BadRequest:
        return _page(following, gettext("This page was open for too long. Please try again."), 400)
    name = request.form.get("name", "")
    wait = found.limits.wait_seconds(_counted(found, name), request.remote_addr or "")
    if wait:
        return _too_often(following, wait)
    login = _opened(found, name, request.form.get("password", ""))
    if login is None:
        _tell_failure(found, name)
        return _page(following, _wrong_words(found), 403)
    found.limits.forgive(_counted(found, name), request.remote_addr or "")
    begin_session(found, login)
    return _home(following)


@blueprint.post("/logout")
@open_to_all
def log_out() -> ResponseReturnValue:
    """End the session of the reader."""
    found = _users_or_404()
    check_origin()
    if viewer().user:
        check_form()
        end_session(found)
    return _home()


def _users_or_404() -> UserService:
    found = users()
    if found is None or not found.has_login:
        raise NotFound(gettext("nobody logs in here; nwx serve --users accounts has accounts"))
    return found


def _opened(found: UserService, name: str, secret: str) -> Login | None:
    """Return the login that succeeds, None for one that does not."""
    if not _HASHED_AT_ONCE.acquire(timeout=_PATIENCE_SECONDS):
        raise ServiceUnavailable("too many log in at once; try again in a moment")
    try:
        return checked_login(found, name, secret)
    finally:
        _HASHED_AT_ONCE.release()


def _counted(found: UserService, name: str) -> str:
    """Return the name by which attempts are counted: the access token has none."""
    return "" if found.options.mode is UserMode.TOKEN else name


def _wrong_words(found: UserService) -> str:
    if found.options.mode is UserMode.TOKEN:
        return gettext("The token is wrong.")
    return gettext("Name or password is wrong.")


def _tell_failure(found: UserService, name: str) -> None:
    """Log a login that failed; names that nobody has may be passwords in the wrong field."""
    account = found.store.account(name) if found.options.mode is UserMode.ACCOUNTS else None
    shown = account.name if account else "nobody that is known"
    _log.warning("a login failed: %s, from %s", shown, request.remote_addr or "an unknown address")


def _too_often(following: str, wait: int) -> Response:
    minutes = max(1, round(wait / 60))
    words = ngettext(
        "Too many attempts. Please try again in %(num)s minute.",
        "Too many attempts. Please try again in %(num)s minutes.",
        minutes,
    )
    page = _page(following, words, 429)
    page.headers["Retry-After"] = str(wait)
    return page


def _page(following: str, problem: str = "", status: int = 200) -> Response:
    found = users()
    page = render_template(
        "login.html",
        following=following,
        problem=problem,
        by_token=found is not None and found.options.mode is UserMode.TOKEN,
    )
    return _unstored(make_response(page, status))


def _home(following: str = "") -> Response:
    """Lead to a path, or to the first page."""
    return _unstored(make_response(redirect(following or url_for("search.home"), code=303)))


def _unstored(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response


def login_values() -> dict[str, object]:
    """Return what the top of every page shows of the viewer."""
    found = users()
    if found is None:
        return {"viewer": Viewer(), "has_login": False, "login_address": ""}
    try:
        asker = viewer()
    except NwxError:
        # Its error is shown already, on the page of which this is the top.
        asker = Viewer()
    shown = found.has_login and not asker.user and request.endpoint not in _OWN_ROUTES
    return {
        "viewer": asker,
        "has_login": found.has_login,
        "login_address": _login_address() if shown else "",
    }


def _login_address() -> str:
    if request.method != "GET":
        return url_for("login.show")
    asked = request.full_path if request.query_string else request.path
    return url_for("login.show", next=own_path(asked) or None)

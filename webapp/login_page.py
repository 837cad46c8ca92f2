"""Login and logout, and the guards of routes."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import Any, TypeVar
from urllib.parse import urlsplit

from flask import (
    Blueprint,
    Flask,
    Response,
    current_app,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_babel import LazyString, gettext, lazy_gettext, ngettext
from werkzeug.exceptions import BadRequest, Forbidden, NotFound, ServiceUnavailable

from nwx.access.user_options import UserMode
from nwx.engine.access.rules import Role, Viewer
from nwx.errors import NwxError
from webapp.headers import host_url
from webapp.site.context import service
from webapp.site.viewer import is_for_another, viewer
from webapp.user_service import (
    Login,
    UserService,
    begin_session,
    check_form,
    checked_login,
    end_session,
    is_by_cookie,
    users,
)

_MOST_CHARACTERS = 4_000
_FORMS = lazy_gettext("forms")
_BARE_CAPTURE = re.compile(r"/+replay/(?!\d{1,14}/)", re.ASCII)
"""A capture without its frame: it could imitate the login page."""
_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?:/|\Z)", re.IGNORECASE)
"""Browsers remove such a segment, and with `..` the one before it: another path remains."""


def own_path(text: str, root: str = "") -> str:
    """Return a path of this service (below `root`), "" if it could lead elsewhere.

    Browsers read `//host` and `/\\host` as another host, and ignore tabs and
    line ends.
    """
    if len(text) > _MOST_CHARACTERS or not text.startswith("/") or not text.isprintable():
        return ""
    if text[1:2] in ("/", "\\") or "\\" in text or _BARE_CAPTURE.match(text.removeprefix(root)):
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return "" if parts.scheme or parts.netloc or _DOT_SEGMENT.search(parts.path) else text


def check_origin(what: LazyString = _FORMS) -> None:
    """Raise Forbidden unless a request was sent by a page of this service, or by no page.

    Archived pages are played at another port, often of the same host: for
    browsers they are same-site and have its cookies.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        # Pages cannot set it, but browsers send it to TLS and loopback addresses only.
        if site not in ("same-origin", "none"):
            raise Forbidden(
                gettext("%(what)s can only be sent from the pages of this service", what=what)
            )
        return
    origin = request.headers.get("Origin")
    if origin is not None and _origin(origin) not in _own_origins():
        raise Forbidden(
            gettext(
                "%(what)s can only be sent from the pages of this service; behind a reverse "
                "proxy, --search-url names their address",
                what=what,
            )
        )


def _own_origins() -> set[tuple[str, str]]:
    return {_origin(host_url()), _origin(service().search_url)} - {("", "")}


def _origin(address: str) -> tuple[str, str]:
    """Return scheme and host of an address, with the port unless it is the default."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "", ""
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    host = (parts.hostname or "").lower()
    return parts.scheme, host if port in (None, usual) else f"{host}:{port}"


_View = TypeVar("_View", bound=Callable[..., Any])
_READING = ("GET", "HEAD", "OPTIONS")
_RANKS = {Role.READER: 0, Role.CURATOR: 1, Role.ADMINISTRATOR: 2}


@dataclass(frozen=True, slots=True)
class RouteGuard:
    """The users of a route: those with a role, everybody, or senders of a token it checks."""

    role: Role | None = None
    takes_token: bool = False


_GUARDS: dict[Callable[..., Any], RouteGuard] = {}


def open_to_all(view: _View) -> _View:
    """Mark a route that does not change the archive: a query, or a reader's own cookie."""
    return _marked(view, RouteGuard())


def with_token(view: _View) -> _View:
    """Mark a route that checks a token itself."""
    return _marked(view, RouteGuard(takes_token=True))


def needs_role(role: Role, *, or_token: bool = False) -> Callable[[_View], _View]:
    """Mark a route for users with a role or a higher one.

    With `or_token` the route itself checks the token of others (`has_role`).
    """
    return lambda view: _marked(view, RouteGuard(role, takes_token=or_token))


def needs_login(view: _View) -> _View:
    """Mark a route for logged-in users of any role."""
    return _marked(view, RouteGuard(Role.READER))


def _marked(view: _View, guard: RouteGuard) -> _View:
    _GUARDS[view] = guard
    return view


def guard_of(app: Flask, endpoint: str) -> RouteGuard | None:
    """Return the guard of a route, None if it is unmarked."""
    return _GUARDS.get(app.view_functions[endpoint])


def has_role(role: Role) -> bool:
    """Return whether the viewer has a role or a higher one; False without a user."""
    found = viewer()
    is_nobody = not found.user and found.role is Role.READER
    return not is_nobody and _RANKS[found.role] >= _RANKS[role]


def check_guard() -> ResponseReturnValue | None:
    """Refuse a request that the guard of its route does not allow; called before each request."""
    if request.endpoint is None:
        return None
    guard = guard_of(current_app, request.endpoint)
    if guard is None:
        if request.method in _READING:
            return None
        raise Forbidden(gettext("writing is not allowed here"))
    if is_for_another():
        raise Forbidden(gettext("playback cannot request this"))
    if guard.role is None:
        return None
    if not has_role(guard.role):
        return None if guard.takes_token else _refused(guard.role)
    if request.method not in _READING and is_by_cookie():
        check_origin()
        check_form()
    return None


def _refused(role: Role) -> ResponseReturnValue:
    found = users()
    if found is None:
        raise Forbidden(
            gettext("this needs a login, and the service has no users; start it with --users")
        )
    if viewer().user or not found.has_login or request.method not in _READING:
        raise Forbidden(gettext("this needs the role %(role)s or a higher one", role=role))
    return redirect(url_for("login.show", next=_asked_path()))


blueprint = Blueprint("login", __name__)

_HASHED_AT_ONCE = BoundedSemaphore(2)
"""Hashing a password takes 64 MiB of memory and a processor for a while."""

_PATIENCE_SECONDS = 3
_OWN_ROUTES = ("login.show", "login.log_in", "login.log_out")
_log = logging.getLogger(__name__)


@blueprint.get("/login")
def show() -> ResponseReturnValue:
    """Show the login form."""
    _users_or_404()
    return _page(own_path(request.args.get("next", ""), request.script_root))


@blueprint.post("/login")
@open_to_all
def log_in() -> ResponseReturnValue:
    """Begin a session, and redirect to the page that the reader requested."""
    found = _users_or_404()
    check_origin(lazy_gettext("logins"))
    following = own_path(request.form.get("next", ""), request.script_root)
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
        raise NotFound(
            gettext("this service has no logins; start it with nwx serve --users accounts")
        )
    return found


def _opened(found: UserService, name: str, secret: str) -> Login | None:
    """Return the successful login, or None; raises ServiceUnavailable if too many log in."""
    if not _HASHED_AT_ONCE.acquire(timeout=_PATIENCE_SECONDS):
        raise ServiceUnavailable("too many logins at once; try again in a moment")
    try:
        return checked_login(found, name, secret)
    finally:
        _HASHED_AT_ONCE.release()


def _counted(found: UserService, name: str) -> str:
    """Return the name under which login attempts are counted, "" for the access token."""
    return "" if found.options.mode is UserMode.TOKEN else name


def _wrong_words(found: UserService) -> str:
    if found.options.mode is UserMode.TOKEN:
        return gettext("The token is wrong.")
    return gettext("Name or password is wrong.")


def _tell_failure(found: UserService, name: str) -> None:
    """Log a failed login; unknown names are omitted, as they may be passwords."""
    account = found.store.account(name) if found.options.mode is UserMode.ACCOUNTS else None
    shown = account.name if account else "an unknown name"
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
    """Redirect to a path, or to the home page."""
    return _unstored(make_response(redirect(following or url_for("search.home"), code=303)))


def _unstored(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response


def login_values() -> dict[str, object]:
    """Return the template variables about the viewer for the top of every page."""
    found = users()
    if found is None:
        return {"viewer": Viewer(), "has_login": False, "login_address": ""}
    try:
        asker = viewer()
    except NwxError:
        # The page already shows this error.
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
    return url_for("login.show", next=own_path(_asked_path(), request.script_root) or None)


def _asked_path() -> str:
    path = request.full_path if request.query_string else request.path
    return f"{request.script_root}{path}"

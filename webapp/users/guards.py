"""Who may do what: guards of addresses, and requests that come from our own pages."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from flask import Flask, current_app, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString, gettext, lazy_gettext
from werkzeug.exceptions import Forbidden

from nwx.engine.access.rules import Role
from webapp.headers import host_url
from webapp.site.context import service
from webapp.site.viewer import is_for_another, viewer
from webapp.users.user_service import check_form, is_by_cookie, users

_MOST_CHARACTERS = 4_000
_FORMS = lazy_gettext("forms")
_BARE_CAPTURE = re.compile(r"/+replay/(?!\d{1,14}/)", re.ASCII)
"""A capture without the frame that says that it is one: it could ask for the password again."""


def own_path(text: str) -> str:
    """Return a path of this service, "" for all that could lead elsewhere.

    Browsers read `//host` and `/\\host` as another host, and pass over tabs
    and line ends.
    """
    if len(text) > _MOST_CHARACTERS or not text.startswith("/") or not text.isprintable():
        return ""
    if text[1:2] in ("/", "\\") or "\\" in text or _BARE_CAPTURE.match(text):
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return "" if parts.scheme or parts.netloc else text


def check_origin(what: LazyString = _FORMS) -> None:
    """Raise Forbidden unless a request was sent by a page of this service, or by no page.

    Archived pages are played at another port, often of the same host: to
    browsers they are the same site, and get its cookies.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        # Browsers set it themselves, but send it to addresses of TLS and of this machine only.
        if site not in ("same-origin", "none"):
            raise Forbidden(
                gettext("%(what)s are sent from the pages of this service only", what=what)
            )
        return
    origin = request.headers.get("Origin")
    if origin is not None and _origin(origin) not in _own_origins():
        raise Forbidden(
            gettext(
                "%(what)s are sent from the pages of this service only; behind a reverse "
                "proxy, --search-url names their address",
                what=what,
            )
        )


def _own_origins() -> set[tuple[str, str]]:
    return {_origin(host_url()), _origin(service().search_url)} - {("", "")}


def _origin(address: str) -> tuple[str, str]:
    """Return scheme and host of an address; ports that go without saying are left out."""
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
    """Who may use a route; without a role, everybody, or who has a token that it asks for."""

    role: Role | None = None
    takes_token: bool = False


_GUARDS: dict[Callable[..., Any], RouteGuard] = {}


def open_to_all(view: _View) -> _View:
    """Mark a route that changes nothing of the archive: a query, or a reader's own cookie."""
    return _marked(view, RouteGuard())


def with_token(view: _View) -> _View:
    """Mark a route that asks for a token by itself."""
    return _marked(view, RouteGuard(takes_token=True))


def needs_role(role: Role, *, or_token: bool = False) -> Callable[[_View], _View]:
    """Mark a route for users of a role, or of one that may do more.

    With `or_token` it asks others for a token by itself (`has_role`).
    """
    return lambda view: _marked(view, RouteGuard(role, takes_token=or_token))


def _marked(view: _View, guard: RouteGuard) -> _View:
    _GUARDS[view] = guard
    return view


def guard_of(app: Flask, endpoint: str) -> RouteGuard | None:
    """Return the guard of a route, None where it has none."""
    return _GUARDS.get(app.view_functions[endpoint])


def has_role(role: Role) -> bool:
    """Return whether the viewer has a role, or one that may do more."""
    return _RANKS[viewer().role] >= _RANKS[role]


def check_guard() -> ResponseReturnValue | None:
    """Refuse a request that its route is not open to; called before each request."""
    if request.endpoint is None:
        return None
    guard = guard_of(current_app, request.endpoint)
    if guard is None:
        if request.method in _READING:
            return None
        raise Forbidden(gettext("nobody may write here"))
    if is_for_another():
        raise Forbidden(gettext("playback does not ask for this"))
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
            gettext("this needs a user, and the service has none; start it with --users")
        )
    if viewer().user or not found.has_login or request.method not in _READING:
        raise Forbidden(
            gettext("this is for users with the role %(role)s or a higher one", role=role)
        )
    asked = request.full_path if request.query_string else request.path
    return redirect(url_for("login.show", next=asked))

"""Guards: who may use a route that writes.

A route that takes more than GET says who may use it, by one of the marks
below; one that says nothing answers nobody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from flask import Flask, current_app, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import Forbidden

from nwx.engine.access.rules import Role
from webapp.site.viewer import is_for_another, viewer
from webapp.users.own_addresses import check_origin
from webapp.users.user_service import check_form, is_by_cookie, users

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

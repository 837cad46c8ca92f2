"""Who asks: the viewer of a request, by whom rules of access are decided."""

from collections.abc import Callable
from typing import Any

from flask import Flask, current_app, request

from nwx.engine.access.rules import Viewer

VIEWER_EXTENSION = "nwx-viewer"
"""What an application finds viewers with: a `FindViewer`; without it nobody is a user."""

FindViewer = Callable[[], Viewer]
"""Returns the viewer of the request that is answered; called within its context."""

_FOUND = "nwx.viewer"


def viewer() -> Viewer:
    """Return the viewer of the request that is answered.

    Without accounts that is a reader at the address that the request comes
    from. It is found once a request.
    """
    environ = request.environ
    found: Viewer | None = environ.get(_FOUND)
    if found is None:
        find: FindViewer = current_app.extensions.get(VIEWER_EXTENSION, viewer_at_address)
        found = environ[_FOUND] = find()
    return found


def found_viewer() -> Viewer | None:
    """Return the viewer of the request if its answer has looked at them, else None."""
    found: Viewer | None = request.environ.get(_FOUND)
    return found


def viewer_of(app: Flask, environ: dict[str, Any]) -> Viewer:
    """Return the viewer of a request that is answered outside the application's routes."""
    found: Viewer | None = environ.get(_FOUND)
    if found is not None:
        return found
    if VIEWER_EXTENSION not in app.extensions:
        found = environ[_FOUND] = Viewer(environ.get("REMOTE_ADDR", ""))
        return found
    with app.request_context(environ):
        return viewer()


def viewer_at_address() -> Viewer:
    """Return a reader of whom nothing is known but the address."""
    return Viewer(request.remote_addr or "")


def forget_viewer() -> None:
    """Have the viewer of a request found anew, after a login or logout."""
    request.environ.pop(_FOUND, None)

"""Who asks: the viewer of a request, by whom rules of access are decided."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Flask, current_app, request

from nwx.engine.access.rules import Viewer
from webapp.site.viewer_passes import PASS_ENVIRON, ViewerPasses

VIEWER_EXTENSION = "nwx-viewer"
"""What an application finds viewers with: a `FindViewer`; without it nobody is a user."""

FindViewer = Callable[[], Viewer]
"""Returns the viewer of the request that is answered; called within its context."""

NAMED_EXTENSION = "nwx-named-viewer"
"""How an application names users to playback: `PlaybackNames`; without it there are none."""

PASSES_EXTENSION = "nwx-viewer-passes"
"""The passes of the playback that runs beside an application."""


@dataclass(frozen=True, slots=True)
class PlaybackNames:
    """The names by which playback knows users.

    `name` returns that of the viewer of a request, "" for nobody; `find`
    the viewer at an address of such a name, with the role that they have now.
    """

    name: Callable[[], str]
    find: Callable[[str, str], Viewer]


_FOUND = "nwx.viewer"


def viewer() -> Viewer:
    """Return the viewer of the request that is answered.

    Without accounts that is a reader at the address that the request comes
    from. It is found once a request.
    """
    environ = request.environ
    found: Viewer | None = environ.get(_FOUND)
    if found is None and PASS_ENVIRON in environ:
        found = environ[_FOUND] = _passed(current_app.extensions, environ)
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
    if PASS_ENVIRON in environ:
        with app.app_context():
            found = environ[_FOUND] = _passed(app.extensions, environ)
        return found
    if VIEWER_EXTENSION not in app.extensions:
        found = environ[_FOUND] = Viewer(environ.get("REMOTE_ADDR", ""))
        return found
    with app.request_context(environ):
        return viewer()


def _passed(extensions: dict[str, Any], environ: dict[str, Any]) -> Viewer:
    """Return the viewer for whom playback asks.

    Who sends a header of their own making is nobody, at the address that
    they have: they see neither more nor less for it than anybody there.
    """
    passes: ViewerPasses | None = extensions.get(PASSES_EXTENSION)
    asker = passes.asker(environ[PASS_ENVIRON]) if passes is not None else None
    if asker is None:
        return Viewer(_far_address(environ))
    address, user = asker
    names: PlaybackNames | None = extensions.get(NAMED_EXTENSION)
    return names.find(address, user) if user and names is not None else Viewer(address)


def _far_address(environ: dict[str, Any]) -> str:
    """Return the address of a request, "" for this machine's own, from which playback asks."""
    address = str(environ.get("REMOTE_ADDR", ""))
    try:
        is_near = ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return ""
    return "" if is_near else address


def playback_name() -> str | None:
    """Return what names the viewer to playback, "" for nobody, None where there are no users."""
    names: PlaybackNames | None = current_app.extensions.get(NAMED_EXTENSION)
    return None if names is None else names.name()


def is_for_another() -> bool:
    """Tell whether playback asks, in place of its reader: it reads, and never writes."""
    return PASS_ENVIRON in request.environ


def viewer_at_address() -> Viewer:
    """Return a reader of whom nothing is known but the address."""
    return Viewer(request.remote_addr or "")


def forget_viewer() -> None:
    """Have the viewer of a request found anew, after a login or logout."""
    request.environ.pop(_FOUND, None)

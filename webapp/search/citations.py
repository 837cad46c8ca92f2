"""Citations of captures, on pages and as files for reference managers."""

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.answers.citations import CITATION_FORMS, Citation, cite
from webapp.headers import root_url
from webapp.replay.routes import address as replay_address
from webapp.site import parameters
from webapp.site.context import archive, service

blueprint = Blueprint("citations", __name__)


@blueprint.get("/cite")
def show() -> ResponseReturnValue:
    """Show the citation of the capture of a URL nearest to a date, or return it in one format."""
    url = parameters.needed_url(request.args, "/cite")
    at, form = (parameters.text(request.args, name, 30) for name in ("at", "format"))
    found = archive().capture(url, at)
    title = found.cite() if found else None
    citation = found and title and citation_of(found.url, found.timestamp, title.title)
    if not citation:
        raise NotFound(gettext("there is no document of %(url)s in this archive", url=url))
    if not form:
        return render_template("cite.html", citation=citation)
    parameters.one_of_these("format", form, CITATION_FORMS)
    return Response(CITATION_FORMS[form](citation), mimetype="text/plain")


def citation_of(url: str, timestamp: str, title: str) -> Citation | None:
    """Return the citation of a capture, with the public address of the archive."""
    own = service()
    root = own.search_url or own.settings.public_url or root_url()
    place = replay_address(timestamp, url).removeprefix(request.script_root)
    memento = f"{root}{place}" if own.replays else ""
    return cite(url, timestamp, title, own.title, root, memento)

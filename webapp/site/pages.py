"""Auxiliary pages: settings, help, API documentation and description, OpenSearch."""

from flask import (
    Blueprint,
    Response,
    jsonify,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import Forbidden

from webapp.cdx.operations import CDX_OPERATIONS
from webapp.crawls.crawl_pages import CRAWL_OPERATIONS
from webapp.crawls.queue import QUEUE_OPERATIONS
from webapp.entities import ENTITY_OPERATIONS
from webapp.explore.api import FACET_OPERATIONS
from webapp.explore.hosts import HOST_OPERATIONS
from webapp.explore.trends import TRENDS_OPERATIONS
from webapp.headers import ROBOTS_TXT, root_url
from webapp.link_graph import LINK_GRAPH_OPERATIONS
from webapp.linked_urls import LINK_OPERATIONS
from webapp.login_page import open_to_all
from webapp.quality_pages import QUALITY_OPERATIONS, REVIEW_OPERATIONS
from webapp.search.api import SEARCH_OPERATIONS
from webapp.search.changes import CHANGES_OPERATIONS
from webapp.search.page import COLLAPSES
from webapp.search.pictures import PICTURE_OPERATIONS
from webapp.site.context import service
from webapp.site.openapi import description
from webapp.site.preferences import (
    COOKIE,
    COOKIE_SECONDS,
    PAGE_LANGUAGES,
    PAGE_SIZES,
    Theme,
    read_preferences,
    to_cookie,
)

ALL_OPERATIONS = (
    *SEARCH_OPERATIONS,
    *PICTURE_OPERATIONS,
    *TRENDS_OPERATIONS,
    *CHANGES_OPERATIONS,
    *FACET_OPERATIONS,
    *HOST_OPERATIONS,
    *LINK_OPERATIONS,
    *LINK_GRAPH_OPERATIONS,
    *CRAWL_OPERATIONS,
    *QUALITY_OPERATIONS,
    *REVIEW_OPERATIONS,
    *ENTITY_OPERATIONS,
    *CDX_OPERATIONS,
    *QUEUE_OPERATIONS,
)


blueprint = Blueprint("pages", __name__)

THEMES = {
    Theme.AUTO: lazy_gettext("Same as system"),
    Theme.LIGHT: lazy_gettext("Light"),
    Theme.DARK: lazy_gettext("Dark"),
}


@blueprint.get("/settings")
def settings() -> ResponseReturnValue:
    """Show the settings for results."""
    return render_template(
        "settings.html",
        page_sizes=PAGE_SIZES,
        collapses=COLLAPSES,
        themes=THEMES,
        page_languages=PAGE_LANGUAGES,
        saved="saved" in request.args,
    )


@blueprint.post("/settings")
@open_to_all
def save_settings() -> ResponseReturnValue:
    """Store the settings in a cookie."""
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise Forbidden(gettext("settings can only be changed from the settings page"))
    response = redirect(url_for(".settings", saved=""))
    response.set_cookie(
        COOKIE,
        to_cookie(read_preferences(request.form)),
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure,
    )
    return response


@blueprint.get("/help")
def help_page() -> ResponseReturnValue:
    """Explain the query language."""
    return render_template("help.html")


@blueprint.get("/searches")
def searches() -> ResponseReturnValue:
    """Show the searches saved in this browser; they are not sent to the service."""
    return render_template("searches.html")


@blueprint.get("/api")
def api_page() -> ResponseReturnValue:
    """Show the documentation of the JSON API."""
    return render_template("api.html", operations=ALL_OPERATIONS)


@blueprint.get("/opensearch.xml")
def opensearch() -> Response:
    """Return the description by which browsers add the archive as a search engine."""
    base = service().search_url or root_url()
    response = make_response(render_template("opensearch.xml", base=base))
    response.mimetype = "application/opensearchdescription+xml"
    return response


@blueprint.get("/robots.txt")
def robots() -> Response:
    """Answer with robots.txt, which excludes all crawlers."""
    return Response(ROBOTS_TXT, mimetype="text/plain")


@blueprint.get("/favicon.ico")
def favicon() -> ResponseReturnValue:
    """Redirect requests for the default icon to the icon of nwx."""
    return redirect(url_for("static", filename="icon.svg"), code=301)


@blueprint.get("/api/openapi.json")
def openapi() -> ResponseReturnValue:
    """Answer with the OpenAPI description of this API."""
    return jsonify(description(ALL_OPERATIONS, request.script_root or "/"))

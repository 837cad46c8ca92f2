"""The page that shows when quoted words appeared in a page and when they disappeared."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from nwx.searching.quotations import MOST_QUOTED
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.question_limits import answer_search

blueprint = Blueprint("quotations", __name__)
SHOWN_VERSIONS = 100


@blueprint.get("/quote")
def show() -> ResponseReturnValue:
    """Show the captures that contain quoted words."""
    text = parameters.text(request.args, "text", MOST_QUOTED)
    url, site = parameters.url(request.args), parameters.text(request.args, "site", 300)
    own = archive()
    found = answer_search(lambda: own.quote(text, url=url, site=site)) if text else None
    return render_template(
        "quote.html", text=text, url=url, site=site, found=found, most=SHOWN_VERSIONS
    )

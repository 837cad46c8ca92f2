"""Results as files: CSV, JSON, a list of URLs, records."""

from dataclasses import replace
from itertools import chain, islice

from flask import Blueprint, Response, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.exports.captures import RESULT_FORMATS, all_hits, checked_fields
from webapp.search.addresses import SearchAddresses, read_page
from webapp.search.packed_results import PACKED_FORMATS, packed_results, packing_page
from webapp.site.context import engine, preferences
from webapp.site.question_limits import Export, answer_search

blueprint = Blueprint("exports", __name__, url_prefix="/export")


@blueprint.get("/packing.<suffix>")
def packing(suffix: str) -> ResponseReturnValue:
    """Pack the records of results, and show how far that is."""
    if suffix not in PACKED_FORMATS:
        raise NotFound(
            gettext(
                "records are packed as %(choices)s, not as %(suffix)s",
                choices=", ".join(PACKED_FORMATS),
                suffix=repr(suffix),
            )
        )
    shown = preferences()
    question = read_page(request.args, shown)
    to = SearchAddresses(url_for("search.results"), question, shown)
    return packing_page(
        suffix,
        question,
        page=to.export(url_for(".packing", suffix=suffix)),
        download=to.export(url_for(".results", suffix=suffix)),
        results=to.page(1),
    )


@blueprint.get("/results.<suffix>", endpoint="results")
def export_results(suffix: str) -> ResponseReturnValue:
    """Stream the results of a search as they are listed, those beyond the last page too."""
    if suffix in PACKED_FORMATS:
        return packed_results(suffix, read_page(request.args, preferences()))
    if suffix not in RESULT_FORMATS:
        known = ", ".join((*RESULT_FORMATS, *PACKED_FORMATS))
        raise NotFound(
            gettext(
                "results come as %(known)s, not as %(suffix)s", known=known, suffix=repr(suffix)
            )
        )
    mimetype, write = RESULT_FORMATS[suffix]
    fields = checked_fields([name for name in request.args.get("fields", "").split(",") if name])
    question = replace(read_page(request.args, preferences()), snippets=False)
    hits = all_hits(engine(), question)
    export = Export()
    try:
        # The first hit is read before the answer begins, so that an error can still be told.
        first = answer_search(lambda: list(islice(hits, 1)))
    except BaseException:
        export.end()
        raise
    headers = {"Content-Disposition": f'attachment; filename="results.{suffix}"'}
    response = Response(
        export.pieces(write(chain(first, hits), fields)), mimetype=mimetype, headers=headers
    )
    response.call_on_close(export.end)
    return response

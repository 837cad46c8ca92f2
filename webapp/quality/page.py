"""The pages of quality: captured pages by how they play, and one with its pictures and faults."""

from itertools import chain, islice

from flask import Blueprint, Response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound

from nwx.engine.indices.quality_index import QualityOrder
from nwx.quality.scores import csv_of_scores, json_of_scores
from nwx.values.fault_kinds import FaultKind
from webapp.links.backend import link_answers
from webapp.quality import labels
from webapp.quality.pictures import MOST_ID, has_pictures
from webapp.quality.view import read_quality_view, totals_and_scores
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.question_limits import Export, answer_facets

blueprint = Blueprint("quality", __name__, url_prefix="/quality")

SCORES_A_PAGE = 25
GROUP_SHOWN = 8
FAULTS_SHOWN = 200
MOST_SCORE_PAGES = 100_000
SCORE_FORMATS = {"csv": ("text/csv", csv_of_scores), "json": ("application/json", json_of_scores)}
SCORE_ORDERS = {
    QualityOrder.WORST: lazy_gettext("Worst first"),
    QualityOrder.NEWEST: lazy_gettext("Checked last"),
}


@blueprint.get("", endpoint="show")
def show_quality() -> ResponseReturnValue:
    """List the pages that were checked, a page of a table, with totals."""
    view = read_quality_view(request.args)
    page = parameters.number_parameter(request.args, "page", 1, 1, MOST_SCORE_PAGES)
    archive, offset = engine(), (page - 1) * SCORES_A_PAGE
    index = archive.quality_index()
    totals, scores = answer_facets(lambda: totals_and_scores(index, view, SCORES_A_PAGE, offset))
    here = url_for(".show")
    return render_template(
        "quality.html",
        view=view,
        totals=totals,
        known_kinds=[one for one in totals.kinds if one.value in labels.FAULT_LABELS],
        months=totals.months[::-1],
        scores=scores,
        page=page,
        first=offset + 1,
        pages=-(-totals.pages // SCORES_A_PAGE),
        here=here,
        hosts_shown=GROUP_SHOWN,
        collections=archive.collections(),
        kinds=list(FaultKind),
        orders=SCORE_ORDERS,
        labels=labels,
        has_pictures=has_pictures,
        suffixes=tuple(SCORE_FORMATS),
    )


@blueprint.get("/page", endpoint="page")
def show_checked_page() -> ResponseReturnValue:
    """Show how a page plays: its numbers, both screenshots, its faults."""
    id = parameters.text(request.args, "id", MOST_ID)
    score = engine().quality_index().score(id)
    if score is None:
        raise NotFound(gettext("there is no score of this capture; it was not checked, or is gone"))
    return render_template(
        "quality_page.html",
        score=score,
        pictures=has_pictures(score),
        measures=labels.measures(score),
        groups=labels.fault_groups(score.faults),
        faults_shown=FAULTS_SHOWN,
        has_links=link_answers().links() is not None,
        labels=labels,
    )


@blueprint.get("/scores.<suffix>", endpoint="export")
def export_scores(suffix: str) -> ResponseReturnValue:
    """Return all scores that match as a file."""
    if suffix not in SCORE_FORMATS:
        raise NotFound(
            gettext(
                "scores come as %(choices)s, not as %(suffix)s",
                choices=", ".join(SCORE_FORMATS),
                suffix=repr(suffix),
            )
        )
    mimetype, write = SCORE_FORMATS[suffix]
    view = read_quality_view(request.args)
    found = engine().quality_index().scan(view.wanted, view.order)
    export = Export()
    try:
        # The first is read before the answer begins, so that an error can still be told.
        first = list(islice(found, 1))
    except BaseException:
        export.end()
        raise
    headers = {"Content-Disposition": f'attachment; filename="quality.{suffix}"'}
    response = Response(
        export.pieces(write(chain(first, found))), mimetype=mimetype, headers=headers
    )
    response.call_on_close(export.end)
    return response

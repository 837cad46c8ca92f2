"""The JSON API of quality: its operations and answers."""

from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from nwx.quality.missing_resources import RESOURCE_KINDS
from nwx.quality.scores import QualityAnswer, QualityOrder, quality_answer
from nwx.values.render_names import FaultKind
from webapp.quality.page import (
    PICTURE_TYPE,
    REPAIR_FORMATS,
    SCORE_FORMATS,
    PictureOf,
    PictureSize,
    scores_of,
)
from webapp.site import parameters
from webapp.site.openapi import (
    NOT_FOUND,
    Operation,
    Parameter,
    check_parameters,
    file_parameter,
    paging_parameters,
)
from webapp.site.question_limits import answer_facets
from webapp.site.responses import json_answer

MOST_SCORES_ANSWERED = 1_000

_FILTERS = (
    Parameter("site", "pages of this host, of a registered domain those of all its hosts"),
    Parameter("host", "pages of this host alone"),
    Parameter("month", "pages captured in this month, YYYY-MM"),
    Parameter("collection", "pages of this collection"),
    Parameter("kind", "pages with a fault of this kind", {"enum": list(FaultKind)}),
    Parameter(
        "order",
        "the worst first, or what was checked last",
        {"enum": list(QualityOrder), "default": QualityOrder.WORST.value},
    ),
)
QUALITY_PARAMETERS = (*_FILTERS, *paging_parameters("pages", 100, MOST_SCORES_ANSWERED))

QUALITY_OPERATIONS = (
    Operation(
        "quality",
        "/api/quality",
        "How captured pages play: totals, and the pages with the lowest scores",
        QUALITY_PARAMETERS,
        QualityAnswer,
        example="/api/quality?limit=5",
    ),
    Operation(
        "exportQuality",
        "/quality/scores.{suffix}",
        "All scores that match as a file",
        (file_parameter(*SCORE_FORMATS), *_FILTERS),
        media_types=("text/csv", "application/json"),
        errors=NOT_FOUND,
    ),
    Operation(
        "exportRepairs",
        "/quality/repairs/list.{suffix}",
        "The missing resources whose capture repairs most pages, as a file: CSV, JSON, or a list"
        " of URLs",
        (
            file_parameter(*REPAIR_FORMATS),
            Parameter("kind", "the kind of resource", {"enum": list(RESOURCE_KINDS)}),
            Parameter("site", "repair pages of this host, or of one below it"),
            Parameter("host", "resources on this host, or on one below it"),
            Parameter("collection", "repair pages of this collection"),
            Parameter("from", "repair pages captured at or after this date"),
            Parameter("to", "repair pages captured at or before the end of this date"),
        ),
        media_types=("text/csv", "application/json", "text/plain"),
        errors=NOT_FOUND,
    ),
    Operation(
        "qualityPicture",
        "/quality/picture",
        "A screenshot of a page that was checked, or the difference of two",
        (
            Parameter("id", "the capture, as scores have it", required=True),
            Parameter("of", "what it shows", {"enum": list(PictureOf), "default": "crawl"}),
            Parameter("size", "how large it is", {"enum": list(PictureSize), "default": "large"}),
        ),
        media_types=(PICTURE_TYPE,),
        errors=NOT_FOUND,
    ),
)


blueprint = Blueprint("quality_api", __name__, url_prefix="/api")


@blueprint.get("/quality", endpoint="quality")
def quality_scores() -> ResponseReturnValue:
    """Answer with totals and the scores of matching pages."""
    check_parameters(request.args, QUALITY_PARAMETERS)
    found = scores_of(request.args)[1]
    offset, limit = parameters.paging(request.args, 100, MOST_SCORES_ANSWERED)
    scores = answer_facets(lambda: found.page(offset, limit))
    return json_answer(quality_answer(found.totals, scores))

"""The JSON API of quality."""

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from nwx.quality.scores import QualityAnswer, quality_answer
from nwx.searching.answers import answer_to_json
from webapp.quality.operations import MOST_SCORES_ANSWERED, QUALITY_PARAMETERS
from webapp.quality.view import read_quality_view, totals_and_scores
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.openapi import check_parameters
from webapp.site.question_limits import answer_facets

blueprint = Blueprint("quality_api", __name__, url_prefix="/api")


@blueprint.get("/quality", endpoint="quality")
def quality_scores() -> ResponseReturnValue:
    """Answer with totals and the pages that match."""
    check_parameters(request.args, QUALITY_PARAMETERS)
    view = read_quality_view(request.args)
    offset = parameters.number_parameter(request.args, "offset", 0, 0, parameters.MAX_OFFSET)
    limit = parameters.number_parameter(request.args, "limit", 100, 0, MOST_SCORES_ANSWERED)
    index = engine().quality_index()

    def find() -> QualityAnswer:
        return quality_answer(*totals_and_scores(index, view, limit, offset))

    return jsonify(answer_to_json(answer_facets(find)))

"""The JSON API of facet questions."""

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from nwx.facets.answers import FacetAnswers
from nwx.facets.question import parse_conditions, parse_facet_question, parse_features
from nwx.searching.answers import answer_to_json
from webapp.explore.operations import (
    CAPTURES_PARAMETERS,
    FACET_PARAMETERS,
    CapturesAnswer,
    criteria_answer,
    facets_answer,
    selected_capture,
)
from webapp.site import parameters
from webapp.site.context import kept_of_engine
from webapp.site.openapi import check_parameters
from webapp.site.question_limits import answer_facets

blueprint = Blueprint("facets", __name__, url_prefix="/api/facets")

MAX_TOP = 10_000
_DEFAULT_TOP = 1_000
MAX_CAPTURES = 1_000


def facets() -> FacetAnswers:
    """Return what answers the facet questions of whoever asks."""
    return kept_of_engine(FacetAnswers)


@blueprint.get("")
def answer() -> ResponseReturnValue:
    """Answer a facet question."""
    arguments = request.args
    check_parameters(arguments, FACET_PARAMETERS)
    features = parse_features(parameters.text(arguments, "feature"))
    question = parse_facet_question(
        where=arguments.getlist("where"),
        by=parameters.text(arguments, "by"),
        sort=parameters.text(arguments, "sort"),
        features=features,
        order=parameters.text(arguments, "order"),
        limit=parameters.number_parameter(arguments, "top", _DEFAULT_TOP, 1, MAX_TOP),
    )
    approximate = parameters.number_parameter(arguments, "approximate", 0, 0, 1) == 1
    answers = facets()
    found = answer_facets(lambda: answers.answer(question, approximate=approximate))
    return jsonify(answer_to_json(facets_answer(found, tuple(features))))


@blueprint.get("/criteria")
def criteria() -> ResponseReturnValue:
    """Answer with what can be asked."""
    return jsonify(answer_to_json(criteria_answer()))


@blueprint.get("/captures", endpoint="captures")
def facet_captures() -> ResponseReturnValue:
    """Answer with the captures behind an answer."""
    check_parameters(request.args, CAPTURES_PARAMETERS)
    where = parse_conditions(request.args.getlist("where"))
    offset = parameters.number_parameter(request.args, "offset", 0, 0, parameters.MAX_OFFSET)
    limit = parameters.number_parameter(request.args, "limit", 50, 0, MAX_CAPTURES)
    answers = facets()
    total, found = answer_facets(lambda: answers.captures(where, offset=offset, limit=limit))
    return jsonify(answer_to_json(CapturesAnswer(total, tuple(map(selected_capture, found)))))

"""The JSON API of facet questions."""

from dataclasses import asdict

from flask import Blueprint, current_app, jsonify, request
from flask.typing import ResponseReturnValue

from nwx.errors import UsageError
from nwx.facets.answering import FacetAnswers
from nwx.facets.asking import MAX_CONDITIONS, parse_condition, parse_facet_question, parse_features
from nwx.facets.criteria import DESCRIPTIONS
from nwx.facets.question import FEATURES, answer_json
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.openapi import CAPTURES_BEHIND_PARAMETERS, FACET_PARAMETERS, Json
from webapp.site.question_limits import answer_facets

blueprint = Blueprint("facets", __name__, url_prefix="/api/facets")

EXTENSION = "nwx-facets"
MAX_TOP = 10_000
DEFAULT_TOP = 1_000
MAX_CAPTURES = 1_000
MAX_OFFSET = 10**9

_SHOWN = (
    "url",
    "timestamp",
    "collection",
    "status_code",
    "content_type_norm",
    "content_length",
    "digest",
    "document_id",
    "record_type",
    "source_file",
    "source_file_offset",
)


def facets() -> FacetAnswers:
    """Return what answers the facet questions of the running application."""
    known = current_app.extensions
    if EXTENSION not in known:
        known.setdefault(EXTENSION, FacetAnswers(engine()))
    found: FacetAnswers = known[EXTENSION]
    return found


@blueprint.get("")
def answer() -> ResponseReturnValue:
    """Answer a facet question."""
    arguments = request.args
    _check_names(FACET_PARAMETERS)
    features = parse_features(parameters.text(arguments, "feature"))
    question = parse_facet_question(
        where=_where(),
        by=parameters.text(arguments, "by"),
        sort=parameters.text(arguments, "sort"),
        features=features,
        order=parameters.text(arguments, "order"),
        limit=parameters.number_parameter(arguments, "top", DEFAULT_TOP, 1, MAX_TOP),
    )
    approximate = parameters.number_parameter(arguments, "approximate", 0, 0, 1) == 1
    answers = facets()
    found = answer_facets(lambda: answers.answer(question, approximate=approximate))
    return jsonify(answer_json(found, features))


@blueprint.get("/criteria")
def criteria() -> ResponseReturnValue:
    """Answer with what can be asked."""
    return jsonify(
        criteria=[{"name": name, **asdict(found)} for name, found in DESCRIPTIONS.items()],
        features=[{"name": name, **asdict(found)} for name, found in FEATURES.items()],
    )


@blueprint.get("/captures")
def captures() -> ResponseReturnValue:
    """Answer with the captures behind an answer."""
    _check_names(CAPTURES_BEHIND_PARAMETERS)
    where = tuple(map(parse_condition, _where()))
    offset = parameters.number_parameter(request.args, "offset", 0, 0, MAX_OFFSET)
    limit = parameters.number_parameter(request.args, "limit", 50, 0, MAX_CAPTURES)
    answers = facets()
    total, found = answer_facets(lambda: answers.captures(where, offset=offset, limit=limit))
    shown = [{name: getattr(one, name) for name in _SHOWN} for one in found]
    return jsonify(total=total, captures=shown)


def _where() -> list[str]:
    where = request.args.getlist("where")
    if len(where) > MAX_CONDITIONS:
        raise UsageError(f"{len(where)} conditions are given; at most {MAX_CONDITIONS} are taken")
    return where


def _check_names(known: tuple[Json, ...]) -> None:
    names = [parameter["name"] for parameter in known]
    unknown = sorted(set(request.args) - set(names))
    if unknown:
        raise UsageError(f"there is no parameter {unknown[0][:80]!r}; use {', '.join(names)}")

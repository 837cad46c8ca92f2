"""The JSON API."""

from dataclasses import replace

from flask import Blueprint, Response, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from nwx.errors import UsageError
from nwx.query.fields import FACET_FIELDS, FILTERS
from nwx.query.question import MAX_LIMIT, Question
from nwx.searching import documents
from nwx.searching.answers import (
    VersionsAnswer,
    dates_answer,
    document_answer,
    encoded_answer,
    search_answer,
)
from nwx.searching.suggestions import suggestions
from webapp.operations import ALL_OPERATIONS
from webapp.search.addresses import read_question
from webapp.search.documents import ID
from webapp.search.kept_results import answer_question
from webapp.search.operations import SEARCH_PARAMETERS, SUGGEST_PARAMETERS
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.openapi import JSON_TYPE, check_parameters, description
from webapp.site.question_limits import answer_search

blueprint = Blueprint("api", __name__, url_prefix="/api")

MAX_FACET_SIZE = 1_000


@blueprint.get("/search")
def search() -> ResponseReturnValue:
    """Answer a search."""
    return _json(search_answer(answer_question(_question())))


@blueprint.get("/suggest")
def suggest() -> ResponseReturnValue:
    """Answer with what a text that is being typed may become."""
    check_parameters(request.args, SUGGEST_PARAMETERS)
    archive, typed = engine(), request.args.get("q", "")
    return _json(answer_search(lambda: suggestions(archive, typed)))


def _question() -> Question:
    arguments = request.args
    check_parameters(arguments, SEARCH_PARAMETERS)
    return replace(
        read_question(arguments),
        facets=_facets(),
        facet_size=parameters.number_parameter(arguments, "facet_size", 10, 1, MAX_FACET_SIZE),
        offset=parameters.number_parameter(arguments, "offset", 0, 0, parameters.MAX_OFFSET),
        limit=parameters.number_parameter(arguments, "limit", 10, 0, MAX_LIMIT),
    )


def _facets() -> list[str]:
    """Return the facets asked for, by commas or by repetition; all of FILTERS by default."""
    if "facets" not in request.args:
        return list(FILTERS)
    names = ",".join(request.args.getlist("facets")).split(",")
    asked = [name.strip() for name in names if name.strip()]
    if len(asked) > len(FILTERS) + len(FACET_FIELDS):
        raise UsageError(f"{len(asked)} facets are asked for; name each once")
    return asked


@blueprint.get(f"/documents/{ID}")
def document(document_id: str) -> ResponseReturnValue:
    """Answer with a document, its dates and its captures."""
    return _json(document_answer(_shown_or_404(document_id)))


@blueprint.get(f"/documents/{ID}/dates")
def dates(document_id: str) -> ResponseReturnValue:
    """Answer with all dates of a document."""
    return _json(dates_answer(_shown_or_404(document_id)))


def _json(answer: object) -> Response:
    return Response(encoded_answer(answer), mimetype=JSON_TYPE)


def _shown_or_404(document_id: str) -> documents.Shown:
    shown = documents.show(engine(), document_id)
    if shown is None:
        raise NotFound(f"there is no document {document_id} in this archive")
    return shown


@blueprint.get("/versions", endpoint="versions")
def url_versions() -> ResponseReturnValue:
    """Answer with the versions of a URL."""
    url = parameters.url(request.args)
    if not url:
        raise UsageError("url is missing; write /api/versions?url=ADDRESS")
    found = documents.versions(engine(), url)
    return _json(VersionsAnswer(url, tuple(found)))


@blueprint.get("/stats")
def stats() -> ResponseReturnValue:
    """Answer with the entries and the bytes of each index."""
    return _json(engine().stats())


@blueprint.get("/openapi.json")
def openapi() -> ResponseReturnValue:
    """Answer with the OpenAPI description of this API."""
    return jsonify(description(ALL_OPERATIONS, request.script_root or "/"))

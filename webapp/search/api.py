"""The JSON API of searches, documents and the service's health: its operations and answers."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from flask import Blueprint, request
from flask.typing import ResponseReturnValue
from msgspec import UNSET, UnsetType
from werkzeug.exceptions import NotFound

import nwx
from nwx.errors import EngineError, UsageError
from nwx.model import Collapse, IndexName, IndexStats, Sort
from nwx.query.fields import FACET_FIELDS, FILTERS
from nwx.query.question import MAX_LIMIT, Question
from nwx.query.rankings import SearchBy
from nwx.searching.answers import (
    DatesAnswer,
    DocumentAnswer,
    OptionalCount,
    OptionalText,
    SearchAnswer,
    VersionsAnswer,
    dates_answer,
    document_answer,
    search_answer,
)
from nwx.searching.documents import ShownDocument
from nwx.searching.suggestions import Suggestions
from webapp.search.documents import ID
from webapp.search.questions import answer_question, read_question
from webapp.site import parameters
from webapp.site.context import Service, archive, service
from webapp.site.openapi import (
    COUNT,
    NOT_FOUND,
    TEXT,
    Operation,
    Parameter,
    check_parameters,
    file_parameter,
    paging_parameters,
)
from webapp.site.question_limits import answer_search
from webapp.site.responses import json_answer

_TEXTS = {"type": "array", "items": TEXT}
FILTER_PARAMETERS = (
    *(
        Parameter(name, f"only documents whose {name} is one of these; may be repeated", _TEXTS)
        for name in FILTERS
    ),
    Parameter("from", "captured at or after this date: 2010, 2010-03, 2010-03-05 …"),
    Parameter("to", "captured at or before the end of this date"),
)

_QUESTION = (
    Parameter("q", "the query, in Lucene syntax; all documents without it"),
    *FILTER_PARAMETERS,
    Parameter("by", "what documents are found by", {"enum": list(SearchBy), "default": "words"}),
    Parameter("sort", "the order of the hits", {"enum": list(Sort), "default": "relevance"}),
    Parameter("ranking", "the name of the weights that relevance is computed by"),
    Parameter(
        "collapse", "what is folded into one hit", {"enum": list(Collapse), "default": "url"}
    ),
)

SEARCH_PARAMETERS = (
    *_QUESTION,
    Parameter("facets", "the facets to count, separated by commas; all without it"),
    Parameter("facet_size", "the values of a facet", {**COUNT, "minimum": 1, "default": 10}),
    *paging_parameters("hits", 10, MAX_LIMIT),
)

SUGGEST_PARAMETERS = (Parameter("q", "what is typed; two letters at least"),)

_ID = Parameter(
    "document_id",
    "the id of a document",
    {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    place="path",
)
_URL = Parameter("url", "a URL; http:// and www. make no difference", required=True)


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """The health of the service; `replay` is whether playback runs."""

    status: Literal["ok", "unavailable"]
    version: str
    documents: OptionalCount = UNSET
    replay: bool | UnsetType = UNSET
    replay_restarts: OptionalCount = UNSET
    replay_message: OptionalText = UNSET
    message: OptionalText = UNSET


SEARCH_OPERATIONS = (
    Operation(
        "search",
        "/api/search",
        "Documents that match a query, with facets",
        SEARCH_PARAMETERS,
        SearchAnswer,
        example="/api/search?q=archive&limit=3",
    ),
    Operation(
        "suggest",
        "/api/suggest",
        "Titles and hosts that a text which is being typed may become",
        SUGGEST_PARAMETERS,
        Suggestions,
        example="/api/suggest?q=arch",
    ),
    Operation(
        "document",
        "/api/documents/{document_id}",
        "A document with its text, dates and captures",
        (_ID,),
        DocumentAnswer,
        errors=NOT_FOUND,
    ),
    Operation(
        "dates",
        "/api/documents/{document_id}/dates",
        "All dates of a document",
        (_ID,),
        DatesAnswer,
        errors=NOT_FOUND,
    ),
    Operation(
        "versions",
        "/api/versions",
        "The versions of a URL",
        (_URL,),
        VersionsAnswer,
        example="/api/versions?url=http%3A%2F%2Fexample.com%2F",
    ),
    Operation(
        "stats",
        "/api/stats",
        "The entries and bytes of each index",
        answer=dict[IndexName, IndexStats],
        example="/api/stats",
    ),
    Operation(
        "exportResults",
        "/export/results.{suffix}",
        "All results of a search as a file: CSV, JSON lines of hits, a list of URLs, or the records"
        " of their captures (WARC, or WACZ with what their pages load)",
        (
            file_parameter("csv", "json", "txt", "warc.gz", "wacz"),
            Parameter("fields", "CSV and JSON: the fields, with commas between"),
            *_QUESTION,
        ),
        media_types=(
            "text/csv",
            "application/json",
            "text/plain",
            "application/gzip",
            "application/wacz",
        ),
        errors=NOT_FOUND,
        example="/export/results.csv?q=archive",
    ),
    Operation(
        "health",
        "/health",
        "Whether the archive and playback can be reached",
        answer=HealthAnswer,
        errors={},
        example="/health",
    ),
)


blueprint = Blueprint("api", __name__, url_prefix="/api")

MAX_FACET_SIZE = 1_000


@blueprint.get("/search")
def search() -> ResponseReturnValue:
    """Answer a search."""
    return json_answer(search_answer(answer_question(_question())))


@blueprint.get("/suggest")
def suggest() -> ResponseReturnValue:
    """Answer with suggestions to complete a text being typed."""
    check_parameters(request.args, SUGGEST_PARAMETERS)
    shown, typed = archive(), request.args.get("q", "")
    return json_answer(answer_search(lambda: shown.suggestions(typed)))


def _question() -> Question:
    arguments = request.args
    check_parameters(arguments, SEARCH_PARAMETERS)
    offset, limit = parameters.paging(arguments, 10, MAX_LIMIT)
    return replace(
        read_question(arguments),
        facets=_facets(),
        facet_size=parameters.number_parameter(arguments, "facet_size", 10, 1, MAX_FACET_SIZE),
        offset=offset,
        limit=limit,
    )


def _facets() -> list[str]:
    """Return the requested facets, repeated or separated by commas; by default all of FILTERS."""
    if "facets" not in request.args:
        return list(FILTERS)
    names = ",".join(request.args.getlist("facets")).split(",")
    asked = [name.strip() for name in names if name.strip()]
    if len(asked) > len(FILTERS) + len(FACET_FIELDS):
        raise UsageError(f"{len(asked)} facets are requested; name each once")
    return asked


@blueprint.get(f"/documents/{ID}")
def document(document_id: str) -> ResponseReturnValue:
    """Answer with a document, its dates and its captures."""
    return json_answer(document_answer(_shown_or_404(document_id)))


@blueprint.get(f"/documents/{ID}/dates")
def dates(document_id: str) -> ResponseReturnValue:
    """Answer with all dates of a document."""
    return json_answer(dates_answer(_shown_or_404(document_id)))


def _shown_or_404(document_id: str) -> ShownDocument:
    shown = archive().document(document_id)
    if shown is None:
        raise NotFound(f"there is no document {document_id} in this archive")
    return shown


@blueprint.get("/versions", endpoint="versions")
def url_versions() -> ResponseReturnValue:
    """Answer with the versions of a URL."""
    url = parameters.needed_url(request.args, "/api/versions")
    return json_answer(VersionsAnswer(url, tuple(archive().versions(url))))


@blueprint.get("/stats")
def stats() -> ResponseReturnValue:
    """Answer with the number of entries and bytes of each index."""
    return json_answer(archive().stats())


health_blueprint = Blueprint("health", __name__)


@health_blueprint.get("/health")
def health() -> ResponseReturnValue:
    """Answer 200 with the size of the archive, or 503 with the engine's error.

    `replay` is whether playback runs at this moment.
    """
    found = service()
    try:
        documents = archive().count("documents")
    except EngineError as error:
        away = HealthAnswer("unavailable", nwx.__version__, message=str(error))
        return json_answer(away, 503)
    playing = {"replay": False} if not found.replays else _playback(found)
    answer = HealthAnswer("ok", nwx.__version__, documents, **playing)
    return json_answer(answer)


def _playback(found: Service) -> dict[str, Any]:
    state = found.playback()
    told: dict[str, Any] = {"replay": state.running, "replay_restarts": state.restarts}
    return told | ({"replay_message": state.message} if state.message else {})

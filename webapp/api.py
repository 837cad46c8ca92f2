"""The JSON API."""

from dataclasses import asdict
from typing import Any

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue

from nwx import searching
from nwx.engine.base import FACET_FIELDS
from nwx.errors import UsageError
from nwx.formats.surt import urlkey
from nwx.model import Capture, Collapse, Dates, Document, Sort
from nwx.searching import FILTERS, MAX_LIMIT, Question, result_json
from webapp import parameters
from webapp.context import document_or_404, engine
from webapp.documents import ID, dates_of
from webapp.history import MOST_PLACES, Version, versions_of
from webapp.openapi import SEARCH_PARAMETERS, description

blueprint = Blueprint("api", __name__, url_prefix="/api")

MAX_OFFSET = 10**9
MAX_FACET_SIZE = 1_000


@blueprint.get("/search")
def search() -> ResponseReturnValue:
    """Answer a search."""
    return jsonify(result_json(searching.search(engine(), _question())))


def _question() -> Question:
    arguments = request.args
    unknown = sorted(set(arguments) - {parameter["name"] for parameter in SEARCH_PARAMETERS})
    if unknown:
        known = ", ".join(parameter["name"] for parameter in SEARCH_PARAMETERS)
        raise UsageError(f"there is no parameter {unknown[0][:80]!r}; use {known}")
    return Question(
        query=parameters.text(arguments, "q", parameters.MAX_QUERY),
        filters=parameters.filters(arguments),
        date_from=parameters.text(arguments, "from", 30),
        date_to=parameters.text(arguments, "to", 30),
        sort=parameters.choice(arguments, "sort", Sort.RELEVANCE),
        collapse=parameters.choice(arguments, "collapse", Collapse.URL),
        facets=_facets(),
        facet_size=parameters.number(arguments, "facet_size", 10, 1, MAX_FACET_SIZE),
        offset=parameters.number(arguments, "offset", 0, 0, MAX_OFFSET),
        limit=parameters.number(arguments, "limit", 10, 0, MAX_LIMIT),
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
    """Answer with a document, its dates and the places of its records."""
    found = document_or_404(document_id)
    return jsonify(
        id=document_id,
        **document_json(found),
        dates=[timestamp for timestamp, _ in dates_of(document_id).seen],
        places=_places(document_id, found),
    )


def document_json(document: Document) -> dict[str, Any]:
    """Return a document as programs read it: its earliest capture and its text."""
    capture = asdict(document.capture)
    capture.pop("document_id")
    extract = asdict(document.extract)
    return {**capture, **extract}


def _places(document_id: str, document: Document) -> list[dict[str, Any]]:
    captures = engine().captures(document.capture.urlkey)
    own = (capture for capture in captures if capture.document_id == document_id)
    return [place_json(capture) for _, capture in zip(range(MOST_PLACES), own, strict=False)]


def place_json(capture: Capture) -> dict[str, Any]:
    """Return where the record of a capture lies."""
    return {
        "timestamp": capture.timestamp,
        "collection": capture.collection,
        "source_file": capture.source_file,
        "source_file_offset": capture.source_file_offset,
        "record_length": capture.record_length,
        "record_type": capture.record_type,
    }


@blueprint.get(f"/documents/{ID}/dates")
def dates(document_id: str) -> ResponseReturnValue:
    """Answer with all dates of a document."""
    document_or_404(document_id)
    return jsonify(id=document_id, **dates_json(dates_of(document_id)))


def dates_json(dates: Dates) -> dict[str, Any]:
    """Return dates as programs read them."""
    return {
        "key": dates.key,
        "dates": [
            {"timestamp": timestamp, "collection": collection}
            for timestamp, collection in dates.seen
        ],
    }


@blueprint.get("/versions")
def versions() -> ResponseReturnValue:
    """Answer with the versions of a URL."""
    url = parameters.text(request.args, "url", parameters.MAX_URL)
    if not url:
        raise UsageError("url is missing; write /api/versions?url=ADDRESS")
    key = urlkey(url)
    found = versions_of(engine().captures(key))
    return jsonify(url=url, urlkey=key, versions=[version_json(version) for version in found])


def version_json(version: Version) -> dict[str, Any]:
    """Return a version as programs read it."""
    return {
        "id": version.document_id,
        "url": version.url,
        "digest": version.digest,
        "first_date": version.first,
        "last_date": version.last,
        "captures": version.captures,
        "status": version.status_code,
        "type": version.content_type_norm,
    }


@blueprint.get("/stats")
def stats() -> ResponseReturnValue:
    """Answer with the entries and the bytes of each index."""
    return jsonify(
        {
            str(name): {"entries": index.entries, "bytes": index.bytes}
            for name, index in engine().stats().items()
        }
    )


@blueprint.get("/openapi.json")
def openapi() -> ResponseReturnValue:
    """Answer with the OpenAPI description of this API."""
    return jsonify(description(request.script_root or "/"))

"""The description of the JSON API (OpenAPI 3.1)."""

from typing import Any

import nwx
from nwx.facets.criteria import Criterion
from nwx.facets.question import FEATURES, AnsweredBy, Feature, Features
from nwx.model import Collapse, Sort
from nwx.query.question import FILTERS, MAX_LIMIT

Json = dict[str, Any]

_TIMESTAMP: Json = {"type": "string", "pattern": "^[0-9]{14}$"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_TEXT: Json = {"type": "string"}
_OPTIONAL_NUMBER: Json = {"type": ["integer", "null"]}


def _parameter(name: str, words: str, schema: Json, **more: Any) -> Json:
    return {"name": name, "in": "query", "description": words, "schema": schema, **more}


def _filter(name: str) -> Json:
    words = f"only documents whose {name} is one of these; may be repeated"
    return _parameter(name, words, {"type": "array", "items": _TEXT})


SEARCH_PARAMETERS: tuple[Json, ...] = (
    _parameter("q", "the query, in Lucene syntax; all documents without it", _TEXT),
    *(_filter(name) for name in FILTERS),
    _parameter("from", "captured at or after this date: 2010, 2010-03, 2010-03-05 …", _TEXT),
    _parameter("to", "captured at or before the end of this date", _TEXT),
    _parameter("sort", "the order of the hits", {"enum": list(Sort), "default": "relevance"}),
    _parameter("collapse", "what is folded", {"enum": list(Collapse), "default": "url"}),
    _parameter("facets", "the facets to count, with commas between; all without it", _TEXT),
    _parameter("facet_size", "the values of a facet", {**_COUNT, "minimum": 1, "default": 10}),
    _parameter("offset", "the hits to pass over", {**_COUNT, "default": 0}),
    _parameter("limit", "the hits to return", {**_COUNT, "maximum": MAX_LIMIT, "default": 10}),
)

_WHERE = _parameter(
    "where",
    "a condition: tld=fr,be, month=2013-01..2013-12, type!=html …; may be repeated",
    {"type": "array", "items": _TEXT},
)

FACET_PARAMETERS: tuple[Json, ...] = (
    _WHERE,
    _parameter("by", f"one or two, with a comma between, of {', '.join(Criterion)}", _TEXT),
    _parameter("feature", "the features to give, with commas between; all without it", _TEXT),
    _parameter("sort", f"value, or one of {', '.join(Feature)}", _TEXT),
    _parameter("order", "asc or desc; by default values go up and features down", _TEXT),
    _parameter("top", "the most rows", {**_COUNT, "minimum": 1, "default": 1000}),
    _parameter("approximate", "1: estimate what would have to be counted live", _COUNT),
)
CAPTURES_BEHIND_PARAMETERS: tuple[Json, ...] = (
    _WHERE,
    _parameter("offset", "the captures to pass over", {**_COUNT, "default": 0}),
    _parameter("limit", "the captures to return", {**_COUNT, "maximum": 1000, "default": 50}),
)

_FEATURES: Json = {
    feature.value: {
        "type": "integer" if feature.value in Features.__slots__ else ["number", "null"],
        "description": found.description,
    }
    for feature, found in FEATURES.items()
}

_ID: Json = {
    "name": "document_id",
    "in": "path",
    "required": True,
    "description": "the id of a document",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
}
_URL = _parameter("url", "a URL, http:// and www. do not matter", _TEXT, required=True)

_SCHEMAS: Json = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["status", "message"],
                "properties": {
                    "status": {"type": "integer"},
                    "message": _TEXT,
                    "query": {"type": "string", "description": "the query at fault"},
                    "position": {**_OPTIONAL_NUMBER, "description": "where in the query"},
                },
            }
        },
    },
    "Total": {
        "type": "object",
        "properties": {"value": _COUNT, "relation": {"enum": ["eq", "gte"]}},
    },
    "Hit": {
        "type": "object",
        "required": ["id", "url", "digest", "title", "dates", "snippet", "score"],
        "properties": {
            "id": _TEXT,
            "url": _TEXT,
            "digest": _TEXT,
            "title": _TEXT,
            "dates": {"type": "array", "items": _TIMESTAMP},
            "snippet": _TEXT,
            "highlights": {"type": "array", "items": _TEXT},
            "score": {"type": "number"},
            "versions": _COUNT,
            "host": _TEXT,
            "domain": _TEXT,
            "collections": {"type": "array", "items": _TEXT},
            "status": _OPTIONAL_NUMBER,
            "content_type": _TEXT,
            "type": _TEXT,
            "language": _TEXT,
            "content_length": _OPTIONAL_NUMBER,
        },
    },
    "SearchResult": {
        "type": "object",
        "required": ["total", "hits", "facets", "took_ms"],
        "properties": {
            "total": {"$ref": "#/components/schemas/Total"},
            "documents": {"$ref": "#/components/schemas/Total"},
            "hits": {"type": "array", "items": {"$ref": "#/components/schemas/Hit"}},
            "facets": {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"value": _TEXT, "count": _COUNT},
                    },
                },
            },
            "took_ms": {"type": "number"},
        },
    },
    "Document": {
        "type": "object",
        "description": "a version of a URL: its earliest capture, its text, dates and captures;"
        " fields without a value are left out",
        "required": ["id", "url", "digest", "dates", "seen", "captures"],
        "properties": {
            "id": _TEXT,
            "url": _TEXT,
            "digest": _TEXT,
            "title": _TEXT,
            "content": _TEXT,
            "timestamp": _TIMESTAMP,
            "dates": {"type": "array", "items": _TIMESTAMP},
            "seen": {"type": "array", "items": {"$ref": "#/components/schemas/Seen"}},
            "captures": {"type": "array", "items": {"$ref": "#/components/schemas/Capture"}},
        },
    },
    "Seen": {
        "type": "object",
        "properties": {"timestamp": _TIMESTAMP, "collection": _TEXT},
    },
    "Capture": {
        "type": "object",
        "properties": {
            "timestamp": _TIMESTAMP,
            "url": _TEXT,
            "collection": _TEXT,
            "source_file": _TEXT,
            "source_file_offset": _COUNT,
            "record_length": _OPTIONAL_NUMBER,
            "record_type": _TEXT,
            "status_code": _OPTIONAL_NUMBER,
        },
    },
    "Dates": {
        "type": "object",
        "properties": {
            "id": _TEXT,
            "key": _TEXT,
            "dates": {"type": "array", "items": {"$ref": "#/components/schemas/Seen"}},
        },
    },
    "Versions": {
        "type": "object",
        "properties": {
            "url": _TEXT,
            "versions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": _TEXT,
                        "url": _TEXT,
                        "digest": _TEXT,
                        "title": _TEXT,
                        "first": _TIMESTAMP,
                        "last": _TIMESTAMP,
                        "captures": _COUNT,
                    },
                },
            },
        },
    },
    "FacetAnswer": {
        "type": "object",
        "properties": {
            "where": {"type": "array", "items": _TEXT},
            "by": {"type": "array", "items": {"enum": list(Criterion)}},
            **_FEATURES,
            "rows": {
                "type": "array",
                "description": "the values of each criterion of `by`, and the features",
                "items": {"type": "object", "properties": _FEATURES},
            },
            "found": {**_OPTIONAL_NUMBER, "description": "rows before `top`, where known"},
            "answered_by": {"enum": list(AnsweredBy)},
            "took_ms": {"type": "number"},
        },
    },
    "FacetCriteria": {
        "type": "object",
        "properties": {
            "criteria": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"enum": list(Criterion)},
                        "title": _TEXT,
                        "description": _TEXT,
                        "values": {"type": "array", "items": _TEXT},
                        "ordinal": {"type": "boolean"},
                        "spans": {"type": "boolean"},
                    },
                },
            },
            "features": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"enum": list(Feature)},
                        "title": _TEXT,
                        "description": _TEXT,
                        "unit": {"enum": ["count", "bytes", "ratio"]},
                    },
                },
            },
        },
    },
    "CapturesBehind": {
        "type": "object",
        "properties": {
            "total": _COUNT,
            "captures": {"type": "array", "items": {"$ref": "#/components/schemas/Capture"}},
        },
    },
    "Stats": {
        "type": "object",
        "description": "the indices by name",
        "additionalProperties": {
            "type": "object",
            "properties": {"entries": _COUNT, "bytes": _OPTIONAL_NUMBER},
        },
    },
}

# Path, what it answers, parameters, schema of the answer, an example to try.
_OPERATIONS: tuple[tuple[str, str, tuple[Json, ...], str, str], ...] = (
    ("/api/search", "search", SEARCH_PARAMETERS, "SearchResult", "/api/search?q=archive&limit=3"),
    ("/api/documents/{document_id}", "a document with its text", (_ID,), "Document", ""),
    ("/api/documents/{document_id}/dates", "all dates of a document", (_ID,), "Dates", ""),
    (
        "/api/versions",
        "the versions of a URL",
        (_URL,),
        "Versions",
        "/api/versions?url=http%3A%2F%2Fexample.com%2F",
    ),
    (
        "/api/facets",
        "how much there is, by any criteria",
        FACET_PARAMETERS,
        "FacetAnswer",
        "/api/facets?where=status%3Dok&by=month&feature=captures,unique_bytes",
    ),
    (
        "/api/facets/criteria",
        "what facet questions can ask",
        (),
        "FacetCriteria",
        "/api/facets/criteria",
    ),
    (
        "/api/facets/captures",
        "the captures behind a facet answer",
        CAPTURES_BEHIND_PARAMETERS,
        "CapturesBehind",
        "/api/facets/captures?where=type%3Dimage&limit=3",
    ),
    ("/api/stats", "the size of the archive", (), "Stats", "/api/stats"),
)


def operations() -> list[Json]:
    """Return the operations as the page about the API shows them."""
    return [
        {"path": path, "summary": summary, "parameters": parameters, "example": example}
        for path, summary, parameters, _, example in _OPERATIONS
    ]


def description(server: str) -> Json:
    """Return the OpenAPI description of the API at an address."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "nwx",
            "version": nwx.__version__,
            "description": "Search a web archive. All answers are JSON, errors too.",
            "license": {"name": "GPL-3.0-or-later", "identifier": "GPL-3.0-or-later"},
        },
        "servers": [{"url": server}],
        "paths": {
            path: {"get": _operation(path, summary, parameters, schema)}
            for path, summary, parameters, schema, _ in _OPERATIONS
        },
        "components": {"schemas": _SCHEMAS},
    }


def _operation(path: str, summary: str, parameters: tuple[Json, ...], schema: str) -> Json:
    errors = {"400": "a parameter or a query makes no sense", "503": "the engine is away"}
    if "{" in path:
        errors["404"] = "there is no such document"
    return {
        "operationId": schema[0].lower() + schema[1:],
        "summary": summary,
        "parameters": list(parameters),
        "responses": {
            "200": _response("the answer", schema),
            **{status: _response(words, "Error") for status, words in sorted(errors.items())},
        },
    }


def _response(words: str, schema: str) -> Json:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": words, "content": {"application/json": {"schema": reference}}}

"""What programs can ask of searches and documents."""

from nwx.model import Collapse, IndexName, IndexStats, Sort
from nwx.query.fields import FILTERS
from nwx.query.question import MAX_LIMIT
from nwx.searching.answers import DatesAnswer, DocumentAnswer, SearchAnswer, VersionsAnswer
from nwx.searching.suggestions import Suggestions
from webapp.site.health import HealthAnswer
from webapp.site.openapi import COUNT, ERRORS, NOT_FOUND, TEXT, Operation, Parameter

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
    Parameter("sort", "the order of the hits", {"enum": list(Sort), "default": "relevance"}),
    Parameter(
        "collapse", "what is folded into one hit", {"enum": list(Collapse), "default": "url"}
    ),
)

SEARCH_PARAMETERS = (
    *_QUESTION,
    Parameter("facets", "the facets to count, separated by commas; all without it"),
    Parameter("facet_size", "the values of a facet", {**COUNT, "minimum": 1, "default": 10}),
    Parameter("offset", "the hits to skip", {**COUNT, "default": 0}),
    Parameter("limit", "the hits to return", {**COUNT, "maximum": MAX_LIMIT, "default": 10}),
)

SUGGEST_PARAMETERS = (Parameter("q", "what is typed; two letters at least"),)

_ID = Parameter(
    "document_id",
    "the id of a document",
    {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    place="path",
)
_URL = Parameter("url", "a URL; http:// and www. make no difference", required=True)

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
        errors={**ERRORS, **NOT_FOUND},
    ),
    Operation(
        "dates",
        "/api/documents/{document_id}/dates",
        "All dates of a document",
        (_ID,),
        DatesAnswer,
        errors={**ERRORS, **NOT_FOUND},
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
            Parameter(
                "suffix",
                "the format",
                {"enum": ["csv", "json", "txt", "warc.gz", "wacz"]},
                place="path",
            ),
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
        errors={**ERRORS, **NOT_FOUND},
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

"""Questions as people and programs ask them, and the form of the answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nwx.engine.base import FACET_FIELDS, Engine, SearchRequest
from nwx.errors import TimestampError, UsageError
from nwx.model import Collapse, Hit, SearchResult, Sort
from nwx.query.dates import date_span
from nwx.query.parser import parse_query

FILTERS = {
    "collection": "collection",
    "domain": "domain",
    "host": "host",
    "type": "content_type_norm",
    "status": "status_code",
    "language": "content_language",
    "year": "year",
}
"""The filters of the command line, the pages and the API, and the fields they look at."""

MAX_LIMIT = 1_000
"""The most hits that one page can hold."""


@dataclass(frozen=True, slots=True)
class Question:
    """A search as asked: Lucene syntax, filters by name (FILTERS), dates as people write them.

    `facets` are fields of FACET_FIELDS or names in FILTERS.
    """

    query: str = ""
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    date_from: str = ""
    date_to: str = ""
    sort: Sort = Sort.RELEVANCE
    collapse: Collapse = Collapse.URL
    facets: Sequence[str] = ()
    facet_size: int = 10
    offset: int = 0
    limit: int = 10
    snippets: bool = True


def to_request(question: Question) -> SearchRequest:
    """Return what to ask an engine.

    Raises QueryError for a query that cannot be parsed, and UsageError for
    dates, filters, facets or sizes that make no sense.
    """
    if not 0 <= question.limit <= MAX_LIMIT or question.offset < 0:
        raise UsageError(f"a page holds 0 to {MAX_LIMIT} hits and begins at 0 or later")
    return SearchRequest(
        query=parse_query(question.query),
        filters={
            _filter_field(name): tuple(_filter_value(name, value) for value in values)
            for name, values in question.filters.items()
            if values
        },
        date_from=_bound(question.date_from, 0),
        date_to=_bound(question.date_to, 1),
        sort=question.sort,
        collapse=question.collapse,
        facets=tuple(_facet_field(name) for name in question.facets),
        facet_size=question.facet_size,
        offset=question.offset,
        limit=question.limit,
        snippets=question.snippets,
    )


def _bound(date: str, end: int) -> str:
    try:
        return date_span(date)[end] if date else ""
    except TimestampError as error:
        raise UsageError(str(error)) from error


def _filter_field(name: str) -> str:
    if name not in FILTERS:
        raise UsageError(f"there is no filter {name!r}; use one of {', '.join(FILTERS)}")
    return FILTERS[name]


def _filter_value(name: str, value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = value.encode("utf-8", "replace").decode()
        raise UsageError(
            f"the filter {name}={shown!r} is not valid UTF-8; check the encoding of the terminal"
        ) from error
    return value


def _facet_field(name: str) -> str:
    name = FILTERS.get(name, name)
    if name not in FACET_FIELDS:
        raise UsageError(f"there is no facet {name!r}; use one of {', '.join(FILTERS)}")
    return name


def ask(engine: Engine, question: Question) -> SearchResult:
    """Answer a question; raises as `to_request` and `Engine.search` do."""
    return engine.search(to_request(question))


def search_all(engine: Engine, question: Question) -> Iterator[Hit]:
    """Stream every hit of a question, in no order; raises as `search` does."""
    return engine.scroll(to_request(question))


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return a hit as programs read it.

    `snippet` is plain text, `highlights` its matching words.
    """
    return {
        "id": hit.id,
        "url": hit.url,
        "digest": hit.digest,
        "title": hit.title,
        "dates": list(hit.dates),
        "snippet": "".join(text for text, _ in hit.snippet),
        "highlights": [text for text, matches in hit.snippet if matches],
        "score": hit.score,
        "versions": hit.versions,
        "host": hit.host,
        "domain": hit.domain,
        "collections": list(hit.collections),
        "status": hit.status_code,
        "content_type": hit.content_type,
        "type": hit.content_type_norm,
        "language": hit.content_language,
        "content_length": hit.content_length,
    }


def result_json(result: SearchResult) -> dict[str, Any]:
    """Return an answer as programs read it; facets by their names in FILTERS."""
    names = {field_name: name for name, field_name in FILTERS.items()}
    return {
        "total": {"value": result.total.value, "relation": result.total.relation},
        "documents": {"value": result.documents.value, "relation": result.documents.relation},
        "hits": [hit_json(hit) for hit in result.hits],
        "facets": {
            names.get(name, name): [{"value": v.value, "count": v.count} for v in values]
            for name, values in result.facets.items()
        },
        "took_ms": round(result.took_ms, 3),
    }

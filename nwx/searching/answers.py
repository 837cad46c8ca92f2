"""Answers to searches as programs read them."""

from typing import Any

from nwx.model import Hit, SearchResult
from nwx.query.question import FILTERS


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

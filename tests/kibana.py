"""What Elasticsearch would answer to the query of a panel, from the entries of the index."""

from collections.abc import Iterable, Mapping
from typing import Any

from nwx.charts.panels import Panel, query


def hits_of(panel: Panel, entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the hits of a panel's query among the entries of the facets index."""
    asked = query(panel)
    terms = [clause["term"] for clause in asked["query"]["bool"]["filter"]]
    ((field, direction),) = asked["sort"][0].items()
    found = [
        entry
        for entry in entries
        if all(entry.get(name) == value for term in terms for name, value in term.items())
    ]
    found.sort(key=lambda entry: entry[field], reverse=direction == "desc")
    return [{"_source": dict(entry)} for entry in found[: asked["size"]]]

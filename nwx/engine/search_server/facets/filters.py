"""From conditions on captures to the query language of search servers: pure functions."""

import re

from nwx.engine.search_server.documents.compile import EVERYTHING, NOTHING, Query
from nwx.engine.selection import AllOf, AnyOf, Between, Ending, Like, LiveFilter, Not, OneOf, Unset

_MEANING = re.compile(r"[*?\\]")


def query_of(wanted: LiveFilter) -> Query:
    """Return the query of a condition."""
    match wanted:
        case AllOf(parts):
            return {"bool": {"filter": list(map(query_of, parts))}} if parts else EVERYTHING
        case AnyOf(parts):
            return _any(list(map(query_of, parts)))
        case Not(part):
            return {"bool": {"must_not": [query_of(part)]}}
        case OneOf(field, values):
            return {"terms": {field: list(values)}}
        case Between(field, low, high):
            bounds = {"gte": low, "lt": high}
            return {
                "range": {field: {name: end for name, end in bounds.items() if end is not None}}
            }
        case Ending(field, end):
            return {"wildcard": {field: {"value": "*" + _MEANING.sub(r"\\\g<0>", end)}}}
        case Like(field, pattern):
            return {"regexp": {field: {"value": pattern, "flags": "NONE"}}}
        case Unset(field):
            return {"bool": {"must_not": [{"exists": {"field": field}}]}}


def _any(queries: list[Query]) -> Query:
    if not queries:
        return NOTHING
    return {"bool": {"should": queries, "minimum_should_match": 1}}

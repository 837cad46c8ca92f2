"""Compiles query trees and date conditions to the query language of search servers."""

import calendar
import re
from collections.abc import Callable, Iterable
from typing import Any

from nwx.errors import QueryError
from nwx.query.fields import CAPTURE_FIELDS, JOINED_FIELDS
from nwx.query.question import DateCondition
from nwx.query.rankings import DEFAULT, Ranking
from nwx.query.tree import (
    DATE,
    TEXT,
    All,
    Bool,
    Boost,
    DateRange,
    Fuzzy,
    Leaf,
    Node,
    Phrase,
    Range,
    Term,
    ValueSpan,
    Wildcard,
    field_type,
    is_any,
)
from nwx.query.words import pattern_pieces

Query = dict[str, Any]
_Joined = Callable[[DateRange | Leaf, bool], Query]
"""Compiles a date range, or a leaf of JOINED_FIELDS or CAPTURE_FIELDS; the flag is False below a
`NOT`."""

EVERYTHING: Query = {"match_all": {}}
NOTHING: Query = {"match_none": {}}

_DIGITS_FORMAT = "uuuuMMddHHmmss"
_TIMESTAMP = re.compile(r"\d{14}", re.ASCII)
_WILD = re.compile(r"[*?\\]")
_LOWEST = (0, 1, 1, 0, 0, 0)
_HIGHEST = (9999, 12, 31, 23, 59, 59)


def compile_node(
    node: Node, joined: _Joined, wanted: bool = True, ranking: Ranking = DEFAULT
) -> Query:
    """Return the query of a tree; `joined` compiles leaves that are joined from other indices.

    The tree must be resolved (`nwx.query.tree.resolve_tree`).
    """
    match node:
        case All():
            return EVERYTHING
        case DateRange():
            return joined(node, wanted)
        case Boost():
            return _boosted(compile_node(node.node, joined, wanted, ranking), node.factor)
        case Bool():
            return _bool(node, joined, wanted, ranking)
    if node.field in JOINED_FIELDS or node.field in CAPTURE_FIELDS:
        return joined(node, wanted)
    if node.field:
        return leaf_query(node)
    return {
        "dis_max": {
            "queries": [_boosted(_leaf(node, name), w) for name, w in ranking.fields.items()]
        }
    }


def _boosted(query: Query, factor: float) -> Query:
    return query if factor == 1 else {"bool": {"must": [query], "boost": factor}}


def _bool(node: Bool, joined: _Joined, wanted: bool, ranking: Ranking) -> Query:
    parts: Query = {
        "must": [compile_node(part, joined, wanted, ranking) for part in node.must],
        "should": [compile_node(part, joined, wanted, ranking) for part in node.should],
        "must_not": [compile_node(part, joined, not wanted, ranking) for part in node.must_not],
    }
    parts = {name: queries for name, queries in parts.items() if queries}
    if node.should and not node.must:
        parts["minimum_should_match"] = node.least
    if len(ids := _ids(node)) > 1:
        parts["should"] = [{"constant_score": {"filter": {"terms": {"id": ids}}}}]
    return {"bool": parts}


def _ids(node: Bool) -> list[str]:
    """Return the ids of a node whose alternatives are all ids, [] for other nodes."""
    ids = [one.text for one in node.should if isinstance(one, Term) and one.field == "id"]
    return ids if len(ids) == len(node.should) and node.least == 1 else []


def leaf_query(node: Leaf) -> Query:
    """Return the query of a leaf on a field of documents."""
    return _leaf(node, node.field)


def _leaf(node: Leaf, field: str) -> Query:
    kind = field_type(field)
    if is_any(node):
        return {"exists": {"field": field}}
    match node:
        case ValueSpan():
            return _span_query(node, kind)
        case Wildcard():
            return _wildcard(node, field, kind)
        case Fuzzy():
            return _fuzzy(node, field, kind)
        case Range():
            return _range(node, field)
    if kind == TEXT:
        slop = node.slop if isinstance(node, Phrase) else 0
        return {"match_phrase": {field: {"query": node.text, "slop": slop}}}
    return _exact(field, node.text)


def _exact(field: str, value: str | int) -> Query:
    return {"constant_score": {"filter": {"term": {field: value}}}}


def _span_query(span: ValueSpan, kind: str) -> Query:
    if kind == DATE:
        low, high = ("" if one is None else f"{one:014}" for one in (span.low, span.high))
        return digits_range(span.field, low, high)
    if span.low == span.high and span.low is not None:
        return _exact(span.field, span.low)
    bounds = {"gte": span.low, "lte": span.high}
    return {"range": {span.field: {side: one for side, one in bounds.items() if one is not None}}}


def _wildcard(node: Wildcard, field: str, kind: str) -> Query:
    pattern = _folded_pattern(node.pattern) if kind == TEXT else node.pattern
    return {"wildcard": {field: {"value": pattern}}}


def _folded_pattern(pattern: str) -> str:
    """Return a pattern with its text folded like the words of the index."""
    # Imported here: only patterns of words need it.
    from nwx.engine.analyzer import fold

    pieces = pattern_pieces(pattern, fold)
    return "".join(_WILD.sub(r"\\\g<0>", one[1:]) if one[0] == "=" else one for one in pieces)


def _fuzzy(node: Fuzzy, field: str, kind: str) -> Query:
    edits = {"fuzziness": node.distance, "prefix_length": 0}
    if kind != TEXT:
        fuzzy = {field: {"value": node.text, **edits, "rewrite": "constant_score"}}
        return {"constant_score": {"filter": {"fuzzy": fuzzy}}}
    match = {"query": node.text, "operator": "and", **edits}
    # Alone, it expands to the 50 likeliest words only: enough for scores, not for matching.
    found = {"match": {field: {**match, "fuzzy_rewrite": "constant_score"}}}
    return {"bool": {"filter": [found], "should": [{"match": {field: match}}]}}


def _range(node: Range, field: str) -> Query:
    bounds: Query = {}
    if node.low is not None:
        bounds["gte" if node.include_low else "gt"] = node.low
    if node.high is not None:
        bounds["lte" if node.include_high else "lt"] = node.high
    return {"range": {field: bounds}}


def digits_range(field: str, low: str, high: str) -> Query:
    """Return the query of a span, both ends 14 digits and inclusive; "" means open.

    Digits need not be a valid date: 31 June is after the 30th.
    """
    bounds = {}
    if low:
        value, side = _nearest(low)
        bounds["gt" if side < 0 else "gte"] = value
    if high:
        value, side = _nearest(high)
        bounds["lt" if side > 0 else "lte"] = value
    return {"range": {field: bounds | {"format": _DIGITS_FORMAT}}}


def _nearest(digits: str) -> tuple[str, int]:
    """Return the nearest valid date, and whether it is before (-1), equal (0) or after (1)."""
    if not _TIMESTAMP.fullmatch(digits):
        raise QueryError.translated(
            "%(digits)s is not a timestamp; expected 14 digits", digits=repr(digits[:40])
        )
    parts = [int(digits[:4]), *(int(digits[i : i + 2]) for i in range(4, 14, 2))]
    for place in range(1, 6):
        if not _LOWEST[place] <= parts[place] <= _highest(parts, place):
            late = parts[place] > _highest(parts, place)
            for rest in range(place, 6):
                parts[rest] = _highest(parts, rest) if late else _LOWEST[rest]
            return "{:04}{:02}{:02}{:02}{:02}{:02}".format(*parts), -1 if late else 1
    return digits, 0


def _highest(parts: list[int], place: int) -> int:
    """Return the highest value of a part of a date whose preceding parts are valid."""
    if place == 2:
        return calendar.monthrange(max(parts[0], 1), parts[1])[1]
    return _HIGHEST[place]


def own_query(one: DateCondition) -> Query:
    """Return the query of documents whose own capture meets a condition."""
    parts: list[Query] = []
    if one.spans is not None:
        parts.append(any_of(digits_range("crawl_date", *span) for span in one.spans))
    if one.collections:
        parts.append({"terms": {"collection": list(one.collections)}})
    return {"bool": {"filter": parts}}


def seen_query(one: DateCondition, among: Query) -> Query:
    """Return the query of the dates entries in `among` that meet a condition."""
    return {"bool": {"filter": [among, dates_query(one)]}}


def dates_query(one: DateCondition) -> Query:
    """Return the query of dates entries that meet a condition."""
    spans = (("", ""),) if one.spans is None else one.spans
    if not one.collections:
        return any_of(digits_range("dates", *span) for span in spans)
    return any_of(
        {"range": {"seen": {"gte": f"{name}/{low or '0'}", "lte": f"{name}/{high or '9' * 14}"}}}
        for name in one.collections
        for low, high in spans
    )


def any_of(queries: Iterable[Query]) -> Query:
    """Return the query that matches any of several queries."""
    parts = list(queries)
    if not parts:
        return NOTHING
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}

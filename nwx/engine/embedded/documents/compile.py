"""From the query tree to tantivy's queries: pure functions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tantivy import FieldType, Occur, Query

from nwx import mappings
from nwx.engine.embedded.documents.analyzer import fold, tokens
from nwx.engine.embedded.documents.near import is_plain
from nwx.engine.embedded.documents.patterns import between_query, pattern_pieces, wildcard_query
from nwx.engine.embedded.documents.tantivy_index import FIELDS, WORDS, field_kinds, schema
from nwx.engine.embedded.documents.terms import Terms
from nwx.errors import QueryError, TimestampError
from nwx.model import IndexName
from nwx.query.dates import date_span
from nwx.query.tree import (
    DEFAULT_FIELDS,
    All,
    Bool,
    Boost,
    DateRange,
    Fuzzy,
    Node,
    Phrase,
    Range,
    Term,
    Wildcard,
)

Dated = Callable[[DateRange], Query]
"""What compiles a date range."""

Near = Callable[[str, Sequence[str], int], Query]
"""What gives the query of words near each other in a field."""


@dataclass(frozen=True, slots=True)
class Known:
    """What only the archive knows: documents of date ranges, its terms, and its texts."""

    dated: Dated
    terms: Terms
    near: Near
    scored: bool = True
    """False where it is asked which documents match, and not how well."""


Leaf = Term | Phrase | Wildcard | Fuzzy | Range

_LIMITS = {"integer": 2**31, "long": 2**63}
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def compile_node(node: Node, known: Known) -> Query:
    """Return the query of a tree; `known` tells what only the archive knows.

    Raises QueryError for fields that there are not, or that cannot be
    searched, and for values that do not fit their field.
    """
    match node:
        case All():
            return Query.const_score_query(Query.all_query(), 1.0)
        case DateRange():
            return known.dated(node)
        case Boost():
            return _boost(node, known)
        case Bool():
            return _bool(node, known)
    if node.field:
        return _leaf(node, node.field, known)
    if not known.scored and (query := _anywhere(node, known)):
        return query
    return Query.disjunction_max_query(
        [_boosted(_leaf(node, name, known), weight) for name, weight in DEFAULT_FIELDS.items()]
    )


def _anywhere(node: Leaf, known: Known) -> Query | None:
    """Return the query of a word in any default field, None where it takes their phrases."""
    if isinstance(node, Wildcard) and set(node.pattern) != {"*"}:
        return _wildcard(node, WORDS, "text", known)
    if isinstance(node, Term | Phrase | Fuzzy):
        words = tokens(node.text)
        if len(words) == 1:
            if isinstance(node, Fuzzy):
                return Query.fuzzy_term_query(schema(), WORDS, words[0], node.distance)
            return Query.term_query(schema(), WORDS, words[0], "basic")
    return None


def has_scores(node: Node) -> bool:
    """Tell whether documents of a query may have different scores."""
    match node:
        case All() | DateRange() | Range():
            return False
        case Boost():
            return has_scores(node.node)
        case Bool():
            return bool(node.should) or any(map(has_scores, node.must))
        case Wildcard() if node.field:
            return False
    return not node.field or field_kind(node.field) == "text"


def field_kind(field: str) -> str:
    """Return the type of a field of documents; raises QueryError where it cannot be searched."""
    if field not in mappings.properties(IndexName.DOCUMENTS):
        raise QueryError(f"there is no field {field!r}")
    if field not in field_kinds():
        raise QueryError(f"the field {field!r} is kept, but cannot be searched")
    return field_kinds()[field]


def number_value(text: str, field: str, kind: str) -> int:
    """Return a number as its field has it."""
    if not _INTEGER.fullmatch(text.strip()) or abs(int(text)) >= _LIMITS[kind]:
        raise QueryError(f"the field {field!r} holds numbers, {text[:40]!r} is none")
    return int(text)


def values_query(field: str, values: tuple[str, ...]) -> Query:
    """Return the query of documents with one of these values."""
    kind = field_kind(field)
    found = [number_value(value, field, kind) if kind in _LIMITS else value for value in values]
    return Query.const_score_query(Query.term_set_query(schema(), field, found), 0.0)


def all_of(queries: list[Query]) -> Query:
    """Return the query of documents that all of these find."""
    return queries[0] if len(queries) == 1 else Query.boolean_query(_each(Occur.Must, queries))


def _boost(node: Boost, known: Known) -> Query:
    if node.factor < 0:
        raise QueryError(f"a boost cannot be below 0: {node.factor:g}")
    return _boosted(compile_node(node.node, known), node.factor)


def _boosted(query: Query, factor: float) -> Query:
    return query if factor == 1 else Query.boost_query(query, factor)


def _bool(node: Bool, known: Known) -> Query:
    must = [compile_node(part, known) for part in node.must]
    should = [compile_node(part, known) for part in node.should]
    must_not = [compile_node(part, known) for part in node.must_not]
    if not must and not should:
        must = [compile_node(All(), known)]
    return Query.boolean_query(
        _each(Occur.Must, must) + _each(Occur.Should, should) + _each(Occur.MustNot, must_not)
    )


def _each(occur: Occur, queries: list[Query]) -> list[tuple[Occur, Query]]:
    return [(occur, query) for query in queries]


def _leaf(node: Leaf, field: str, known: Known) -> Query:
    kind = field_kind(field)
    if isinstance(node, Wildcard) and set(node.pattern) == {"*"}:
        return _constant(Query.term_query(schema(), FIELDS, field, "basic"))
    if kind == "date":
        return _date(node, field)
    match node:
        case Wildcard():
            return _wildcard(node, field, kind, known)
        case Fuzzy():
            return _fuzzy(node, field, kind)
        case Range():
            return _range(node, field, kind, known)
    if kind == "text":
        return _words(node, field, known)
    value = number_value(node.text, field, kind) if kind in _LIMITS else node.text
    return _constant(Query.term_query(schema(), field, value, "basic"))


def _constant(query: Query) -> Query:
    return Query.const_score_query(query, 1.0)


def _words(node: Term | Phrase, field: str, known: Known) -> Query:
    found = tokens(node.text)
    if not found:
        return Query.empty_query()
    if len(found) == 1:
        return Query.term_query(schema(), field, found[0])
    slop = node.slop if isinstance(node, Phrase) else 0
    if is_plain(found, slop):
        return Query.phrase_query(schema(), field, list(found), slop)
    return known.near(field, found, slop)


def _wildcard(node: Wildcard, field: str, kind: str, known: Known) -> Query:
    if kind in _LIMITS:
        raise QueryError(f"the field {field!r} holds numbers; ask for ranges, not for patterns")
    pieces = list(pattern_pieces(node.pattern))
    if kind == "text":
        pieces = [fold(piece) for piece in pieces]
    return _constant(wildcard_query(field, pieces, known.terms))


def _fuzzy(node: Fuzzy, field: str, kind: str) -> Query:
    if kind in _LIMITS:
        raise QueryError(f"the field {field!r} holds numbers; ask for ranges, not for likeness")
    words = tokens(node.text) if kind == "text" else [node.text]
    if not words:
        return Query.empty_query()
    return all_of([Query.fuzzy_term_query(schema(), field, word, node.distance) for word in words])


def _range(node: Range, field: str, kind: str, known: Known) -> Query:
    low, high = node.low, node.high
    if low is None and high is None:
        return _leaf(Wildcard(field, "*"), field, known)
    included = (node.include_low, node.include_high)
    if kind in _LIMITS:
        bounds = [None if one is None else number_value(one, field, kind) for one in (low, high)]
        return _number_range(field, (bounds[0], bounds[1]), included)
    if kind == "text":
        low, high = (None if one is None else fold(one) for one in (low, high))
    return _constant(between_query(field, low, high, included, known.terms))


def _number_range(
    field: str, bounds: tuple[int | None, int | None], included: tuple[bool, bool] = (True, True)
) -> Query:
    low, high = bounds
    # An open end counts as included.
    include_low, include_high = low is None or included[0], high is None or included[1]
    return _constant(
        Query.range_query(schema(), field, FieldType.Integer, low, high, include_low, include_high)
    )


def _date(node: Leaf, field: str) -> Query:
    """Return the query of the document's own date, from dates as people write them."""
    match node:
        case Term() | Phrase():
            return _number_range(field, _moments(node.text))
        case Range():
            low = None if node.low is None else _moments(node.low)[not node.include_low]
            high = None if node.high is None else _moments(node.high)[node.include_high]
            return _number_range(field, (low, high), (node.include_low, node.include_high))
    raise QueryError(f"the field {field!r} holds dates; ask for a date or a range of dates")


def _moments(text: str) -> tuple[int, int]:
    try:
        low, high = date_span(text)
    except TimestampError as error:
        raise QueryError(str(error)) from error
    return int(low), int(high)

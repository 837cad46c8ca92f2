"""Compiles query trees to tantivy queries, including patterns and ranges of terms."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tantivy import FieldType, Occur, Query

from nwx.data_classes import dataclass
from nwx.engine.analyzer import fold, query_tokens
from nwx.engine.embedded.documents.tantivy_index import (
    DOCUMENT_FIELDS,
    WORDS,
    enriched_term,
    schema,
)
from nwx.engine.embedded.documents.word_sets import Terms, is_plain
from nwx.mappings import enriched_fields
from nwx.query.fields import CAPTURE_FIELDS, JOINED_FIELDS
from nwx.query.rankings import DEFAULT
from nwx.query.tree import (
    BELOW_PAGES,
    KEYWORD,
    NUMBERS,
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
from nwx.query.words import matcher, pattern_pieces

# A plain dot does not match a newline.
_ANY = r"(.|\n)"
_ANYTHING = _ANY + "*"
_WILD = {"*": _ANYTHING, "?": _ANY}
_NESTED = 40
_SIGN = re.compile(r"[!-/:-@\[-`{-~]")


@dataclass(frozen=True, slots=True)
class Known:
    """Queries that need data of the archive.

    `joined` returns the documents that meet a date range or a leaf of one of JOINED_FIELDS, `near`
    the documents with words near each other in a field, and `own_shown` the documents of a query on
    CAPTURE_FIELDS whose own capture is not hidden.
    """

    joined: Callable[[DateRange | Leaf], Query]
    near: Callable[[str, Sequence[str], int], Query]
    own_shown: Callable[[Query], Query]
    terms: Terms
    weights: Mapping[str, float] = field(default_factory=lambda: DEFAULT.fields)
    scored: bool = True
    """False if scores are not needed."""


def compile_node(node: Node, known: Known) -> Query:
    """Return the query of a tree; `known` has the queries that need data of the archive.

    The tree must be resolved (`nwx.query.tree.resolve_tree`).
    """
    match node:
        case All():
            return Query.const_score_query(Query.all_query(), 1.0)
        case DateRange():
            return known.joined(node)
        case Boost():
            return _boost(node, known)
        case Bool():
            return _bool(node, known)
    if node.field in JOINED_FIELDS:
        return known.joined(node)
    if node.field in CAPTURE_FIELDS:
        return known.own_shown(_leaf(node, node.field, known))
    if node.field:
        return _leaf(node, node.field, known)
    if not known.scored and (query := _anywhere(node, known)):
        return query
    return Query.disjunction_max_query(
        [boosted(_leaf(node, name, known), weight) for name, weight in known.weights.items()]
    )


def _anywhere(node: Leaf, known: Known) -> Query | None:
    """Return an unscored query for a word or pattern in any default field, None for others."""
    if isinstance(node, Wildcard) and not is_any(node):
        return _wildcard(node, WORDS, "text", known)
    if isinstance(node, Term | Phrase | Fuzzy):
        words = query_tokens(node.text)
        if len(words) == 1:
            if isinstance(node, Fuzzy):
                return Query.fuzzy_term_query(schema(), WORDS, words[0], node.distance)
            return any_field_query(words[0])
    return None


def any_field_query(word: str) -> Query:
    """Return an unscored query for a word in any default field."""
    return Query.term_query(schema(), WORDS, word, "basic")


def below_pages_query(terms: Terms) -> Query:
    """Return the query for documents that rank below pages."""
    nothing = Query.empty_query()
    known = Known(lambda _: nothing, lambda *_: nothing, lambda one: one, terms)
    return compile_node(BELOW_PAGES, known)


def values_query(field: str, values: tuple[str, ...]) -> Query:
    """Return the query for documents with one of these values."""
    numbers = field_type(field) in NUMBERS
    found = [int(value) if numbers else value for value in values]
    if field in enriched_fields(searched=True):
        found = [enriched_term(field, value) for value in values]
        field = DOCUMENT_FIELDS
    return Query.const_score_query(Query.term_set_query(schema(), field, found), 0.0)


def all_of(queries: list[Query]) -> Query:
    """Return the conjunction of queries."""
    return queries[0] if len(queries) == 1 else Query.boolean_query(_each(Occur.Must, queries))


def _boost(node: Boost, known: Known) -> Query:
    return boosted(compile_node(node.node, known), node.factor)


def boosted(query: Query, factor: float) -> Query:
    """Return a query with its scores multiplied by a factor."""
    return query if factor == 1 else Query.boost_query(query, factor)


def _bool(node: Bool, known: Known) -> Query:
    must = [compile_node(part, known) for part in node.must]
    should = [compile_node(part, known) for part in node.should]
    must_not = [compile_node(part, known) for part in node.must_not]
    if not must and not should:
        must = [compile_node(All(), known)]
    parts = _each(Occur.Must, must) + _each(Occur.Should, should) + _each(Occur.MustNot, must_not)
    if node.least > 1 and not must:
        return Query.boolean_query(parts, node.least)
    return Query.boolean_query(parts)


def _each(occur: Occur, queries: list[Query]) -> list[tuple[Occur, Query]]:
    return [(occur, query) for query in queries]


def _leaf(node: Leaf, field: str, known: Known) -> Query:
    kind = KEYWORD if field == DOCUMENT_FIELDS else field_type(field)
    if field != DOCUMENT_FIELDS and is_any(node):
        return _constant(Query.term_query(schema(), DOCUMENT_FIELDS, field, "basic"))
    if field in enriched_fields(searched=True):
        return _leaf(_as_term(node, field), DOCUMENT_FIELDS, known)
    match node:
        case ValueSpan():
            return _constant(_span_query(node))
        case Wildcard():
            return _wildcard(node, field, kind, known)
        case Fuzzy():
            return _fuzzy(node, field, kind)
        case Range():
            return _range(node, field, known)
    if kind == TEXT:
        return _words(node, field, known)
    return _constant(Query.term_query(schema(), field, node.text, "basic"))


def _as_term(node: Leaf, field: str) -> Leaf:
    """Return a leaf on a field of enrichers as a leaf on the terms of DOCUMENT_FIELDS."""
    match node:
        case Wildcard():
            return Wildcard(DOCUMENT_FIELDS, enriched_term(field, node.pattern))
        case Fuzzy():
            return Fuzzy(DOCUMENT_FIELDS, enriched_term(field, node.text), node.distance)
        case Range() | ValueSpan():
            low, high = (
                f"{one:014}" if isinstance(one, int) else one for one in (node.low, node.high)
            )
            first = enriched_term(field, low or "")
            # `>` follows `=`, so all values of the field sort before it.
            last = enriched_term(field, high) if high is not None else f"{field}>"
            included = (node.include_low, node.include_high) if isinstance(node, Range) else ()
            return Range(DOCUMENT_FIELDS, first, last, *included)
    return Term(DOCUMENT_FIELDS, enriched_term(field, node.text))


def _constant(query: Query) -> Query:
    return Query.const_score_query(query, 1.0)


def _words(node: Term | Phrase, field: str, known: Known) -> Query:
    found = query_tokens(node.text)
    if not found:
        return Query.empty_query()
    if len(found) == 1:
        return Query.term_query(schema(), field, found[0])
    slop = node.slop if isinstance(node, Phrase) else 0
    if is_plain(found, slop):
        return Query.phrase_query(schema(), field, list(found), slop)
    return known.near(field, found, slop)


def _wildcard(node: Wildcard, field: str, kind: str, known: Known) -> Query:
    pieces = list(pattern_pieces(node.pattern, fold if kind == TEXT else str))
    return _constant(wildcard_query(field, pieces, known.terms))


def _fuzzy(node: Fuzzy, field: str, kind: str) -> Query:
    words = query_tokens(node.text) if kind == TEXT else [node.text]
    if not words:
        return Query.empty_query()
    return all_of([Query.fuzzy_term_query(schema(), field, word, node.distance) for word in words])


def _range(node: Range, field: str, known: Known) -> Query:
    low, high = node.low, node.high
    included = (node.include_low, node.include_high)
    return _constant(between_query(field, low, high, included, known.terms))


def _span_query(span: ValueSpan) -> Query:
    if span.low == span.high and span.low is not None:
        return Query.term_query(schema(), span.field, span.low, "basic")
    return Query.range_query(schema(), span.field, FieldType.Integer, span.low, span.high)


def wildcard_query(field: str, pieces: list[str], terms: Terms) -> Query:
    """Return the query for documents with a term that matches a pattern."""
    expression = "".join(_WILD.get(one) or _literal(one[1:]) for one in pieces)
    begins = pieces[0][1:] if pieces[0] not in _WILD else ""
    if query := _expression_query(field, expression):
        return query
    found = terms.fitting(field, begins, matcher(pieces), tuple(pieces))
    return Query.term_set_query(schema(), field, found)


def between_query(
    field: str, low: str | None, high: str | None, included: tuple[bool, bool], terms: Terms
) -> Query:
    """Return the query for documents with a term between two, in code point order."""
    include_low, include_high = included
    common = _common_beginning(low or "", high or "")
    longest = max(len(low or ""), len(high or "")) - common
    if longest <= _NESTED:
        expression = _between(low, high, include_low, include_high, common)
        if expression is None:
            return Query.empty_query()
        if query := _expression_query(field, expression):
            return query

    def fits(term: str) -> bool:
        if low is not None and (term < low or (term == low and not include_low)):
            return False
        return high is None or term < high or (term == high and include_high)

    found = terms.fitting(field, (low or "")[:common], fits, (low, high, included))
    return Query.term_set_query(schema(), field, found)


def _expression_query(field: str, expression: str) -> Query | None:
    try:
        return Query.regex_query(schema(), field, expression)
    except ValueError:
        return None  # too large


def _literal(text: str) -> str:
    return _SIGN.sub(r"\\\g<0>", text)


def _common_beginning(one: str, other: str) -> int:
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _between(
    low: str | None, high: str | None, include_low: bool, include_high: bool, common: int
) -> str | None:
    """Return the expression for texts between two bounds, None if there are none."""
    if low is None or high is None:
        if high is None:
            return _down_to(low or "", include_low or low is None)
        return _up_to(high, include_high)
    rest = _between_rests(low[common:], high[common:], include_low, include_high)
    return None if rest is None else _literal(low[:common]) + rest


def _between_rests(low: str, high: str, include_low: bool, include_high: bool) -> str | None:
    """Return the expression for texts between two without a common prefix."""
    if not low and not high:
        return "()" if include_low and include_high else None
    if not low:
        return _up_to(high, include_high, empty=include_low)
    if not high or low[0] > high[0]:
        return None
    return _any_of(
        _literal(low[0]) + _down_to(low[1:], include_low),
        _beginning(ord(low[0]) + 1, ord(high[0]) - 1),
        _after(high[0], _up_to(high[1:], include_high)),
    )


def _down_to(low: str, include: bool) -> str:
    """Return the expression for all texts after `low`, and `low` itself if `include`."""
    expression = _ANYTHING if include else _ANY + _ANYTHING
    for character in reversed(low):
        later = _beginning(ord(character) + 1, 0x10FFFF)
        expression = _any_of(_literal(character) + expression, later) or ""
    return expression


def _up_to(high: str, include: bool, *, empty: bool = True) -> str | None:
    """Return the expression for all texts before `high`; with `empty` the empty text too."""
    expression = "()" if include else None
    for place, character in reversed(list(enumerate(high))):
        expression = _any_of(
            _after(character, expression),
            _beginning(0, ord(character) - 1),
            "()" if place or empty else None,
        )
    return expression


def _after(character: str, expression: str | None) -> str | None:
    return None if expression is None else _literal(character) + expression


def _any_of(*expressions: str | None) -> str | None:
    parts = [one for one in expressions if one is not None]
    return f"({'|'.join(parts)})" if parts else None


def _beginning(first: int, last: int) -> str | None:
    """Return the expression for texts that begin with a character in a range, None if empty."""
    first = 0xE000 if 0xD800 <= first <= 0xDFFF else first
    last = 0xD7FF if 0xD800 <= last <= 0xDFFF else last
    if first > last:
        return None
    return f"[{_literal(chr(first))}-{_literal(chr(last))}]{_ANYTHING}"

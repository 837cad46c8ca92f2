"""The parser from Lucene syntax to the query tree.

All words must match. Input not meant as syntax (URLs, times, hyphens) is text: see `escapes`.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from luqum import tree as lucene
from luqum.exceptions import ParseError

from nwx.errors import DigestError, ErrorText, QueryError, TimestampError, UrlError
from nwx.query.cost import check_cost
from nwx.query.escapes import (
    MAX_DEPTH,
    UNQUOTED_WILDCARD,
    EscapedQuery,
    escape,
    has_wildcard,
    plain_words,
    unescaped,
    wildcard_pattern,
    with_address,
)
from nwx.query.fields import QueryFieldKind, kind, normal_value, resolve_field, suggestion
from nwx.query.tree import All, Bool, Boost, DateRange, Fuzzy, Node, Phrase, Range, Term, Wildcard
from nwx.values.digests import normal_digest
from nwx.values.timestamps import REVERSED_RANGE, date_span
from nwx.values.urlkeys import urlkey
from nwx.values.urls import address_words

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Scripts written without spaces, of which the standard tokenizer keeps whole runs.
_UNBROKEN = re.compile(
    "([\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f]+)"
)
_PLACE = re.compile(r"at position (\d+)")
_SIGN = re.compile(r"\w{1,40}|&&|\|\||.?", re.DOTALL)
_SIGNS = ("Sm", "Sc", "Sk")
_MAX_SLOP = 100
_MAX_BOOST = 1_000.0
_WEIGHT, _DISTANCE = ErrorText("weight"), ErrorText("distance")
_EVERYTHING = ("", "*", "*:*")
_TIMESTAMP = "%Y%m%d%H%M%S"


def parse_query(query: str) -> Node:
    """Return the tree of a query; an empty query matches every document.

    Raises QueryError on a syntax error, with its position, and on a query that costs too much.
    """
    if query.strip() in _EVERYTHING:
        return All()
    _check_text(query)
    node = _all_words(query) or _by_grammar(query)
    check_cost(node)
    return node


def _all_words(query: str) -> Node | None:
    """Return the tree of a few plain words, which need no grammar, else None."""
    reader = _Reader(query, EscapedQuery())
    words = [reader.word(word) for word in plain_words(query)]
    return _and(words) if words else None


def _by_grammar(query: str) -> Node:
    # Imported here: importing builds the lexer, which plain words do not need.
    from luqum.thread import parse as parse_lucene

    tamed = escape(query)
    if not tamed.text.strip():
        return All()
    try:
        parsed = parse_lucene(tamed.text)
    except ParseError as error:
        raise _syntax_error(query, tamed, str(error)) from error
    return _Reader(query, tamed).node(parsed, "", 0)


def _no_field(name: str, hint: str | None) -> ErrorText:
    if not hint:
        return ErrorText(
            "%(name)s is not a field; put text with a colon in quotation marks", name=name
        )
    return ErrorText("%(name)s is not a field; did you mean %(hint)s?", name=name, hint=repr(hint))


def _check_text(query: str) -> None:
    try:
        query.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = query.encode("utf-8", "replace").decode()
        raise QueryError(
            ErrorText("the query is not valid UTF-8 here; check the encoding of the terminal"),
            shown,
            error.start,
        ) from error


def _syntax_error(query: str, tamed: EscapedQuery, message: str) -> QueryError:
    found = _PLACE.search(message)
    place = tamed.place(int(found[1])) if found else None
    if place is None:
        missing = ErrorText("something is missing at the end of the query")
        return QueryError(missing, query, len(query))
    sign = repr(_SIGN.findall(query, place)[0])
    return QueryError(ErrorText("%(sign)s is not expected here", sign=sign), query, place)


class _Reader:
    """Converts a luqum tree to a query tree; `field` is the field in effect."""

    def __init__(self, query: str, tamed: EscapedQuery) -> None:
        self._query = query
        self._tamed = tamed

    def word(self, word: str) -> Node:
        """Return the node of a word without special characters, in the default fields."""
        return self._exact(None, word, "")

    def node(self, found: Any, field: str, depth: int) -> Node:
        if depth > 4 * MAX_DEPTH:
            raise QueryError(ErrorText("the query is nested too deep"), self._query)
        match found:
            case lucene.Word() | lucene.Phrase() | lucene.Range() | lucene.From() | lucene.To():
                return self._leaf(found, field)
            case lucene.Fuzzy():
                return self._fuzzy(found, field)
            case lucene.Proximity():
                return self._proximity(found, field)
            case lucene.BaseGroup() | lucene.Plus():
                return self.node(found.children[0], field, depth + 1)
            case lucene.Boost():
                factor = self._number(found, float(found.force), _MAX_BOOST, _WEIGHT)
                return Boost(self.node(found.expr, field, depth + 1), factor)
            case lucene.SearchField():
                return self.node(found.expr, self._field(found, field), depth + 1)
            case lucene.Not() | lucene.Prohibit():
                return Bool(must_not=(self.node(found.a, field, depth + 1),))
            case lucene.OrOperation():
                return _or([self.node(one, field, depth + 1) for one in found.children])
            case lucene.BaseOperation():
                return _and([self.node(one, field, depth + 1) for one in found.children])
            case _:
                raise self._error(
                    ErrorText("%(asked)s is not supported", asked=repr(str(found).strip())), found
                )

    def _field(self, found: Any, outer: str) -> str:
        if found.name == "*":
            return ""
        field = resolve_field(found.name)
        if field is None:
            hint = suggestion(found.name)
            raise self._error(_no_field(repr(found.name), hint), found)
        if outer:
            raise self._error(
                ErrorText("a field within %(outer)s cannot be searched", outer=repr(outer)), found
            )
        return field

    def _leaf(self, found: Any, field: str) -> Node:
        if isinstance(found, lucene.Word):
            word = str(found.value)
            if field != "date":
                return self._word(found, word, field)
            low, between, high = unescaped(word).partition("..")
            return self._dates(found, low, high if between else low, True, True)
        if isinstance(found, lucene.Phrase):
            text = unescaped(found.value[1:-1])
            if field == "date":
                return self._dates(found, text, text, True, True)
            return self._exact(found, text, field)
        return self._range(found, field)

    def _word(self, found: Any, word: str, field: str) -> Node:
        if not field and _ADDRESS.match(unescaped(word)):
            # Like the look-up of captures by URL: any scheme, with and without www.
            field = "url" if has_wildcard(word.removesuffix("*")) else "urlkey"
        if word == "?" and kind(field) is QueryFieldKind.TEXT:
            return All()  # a question mark after a space, as in French
        if word == "*":
            return Wildcard(field, "*") if field else All()
        if has_wildcard(word):
            if kind(field) in (QueryFieldKind.NUMBER, QueryFieldKind.DATE):
                raise self._error(
                    ErrorText(
                        "%(field)s allows no wildcards; use a range [LOW TO HIGH]", field=field
                    ),
                    found,
                )
            field, pattern = with_address(field, wildcard_pattern(word))
            pattern = normal_value(field, pattern, is_pattern=True)
            return Wildcard(field, self._key_pattern(found, field, pattern))
        return self._exact(found, unescaped(word), field)

    def _exact(self, found: Any, text: str, field: str) -> Node:
        """Return the node of a text without wildcards."""
        field, text = with_address(field, text)
        text = normal_value(field, text)
        match kind(field):
            case QueryFieldKind.TEXT:
                if _is_punctuation(text):
                    return All()
                if field in ("", "url_text") and (words := address_words(text)):
                    return _or([Term(field, text), Phrase("url_text", words)])
                if _UNBROKEN.search(text) and not re.search(r"\s", text):
                    return _and(list(_runs(field, text)))
                return Phrase(field, text) if re.search(r"\s", text) else Term(field, text)
            case QueryFieldKind.NUMBER:
                return Term(field, self._whole_number(found, field, text))
            case QueryFieldKind.DATE:
                low, high = self._span(found, text)
                return Range(field, low, high)
            case _ if field == "digest":
                return Term(field, self._digest(found, text))
            case _ if field == "urlkey" and _ADDRESS.match(text):
                return Term(field, self._urlkey(found, text))
            case _:
                return Term(field, text)

    def _range(self, found: Any, field: str) -> Node:
        low, high, include_low, include_high = ends = _ends(found)
        if field == "date":
            return self._dates(found, *ends)
        if not field:
            raise self._error(ErrorText("a range needs a field: size:[1000 TO 2000]"), found)
        match kind(field):
            case QueryFieldKind.TEXT:
                raise self._error(
                    ErrorText("%(field)s is text and has no ranges", field=field), found
                )
            case QueryFieldKind.NUMBER:
                low = low and self._whole_number(found, field, low)
                high = high and self._whole_number(found, field, high)
                if low and high and int(low) > int(high):
                    raise self._error(REVERSED_RANGE, found)
            case QueryFieldKind.DATE:
                return Range(field, *self._ends_of_span(found, *ends))
        return Range(field, low, high, include_low, include_high)

    def _dates(self, found: Any, *ends: Any) -> Node:
        first, last = self._ends_of_span(found, *ends)
        return DateRange(first or "", last or "")

    def _ends_of_span(
        self, found: Any, low: str | None, high: str | None, include_low: bool, include_high: bool
    ) -> tuple[str | None, str | None]:
        """Return the first and last timestamp of a span; None means open."""
        first = last = None
        if low:
            span = self._span(found, low)
            first = span[0] if include_low else self._moved(found, span[1], 1)
        if high:
            span = self._span(found, high)
            last = span[1] if include_high else self._moved(found, span[0], -1)
            if low and self._span(found, low)[0] > span[1]:
                raise self._error(REVERSED_RANGE, found)
        return first, last

    def _span(self, found: Any, text: str) -> tuple[str, str]:
        try:
            return date_span(text)
        except TimestampError as error:
            raise self._error(error.text, found) from error

    def _moved(self, found: Any, timestamp: str, seconds: int) -> str:
        try:
            moved = datetime.strptime(timestamp, _TIMESTAMP) + timedelta(seconds=seconds)
        except (OverflowError, ValueError) as error:
            raise self._error(
                ErrorText("%(timestamp)s is out of range", timestamp=timestamp), found
            ) from error
        return f"{moved:%Y%m%d%H%M%S}".rjust(14, "0")

    def _whole_number(self, found: Any, field: str, text: str) -> str:
        if not re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
            raise self._error(
                ErrorText("%(field)s is a number, %(text)s is not", field=field, text=repr(text)),
                found,
            )
        return str(int(text))

    def _digest(self, found: Any, text: str) -> str:
        try:
            return normal_digest(text)
        except DigestError as error:
            raise self._error(error.text, found) from error

    def _urlkey(self, found: Any, url: str) -> str:
        try:
            return urlkey(url)
        except UrlError as error:
            raise self._error(error.text, found) from error

    def _key_pattern(self, found: Any, field: str, pattern: str) -> str:
        """Return the urlkey pattern of a URL pattern that ends in `*`; other patterns unchanged."""
        begin = pattern.removesuffix("*")
        if field != "urlkey" or not _ADDRESS.match(begin) or UNQUOTED_WILDCARD.search(begin):
            return pattern
        key = self._urlkey(found, begin)
        slash = "/" if begin.endswith("/") and not key.endswith("/") else ""
        return f"{key}{slash}*"

    def _fuzzy(self, found: Any, field: str) -> Node:
        if field == "date" or kind(field) in (QueryFieldKind.NUMBER, QueryFieldKind.DATE):
            raise self._error(
                ErrorText("%(field)s allows no ~; use a range [LOW TO HIGH]", field=field), found
            )
        # Below 1, it is a similarity as in old Lucene, treated as 2 edits.
        degree = float(found.degree)
        distance = 2 if 0 < degree < 1 else int(degree)
        word = normal_value(field, unescaped(str(found.term.value)))
        return Fuzzy(field, word, int(self._number(found, distance, 2, _DISTANCE, least=0)))

    def _proximity(self, found: Any, field: str) -> Node:
        if field == "date" or kind(field) is not QueryFieldKind.TEXT:
            raise self._error(
                ErrorText("%(field)s is not text; proximity (~) needs text", field=field), found
            )
        slop = self._number(found, int(found.degree), _MAX_SLOP, _DISTANCE, least=0)
        text = normal_value(field, unescaped(found.term.value[1:-1]))
        return Phrase(field, text, int(slop))

    def _number(
        self, found: Any, number: float, most: float, what: ErrorText, least: float = 0.001
    ) -> float:
        if not least <= number <= most:
            limits = {"number": number, "what": what, "least": least, "most": most}
            wrong = ErrorText("invalid %(what)s %(number)s; use %(least)s to %(most)s", **limits)
            raise self._error(wrong, found)
        return number

    def _error(self, message: str | ErrorText, found: Any) -> QueryError:
        place = self._tamed.place(found.pos) if found.pos is not None else None
        return QueryError(message, self._query, place)


def _runs(field: str, text: str) -> Iterator[Node]:
    """Yield the nodes of a word in a script without spaces: its runs match inside words."""
    for place, piece in enumerate(_UNBROKEN.split(text)):
        if place % 2:
            yield Wildcard(field, f"*{piece}*")
        elif not _is_punctuation(piece):
            yield Term(field, piece)


def _or(nodes: list[Node]) -> Node:
    some = [node for node in nodes if not isinstance(node, All)]
    if len(some) <= 1:
        return next(iter(some), All())
    return Bool(should=tuple(some))


def _and(nodes: list[Node]) -> Node:
    """Return the conjunction of nodes; pure negations are merged into its `must_not`."""
    must: list[Node] = []
    must_not: list[Node] = []
    for node in nodes:
        if isinstance(node, Bool) and not node.must and not node.should:
            must_not += node.must_not
        elif not isinstance(node, All):
            must.append(node)
    if not must and not must_not:
        return All()
    if len(must) == 1 and not must_not:
        return must[0]
    return Bool(must=tuple(must), must_not=tuple(must_not))


def _is_punctuation(text: str) -> bool:
    """Return whether a text has only punctuation; such a word is ignored."""
    return all(
        char.isspace()
        or unicodedata.category(char)[0] == "P"
        or unicodedata.category(char) in _SIGNS
        for char in text
    )


def _ends(found: Any) -> tuple[str | None, str | None, bool, bool]:
    """Return low, high and whether each is inclusive; None means open."""
    if isinstance(found, lucene.From):
        return _end(found.a), None, bool(found.include), True
    if isinstance(found, lucene.To):
        return None, _end(found.a), True, bool(found.include)
    return _end(found.low), _end(found.high), bool(found.include_low), bool(found.include_high)


def _end(found: Any) -> str | None:
    text = str(found).strip()
    if text == "*":
        return None
    return unescaped(text[1:-1] if text.startswith('"') else text)

"""Terms that follow a pattern or lie in a range, as queries of tantivy.

tantivy looks terms up by regular expressions, which are limited in size
(1,000 states): for larger ones the terms of the same beginning are looked at,
up to a number that bounds the work of a question.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from tantivy import Query

from nwx.engine.embedded.documents.tantivy_index import schema
from nwx.engine.embedded.documents.terms import Terms

# A plain dot would leave out the newline.
_ANY = r"(.|\n)"
_ANYTHING = _ANY + "*"
_WILD = {"*": _ANYTHING, "?": _ANY}
_NESTED = 40
_PATTERN_PIECE = re.compile(r"\\.|[*?]|[^\\*?]+|\\", re.DOTALL)
_SIGN = re.compile(r"[!-/:-@\[-`{-~]")


def wildcard_query(field: str, pieces: list[str], terms: Terms) -> Query:
    """Return the query of documents with a term that follows a pattern."""
    expression = "".join(_WILD.get(one) or _literal(one[1:]) for one in pieces)
    begins = pieces[0][1:] if pieces[0] not in _WILD else ""
    if query := _expression_query(field, expression):
        return query
    found = terms.fitting(field, begins, matcher(pieces), tuple(pieces))
    return Query.term_set_query(schema(), field, found)


def between_query(
    field: str, low: str | None, high: str | None, included: tuple[bool, bool], terms: Terms
) -> Query:
    """Return the query of documents with a term between two, in the order of code points."""
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


def pattern_pieces(pattern: str) -> Iterator[str]:
    """Give the parts of a wildcard pattern: `*`, `?`, and literal text after an `=`."""
    plain = ""
    for piece in _PATTERN_PIECE.findall(pattern):
        if piece in _WILD:
            if plain:
                yield "=" + plain
            plain = ""
            yield piece
        else:
            plain += piece[1:] if piece[0] == "\\" and len(piece) == 2 else piece
    if plain:
        yield "=" + plain


def matcher(*patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return what tells whether a text follows one of some patterns.

    That takes time that grows with the text only.
    """
    # Imported here: few queries have patterns that tantivy cannot take.
    import re2

    options = re2.Options()
    options.dot_nl = True
    options.never_capture = True
    fullmatch = re2.compile("|".join(map(_plain_expression, patterns)), options).fullmatch
    return lambda text: fullmatch(text) is not None


def _plain_expression(pieces: Iterable[str]) -> str:
    import re2

    wild = {"*": ".*", "?": "."}
    return "".join(wild.get(one) or re2.escape(one[1:]) for one in pieces)


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
    """Return the expression of the texts between two, None where there are none."""
    if low is None or high is None:
        if high is None:
            return _from(low or "", include_low or low is None)
        return _up_to(high, include_high)
    rest = _between_rests(low[common:], high[common:], include_low, include_high)
    return None if rest is None else _literal(low[:common]) + rest


def _between_rests(low: str, high: str, include_low: bool, include_high: bool) -> str | None:
    """Return the expression between two texts that do not begin alike."""
    if not low and not high:
        return "()" if include_low and include_high else None
    if not low:
        return _up_to(high, include_high, empty=include_low)
    if not high or low[0] > high[0]:
        return None
    return _any_of(
        _literal(low[0]) + _from(low[1:], include_low),
        _beginning(ord(low[0]) + 1, ord(high[0]) - 1),
        _after(high[0], _up_to(high[1:], include_high)),
    )


def _from(low: str, include: bool) -> str:
    """Return the expression of a text and all after it."""
    expression = _ANYTHING if include else _ANY + _ANYTHING
    for character in reversed(low):
        later = _beginning(ord(character) + 1, 0x10FFFF)
        expression = _any_of(_literal(character) + expression, later) or ""
    return expression


def _up_to(high: str, include: bool, *, empty: bool = True) -> str | None:
    """Return the expression of all texts before one; without `empty` the empty one is none."""
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
    """Return the expression of texts that begin with one of these characters, if there are any."""
    first = 0xE000 if 0xD800 <= first <= 0xDFFF else first
    last = 0xD7FF if 0xD800 <= last <= 0xDFFF else last
    if first > last:
        return None
    return f"[{_literal(chr(first))}-{_literal(chr(last))}]{_ANYTHING}"

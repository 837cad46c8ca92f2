"""A tree written in Lucene syntax and parsed again is unchanged."""

import re
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from nwx.query.cost import MAX_COST, cost
from nwx.query.escapes import with_address
from nwx.query.parser import parse_query
from nwx.query.tree import Bool, Boost, DateRange, Fuzzy, Node, Phrase, Range, Term, Wildcard

_NOT_PLAIN = re.compile(r"[^a-z0-9]")
_PATTERN_PIECE = re.compile(r"\\.|.", re.DOTALL)


def written(node: Node) -> str:
    """Return a tree in Lucene syntax."""
    match node:
        case Bool(must, should, must_not):
            if should:
                return f"({' OR '.join(map(written, should))})"
            return f"({' '.join([*map(written, must), *('-' + written(one) for one in must_not)])})"
        case Boost(inner, factor):
            return f"{written(inner)}^{factor:g}"
        case DateRange(low, high):
            return f"date:[{low} TO {high}]"
        case Range(field, low, high, include_low, include_high):
            ends = f"{_end(low)} TO {_end(high)}"
            return f"{field}:{'{['[include_low]}{ends}{'}]'[include_high]}"
    field = f"{node.field}:" if node.field else ""  # type: ignore[union-attr]
    match node:
        case Term(_, text):
            return field + _escaped(text)
        case Fuzzy(_, text, distance):
            return f"{field}{_escaped(text)}~{distance}"
        case Phrase(_, text, slop):
            return f'{field}"{text}"' + (f"~{slop}" if slop else "")
        case Wildcard(_, pattern):
            return field + "".join(
                piece if piece in "*?" else _escaped(piece[-1])
                for piece in _PATTERN_PIECE.findall(pattern)
            )
    raise AssertionError(node)


def _escaped(text: str) -> str:
    return _NOT_PLAIN.sub(lambda found: "\\" + found[0], text)


def _end(text: str | None) -> str:
    return "*" if text is None else f'"{text}"'


def _is_no_address(text: str) -> bool:
    """Return whether a text is searched in default fields, while addresses are in `url`."""
    return "://" not in text


_FIELDS = st.sampled_from(["", "title", "content", "author"])
_WORDS = st.from_regex(r"[a-z0-9éß日:/+!(){}\[\]^~'&|<>=@#%,;.-]{0,5}[a-z日é]", fullmatch=True)
_WORDS = _WORDS.filter(_is_no_address)
_PATTERNS = st.from_regex(r"([a-z]|\\\*|\\\?|[-:/])*[a-z](\*|\?[a-z])[a-z]{0,2}", fullmatch=True)
_PATTERNS = _PATTERNS.filter(_is_no_address)
_NUMBERS = st.integers(-(10**9), 10**9).map(str)
_DATES = st.datetimes(min_value=datetime(1996, 1, 1)).map(lambda moment: f"{moment:%Y%m%d%H%M%S}")
_SIZES = st.tuples(_NUMBERS, _NUMBERS).map(lambda ends: sorted(ends, key=int))
_SPANS = st.one_of(_SIZES, st.tuples(st.none() | _NUMBERS, st.none()), st.just((None, "5")))
_LEAVES = st.one_of(
    st.builds(Term, _FIELDS, _WORDS),
    # A host without a scheme is looked up by its urlkey.
    st.builds(
        Term, st.just("url"), _WORDS.filter(lambda text: with_address("url", text)[0] == "url")
    ),
    st.builds(Term, st.just("status_code"), _NUMBERS),
    st.builds(
        Phrase, _FIELDS, st.from_regex(r"[a-z]+( [a-zé']+){1,3}", fullmatch=True), st.integers(0, 9)
    ),
    st.builds(Wildcard, _FIELDS, _PATTERNS),
    st.builds(Fuzzy, _FIELDS, _WORDS, st.integers(0, 2)),
    st.builds(
        lambda span, *included: Range("content_length", *span, *included),
        _SPANS,
        st.booleans(),
        st.booleans(),
    ),
    st.tuples(_DATES, _DATES).map(lambda ends: DateRange(*sorted(ends))),
)


def _groups(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(nodes, min_size=2, max_size=3).map(tuple)
    some = st.lists(nodes, min_size=1, max_size=2).map(tuple)
    return st.one_of(
        st.builds(Bool, must=several),
        st.builds(Bool, should=several),
        st.builds(Bool, must=some, must_not=some),
        st.builds(Boost, _LEAVES, st.sampled_from([0.5, 2.0, 10.25])),
    )


_TREES = st.recursive(_LEAVES, _groups, max_leaves=8)


@given(_TREES.filter(lambda node: cost(node) <= MAX_COST))
def test_what_is_written_is_read_again(node: Node) -> None:
    assert parse_query(written(node)) == node

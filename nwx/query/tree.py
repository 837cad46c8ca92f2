"""The query tree that every engine compiles, and the values of its leaves by the mapping."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nwx import mappings
from nwx.errors import ErrorText, QueryError, TimestampError
from nwx.model import IndexName
from nwx.query.dates import date_span
from nwx.query.fields import DEFAULT_FIELDS, JOINED_FIELDS


@dataclass(frozen=True, slots=True)
class All:
    """Every document."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or an exact value of a keyword, number or date field."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in this order, with up to `slop` moves between them."""

    field: str
    text: str
    slop: int = 0


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A pattern: `*` is any run of characters, `?` any one, a backslash quotes the next."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """Words within `distance` (0 to 2) edits of `text`."""

    field: str
    text: str
    distance: int = 2


@dataclass(frozen=True, slots=True)
class Range:
    """Values between `low` and `high`; None is open."""

    field: str
    low: str | None
    high: str | None
    include_low: bool = True
    include_high: bool = True


@dataclass(frozen=True, slots=True)
class DateRange:
    """Documents one of whose dates lies in the span: joined from dates.

    Both ends are 14 digits and inclusive; "" is open.
    """

    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Boost:
    """The same documents with their score multiplied."""

    node: "Node"
    factor: float


@dataclass(frozen=True, slots=True)
class Bool:
    """All of `must`, none of `must_not`; of `should` one at least where `must` is empty."""

    must: tuple["Node", ...] = ()
    should: tuple["Node", ...] = ()
    must_not: tuple["Node", ...] = ()


Node = All | Term | Phrase | Wildcard | Fuzzy | Range | DateRange | Boost | Bool


Leaf = Term | Phrase | Wildcard | Fuzzy | Range

TEXT, KEYWORD, DATE = "text", "keyword", "date"
_LIMITS = {"integer": 2**31, "long": 2**63}
NUMBERS = tuple(_LIMITS)
"""The types of fields that hold numbers."""

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{14}", re.ASCII)


@dataclass(frozen=True, slots=True)
class MomentSpan:
    """A span of a document's own date: timestamps of 14 digits, "" where an end is open."""

    low: str
    high: str
    include_low: bool = True
    include_high: bool = True


def check_tree(node: Node) -> None:
    """Raise QueryError for fields that cannot be searched, and values that do not fit theirs."""
    match node:
        case All():
            return
        case DateRange():
            _check_timestamps(node)
        case Boost():
            if node.factor < 0:
                raise QueryError(
                    ErrorText("a boost cannot be below 0: %(factor)s", factor=node.factor)
                )
            check_tree(node.node)
        case Bool():
            for part in (*node.must, *node.should, *node.must_not):
                check_tree(part)
        case _:
            for field in (node.field,) if node.field else DEFAULT_FIELDS:
                _check_leaf(node, field)


def _check_timestamps(node: DateRange) -> None:
    for digits in filter(None, (node.low, node.high)):
        if not _TIMESTAMP.fullmatch(digits):
            raise QueryError(
                ErrorText(
                    "%(digits)s is no timestamp; 14 digits are needed", digits=repr(digits[:40])
                )
            )


def _check_leaf(node: Leaf, field: str) -> None:
    kind = field_type(field)
    if is_any(node):
        return
    if kind == DATE:
        moment_span(node, field)
    elif kind in _LIMITS:
        _check_numbers(node, field)


def _check_numbers(node: Leaf, field: str) -> None:
    match node:
        case Wildcard():
            raise QueryError(
                ErrorText(
                    "the field %(field)s holds numbers; ask for ranges, not for patterns",
                    field=repr(field),
                )
            )
        case Fuzzy():
            raise QueryError(
                ErrorText(
                    "the field %(field)s holds numbers; ask for ranges, not for likeness",
                    field=repr(field),
                )
            )
        case Range():
            for end in (node.low, node.high):
                if end is not None:
                    number_value(end, field)
        case _:
            number_value(node.text, field)


def field_type(field: str) -> str:
    """Return the type of a field; raises QueryError where it cannot be searched."""
    if field in JOINED_FIELDS:
        return JOINED_FIELDS[field]
    properties = mappings.properties(IndexName.DOCUMENTS).get(field)
    if properties is None:
        raise QueryError(ErrorText("there is no field %(field)s", field=repr(field)))
    if properties.get("index") is False:
        raise QueryError(
            ErrorText("the field %(field)s is kept, but cannot be searched", field=repr(field))
        )
    kind: str = properties["type"]
    return kind


def number_value(text: str, field: str) -> int:
    """Return a number as its field has it; raises QueryError for what is none, or too large."""
    if not _INTEGER.fullmatch(text.strip()) or abs(int(text)) >= _LIMITS[field_type(field)]:
        raise QueryError(
            ErrorText(
                "the field %(field)s holds numbers, %(text)s is none",
                field=repr(field),
                text=repr(text[:40]),
            )
        )
    return int(text)


def moment_span(node: Leaf, field: str) -> MomentSpan:
    """Return what a leaf asks of a document's own date, from dates as people write them."""
    match node:
        case Term() | Phrase():
            return MomentSpan(*_date_span(node.text))
        case Range():
            # An end that is left out is left out with all of its day, month or year.
            low = "" if node.low is None else _date_span(node.low)[not node.include_low]
            high = "" if node.high is None else _date_span(node.high)[node.include_high]
            return MomentSpan(low, high, node.include_low, node.include_high)
    raise QueryError(
        ErrorText(
            "the field %(field)s holds dates; ask for a date or a range of dates", field=repr(field)
        )
    )


def _date_span(text: str) -> tuple[str, str]:
    try:
        return date_span(text)
    except TimestampError as error:
        raise QueryError(error.text) from error


def is_any(node: Leaf) -> bool:
    """Tell whether a leaf asks for any value of its field."""
    if isinstance(node, Range):
        return node.low is None and node.high is None
    return isinstance(node, Wildcard) and set(node.pattern) == {"*"}


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
    return not node.field or field_type(node.field) == TEXT


def text_leaves(node: Node) -> Iterator[Term | Phrase | Wildcard | Fuzzy]:
    """Give the leaves that look for words in texts, apart from those ruled out."""
    match node:
        case Boost():
            yield from text_leaves(node.node)
        case Bool():
            for part in (*node.must, *node.should):
                yield from text_leaves(part)
        case Term() | Phrase() | Wildcard() | Fuzzy():
            if not node.field or field_type(node.field) == TEXT:
                yield node


def date_ranges(node: Node) -> Iterator[DateRange]:
    """Give the date ranges of a tree, those ruled out included."""
    match node:
        case DateRange():
            yield node
        case Boost():
            yield from date_ranges(node.node)
        case Bool():
            for part in (*node.must, *node.should, *node.must_not):
                yield from date_ranges(part)

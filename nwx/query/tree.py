"""The query tree that every engine compiles, the values of its leaves, and its inlink parts."""

import re
from collections.abc import Iterator, Sequence

from nwx import mappings
from nwx.data_classes import dataclass
from nwx.errors import QueryError, TimestampError
from nwx.model import IndexName
from nwx.query.fields import ANCHOR, JOINED_FIELDS
from nwx.values.media_types import ARCHIVE, AUDIO, FLASH, IMAGE, POOR_PAGES, SCRIPT, STYLE, VIDEO
from nwx.values.timestamps import date_span
from nwx.values.urls import address_words


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
    """Words in this order, displaced by up to `slop` positions."""

    field: str
    text: str
    slop: int = 0


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A pattern: `*` matches any run of characters, `?` any one, a backslash escapes the next."""

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
    """Values between `low` and `high`; None means open."""

    field: str
    low: str | None
    high: str | None
    include_low: bool = True
    include_high: bool = True


@dataclass(frozen=True, slots=True)
class ValueSpan:
    """Numbers, or dates as 14 digits, from `low` to `high`, both inclusive; None means open.

    Replaces terms, phrases and ranges of number and date fields in a resolved tree.
    """

    field: str
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class DateRange:
    """Documents with a date in the span, joined from the dates index.

    Both ends are 14 digits and inclusive; "" means open.
    """

    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Boost:
    """The documents of a node, with their score multiplied."""

    node: "Node"
    factor: float


@dataclass(frozen=True, slots=True)
class Bool:
    """All of `must`, none of `must_not`, and at least `least` of `should` if `must` is empty."""

    must: tuple["Node", ...] = ()
    should: tuple["Node", ...] = ()
    must_not: tuple["Node", ...] = ()
    least: int = 1


Leaf = Term | Phrase | Wildcard | Fuzzy | Range | ValueSpan
Node = All | DateRange | Boost | Bool | Leaf

_FILE_TYPES = (IMAGE, AUDIO, VIDEO, FLASH, SCRIPT, STYLE, ARCHIVE)
FIRST_REDIRECT = 300
BELOW_PAGES = Bool(
    should=(
        *(Term("content_type_norm", one) for one in _FILE_TYPES),
        *(Term("problems", one) for one in POOR_PAGES),
        ValueSpan("status_code", FIRST_REDIRECT, None),
    )
)
"""A resolved tree of the documents below pages: other files, redirects, errors, POOR_PAGES."""


def is_below_pages(content_type_norm: str, status: int | None, problems: Sequence[str]) -> bool:
    """Return whether BELOW_PAGES matches a document with these fields."""
    is_page = content_type_norm not in _FILE_TYPES and (status or 0) < FIRST_REDIRECT
    return not is_page or any(one in POOR_PAGES for one in problems)


TYPE_GROUPS: dict[str, Node] = {"files": BELOW_PAGES, "pages": Bool(must_not=(BELOW_PAGES,))}
"""Named groups of document types in queries (`type:files`)."""

TEXT, KEYWORD, DATE = "text", "keyword", "date"
_LIMITS = {"integer": 2**31, "long": 2**63}
NUMBERS = tuple(_LIMITS)
"""The types of number fields."""

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{14}", re.ASCII)


def resolve_tree(node: Node) -> Node:
    """Return a tree with the values of its leaves converted to the types of their fields.

    Raises QueryError on fields that cannot be searched and values invalid for their field.
    """
    match node:
        case All() | ValueSpan():
            return node
        case DateRange():
            _check_timestamps(node)
            return node
        case Boost():
            if node.factor < 0:
                raise QueryError.translated(
                    "a boost cannot be below 0: %(factor)s", factor=node.factor
                )
            return Boost(resolve_tree(node.node), node.factor)
        case Bool():
            return Bool(
                tuple(map(resolve_tree, node.must)),
                tuple(map(resolve_tree, node.should)),
                tuple(map(resolve_tree, node.must_not)),
                node.least,
            )
    if node.field == "content_type_norm" and isinstance(node, Term) and node.text in TYPE_GROUPS:
        return TYPE_GROUPS[node.text]
    return _resolved_leaf(node) if node.field else node  # the default fields hold texts


def _check_timestamps(node: DateRange) -> None:
    for digits in filter(None, (node.low, node.high)):
        if not _TIMESTAMP.fullmatch(digits):
            raise QueryError.translated(
                "%(digits)s is not a timestamp; expected 14 digits", digits=repr(digits[:40])
            )


def _resolved_leaf(leaf: Leaf) -> Leaf:
    kind = field_type(leaf.field)
    if is_any(leaf) or kind in (TEXT, KEYWORD):
        return leaf
    match leaf:
        case Term() | Phrase():
            ends = _ends(leaf.text, leaf.field, kind)
            return ValueSpan(leaf.field, *ends)
        case Range():
            # An exclusive end excludes the whole day, month or year that its date names.
            low = high = None
            if leaf.low is not None:
                ends = _ends(leaf.low, leaf.field, kind)
                low = ends[0] if leaf.include_low else ends[1] + 1
            if leaf.high is not None:
                ends = _ends(leaf.high, leaf.field, kind)
                high = ends[1] if leaf.include_high else ends[0] - 1
            return ValueSpan(leaf.field, low, high)
    raise _no_value_of(leaf, kind)


def _no_value_of(leaf: Leaf, kind: str) -> QueryError:
    field = repr(leaf.field)
    if kind == DATE:
        return QueryError.translated(
            "the field %(field)s holds dates; use a date or a range of dates", field=field
        )
    if isinstance(leaf, Wildcard):
        return QueryError.translated(
            "the field %(field)s holds numbers; use ranges, not patterns", field=field
        )
    return QueryError.translated(
        "the field %(field)s holds numbers; use ranges, not ~", field=field
    )


def _ends(text: str, field: str, kind: str) -> tuple[int, int]:
    """Return the first and last value that a text stands for: a date is a span."""
    if kind != DATE:
        number = _number(text, field, kind)
        return number, number
    try:
        first, last = date_span(text)
    except TimestampError as error:
        raise QueryError(error.text) from error
    return int(first), int(last)


def field_type(field: str) -> str:
    """Return the type of a field; raises QueryError if it cannot be searched."""
    if field in JOINED_FIELDS:
        return JOINED_FIELDS[field]
    properties = mappings.properties(IndexName.DOCUMENTS).get(field)
    if properties is None:
        raise QueryError.translated("there is no field %(field)s", field=repr(field))
    if properties.get("index") is False:
        raise QueryError.translated(
            "the field %(field)s is stored, but cannot be searched", field=repr(field)
        )
    kind: str = properties["type"]
    return kind


def _number(text: str, field: str, kind: str) -> int:
    if not _INTEGER.fullmatch(text.strip()) or abs(int(text)) >= _LIMITS[kind]:
        raise QueryError.translated(
            "the field %(field)s holds numbers, %(text)s is not a number",
            field=repr(field),
            text=repr(text[:40]),
        )
    return int(text)


def is_any(node: Leaf) -> bool:
    """Return whether a leaf matches any value of its field."""
    if isinstance(node, Range):
        return node.low is None and node.high is None
    return isinstance(node, Wildcard) and set(node.pattern) == {"*"}


def has_scores(node: Node) -> bool:
    """Return whether documents matching a query may have different scores."""
    match node:
        case All() | DateRange() | Range() | ValueSpan():
            return False
        case Boost():
            return has_scores(node.node)
        case Bool():
            return bool(node.should) or any(map(has_scores, node.must))
        case Wildcard() if node.field:
            return False
    return not node.field or (node.field != ANCHOR and field_type(node.field) == TEXT)


def leaves(node: Node, *, ruled_out: bool = True) -> Iterator[DateRange | Leaf]:
    """Yield the leaves of a tree, with `ruled_out` also those below a `NOT`."""
    match node:
        case All():
            return
        case Boost():
            yield from leaves(node.node, ruled_out=ruled_out)
        case Bool():
            for part in (*node.must, *node.should, *(node.must_not if ruled_out else ())):
                yield from leaves(part, ruled_out=ruled_out)
        case _:
            yield node


def text_leaves(node: Node) -> Iterator[Term | Phrase | Wildcard | Fuzzy]:
    """Yield the leaves that search for words in texts, except those below a `NOT`."""
    for leaf in leaves(node, ruled_out=False):
        if isinstance(leaf, DateRange | Range | ValueSpan):
            continue
        if not leaf.field or field_type(leaf.field) == TEXT:
            yield leaf


def date_ranges(node: Node) -> Iterator[DateRange]:
    """Yield the date ranges of a tree, including those below a `NOT`."""
    return (leaf for leaf in leaves(node) if isinstance(leaf, DateRange))


LINKED_TARGETS = 1_000
"""The most URLs with matching anchors per query: those that most hosts link to."""


@dataclass(frozen=True, slots=True)
class InlinkSpan:
    """Numbers of inlinks from `low` to `high`, both inclusive; a `high` of None means open."""

    low: int
    high: int | None

    def is_met(self, number: int) -> bool:
        """Return whether a number is in the span."""
        return self.low <= number and (self.high is None or number <= self.high)


@dataclass(frozen=True, slots=True)
class AnchorParts:
    """The two parts of a query that finds documents by the links to them.

    `words` must match anchor texts of a URL: its leaves have no field or the field ANCHOR, and are
    all looked up in anchors. `rest` must match the document.
    """

    words: Node
    rest: Node


def inlink_span(leaf: Leaf) -> InlinkSpan:
    """Return the span of numbers that a resolved leaf on one of INLINK_COUNTS matches."""
    if isinstance(leaf, ValueSpan):
        return InlinkSpan(max(leaf.low or 0, 0), leaf.high)
    return InlinkSpan(1, None)  # any number of links


def joined_leaves(node: Node) -> list[Leaf]:
    """Return the leaves of a query on fields that are joined from inlinks."""
    return [leaf for leaf in _leaves(node) if leaf.field in JOINED_FIELDS]


def anchor_parts(node: Node) -> AnchorParts | None:
    """Return the two parts of a query, None for a query that does not use anchors.

    Such a query has no words without a field, or has words in anchors and fields of documents as
    alternatives (`quarry OR title:pit`).
    """
    if isinstance(node, Bool) and node.must:
        return _parts_of_all(node)
    return AnchorParts(node, All()) if _is_words(node) else None


def _parts_of_all(node: Bool) -> AnchorParts | None:
    words: list[Node] = []
    rest: list[Node] = []
    for part in node.must:
        parts = anchor_parts(part)
        if parts is not None:
            words.append(parts.words)
            rest += [] if isinstance(parts.rest, All) else [parts.rest]
        elif any(map(_is_word, _leaves(part))):
            return None
        else:
            rest.append(part)
    if not words:
        return None
    ruled_out, should = (tuple(filter(_is_words, some)) for some in (node.must_not, node.should))
    return AnchorParts(_all_of(words, ruled_out, should), _all_of(rest, node.must_not))


def _all_of(must: list[Node], must_not: tuple[Node, ...], should: tuple[Node, ...] = ()) -> Node:
    if not must_not and not should and len(must) <= 1:
        return must[0] if must else All()
    return Bool(tuple(must) or (All(),), should, must_not)


def word_of_address(node: Node) -> Node:
    """Return the Term of an address that is also searched as a phrase in URLs; others unchanged."""
    match node:
        case Bool(must=(), should=(Term("", text) as word, Phrase("url_text", words))):
            return word if words == address_words(text) else node
    return node


def _is_words(node: Node) -> bool:
    """Return whether all leaves of a node can be searched in anchor texts."""
    match node := word_of_address(node):
        case All() | DateRange():
            return False
        case Boost():
            return _is_words(node.node)
        case Bool():
            parts = (*node.must, *node.should)
            return bool(parts) and all(map(_is_words, (*parts, *node.must_not)))
    return _is_word(node)


def _is_word(leaf: Leaf) -> bool:
    return leaf.field in ("", ANCHOR) and not (isinstance(leaf, Range) and not leaf.field)


def _leaves(node: Node) -> list[Leaf]:
    return [leaf for leaf in leaves(node) if not isinstance(leaf, DateRange)]

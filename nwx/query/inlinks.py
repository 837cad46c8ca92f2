"""Conditions of a query on inlinks: their number, and their anchor texts.

Words without a field are also looked up in anchor texts. Anchors are counted per URL, not per
document, so this is a separate search: a document is found by links if all words without a
field match anchor texts of its URL (`AnchorParts.words`) and the document meets the remaining
conditions (`AnchorParts.rest`).
"""

from dataclasses import dataclass

from nwx.query.fields import ANCHOR, JOINED_FIELDS
from nwx.query.tree import (
    All,
    Bool,
    Boost,
    DateRange,
    Leaf,
    Node,
    Range,
    ValueSpan,
    leaves,
)

LINKED_TARGETS = 1_000
"""Of the linked URLs whose anchors match a query, so many that most hosts link to take part."""


@dataclass(frozen=True, slots=True)
class InlinkSpan:
    """Numbers of inlinks from `low` to `high`, both inclusive; a `high` of None is open."""

    low: int
    high: int | None

    def is_met(self, number: int) -> bool:
        """Return whether a number is in the span."""
        return self.low <= number and (self.high is None or number <= self.high)


@dataclass(frozen=True, slots=True)
class AnchorParts:
    """The two parts of a query that finds documents by the links to them.

    `words` must match anchor texts of a URL: its leaves have no field, or the field ANCHOR, and all
    are looked up in anchors. `rest` must match the document.
    """

    words: Node
    rest: Node


def inlink_span(leaf: Leaf) -> InlinkSpan:
    """Return the numbers that a resolved leaf of one of INLINK_COUNTS asks for."""
    if isinstance(leaf, ValueSpan):
        return InlinkSpan(max(leaf.low or 0, 0), leaf.high)
    return InlinkSpan(1, None)  # any number that there is


def joined_leaves(node: Node) -> list[Leaf]:
    """Return the leaves of a query that are joined from inlinks."""
    return [leaf for leaf in _leaves(node) if leaf.field in JOINED_FIELDS]


def anchor_parts(node: Node) -> AnchorParts | None:
    """Return the two parts of a query, None for a query that does not use anchors.

    That is a query without words that have no field, or one with words of anchors and fields of
    documents as alternatives (`quarry OR title:pit`).
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
    ruled_out = tuple(part for part in node.must_not if _is_words(part))
    return AnchorParts(
        _all_of(words, ruled_out, tuple(part for part in node.should if _is_words(part))),
        _all_of(rest, node.must_not),
    )


def _all_of(must: list[Node], must_not: tuple[Node, ...], should: tuple[Node, ...] = ()) -> Node:
    if not must_not and not should and len(must) <= 1:
        return must[0] if must else All()
    return Bool(tuple(must) or (All(),), should, must_not)


def _is_words(node: Node) -> bool:
    """Return whether all leaves of a node can be looked up in anchor texts."""
    match node:
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

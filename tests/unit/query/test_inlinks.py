"""What a query asks of links."""

import pytest

from nwx.query.inlinks import AnchorParts, InlinkSpan, anchor_parts, inlink_span, joined_leaves
from nwx.query.parser import parse_query
from nwx.query.tree import All, Bool, Node, Range, Term, resolve_tree


@pytest.mark.parametrize(
    ("query", "span"),
    [
        ("inlinks:>=10", InlinkSpan(10, None)),
        ("inlinks:>10", InlinkSpan(11, None)),
        ("inlinks:<10", InlinkSpan(0, 9)),
        ("inlinks:[5 TO 20]", InlinkSpan(5, 20)),
        ("inlinks:{5 TO 20}", InlinkSpan(6, 19)),
        ("inlinks:7", InlinkSpan(7, 7)),
        ("inlinks:*", InlinkSpan(1, None)),
        ("linking_hosts:[* TO *]", InlinkSpan(1, None)),
        ("linking_domains:[* TO 3]", InlinkSpan(0, 3)),
        ("inlinks:>=-5", InlinkSpan(0, None)),
    ],
)
def test_the_numbers_that_are_asked_for(query: str, span: InlinkSpan) -> None:
    node = resolve_tree(parse_query(query))
    (leaf,) = joined_leaves(node)
    assert leaf == node
    assert inlink_span(leaf) == span


def test_a_span_tells_what_meets_it() -> None:
    assert [InlinkSpan(2, 3).is_met(number) for number in range(5)] == [0, 0, 1, 1, 0]
    assert InlinkSpan(0, None).is_met(10**9)


QUARRY, PIT, SITE = Term("", "quarry"), Term("", "pit"), Term("domain", "a.example")


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("quarry", AnchorParts(QUARRY, All())),
        ("quarry site:a.example", AnchorParts(QUARRY, SITE)),
        ("anchor:quarry", AnchorParts(Term("anchor", "quarry"), All())),
        (
            "quarry inlinks:>2",
            AnchorParts(QUARRY, Range("inlinks", "2", None, include_low=False, include_high=True)),
        ),
        (
            "quarry site:a.example -pit",
            AnchorParts(Bool(must=(QUARRY,), must_not=(PIT,)), Bool(must=(SITE,), must_not=(PIT,))),
        ),
        ("quarry OR pit", AnchorParts(Bool(should=(QUARRY, PIT)), All())),
        ("quarry OR title:pit", None),
        ("quarry (pit OR title:pit)", None),
        ("site:a.example", None),
        ("title:quarry", None),
        ("-quarry", None),
        ("date:2010", None),
        ("*", None),
    ],
)
def test_the_two_sides_of_a_query(query: str, parts: AnchorParts | None) -> None:
    assert anchor_parts(parse_query(query)) == parts


def test_what_is_ruled_out_needs_no_words_beside_it() -> None:
    tree: Node = Bool(must=(QUARRY,), must_not=(SITE,))
    assert anchor_parts(tree) == AnchorParts(QUARRY, Bool(must=(All(),), must_not=(SITE,)))

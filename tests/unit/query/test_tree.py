"""The fields of the mapping and the values that query leaves allow."""

import pytest

from nwx.errors import QueryError
from nwx.query.parser import parse_query
from nwx.query.question import Question, resolve
from nwx.query.tree import (
    All,
    AnchorParts,
    Bool,
    Boost,
    DateRange,
    Fuzzy,
    InlinkSpan,
    Node,
    Phrase,
    Range,
    Term,
    ValueSpan,
    Wildcard,
    anchor_parts,
    date_ranges,
    has_scores,
    inlink_span,
    is_any,
    joined_leaves,
    resolve_tree,
    text_leaves,
)

SPAN = DateRange("20100101000000", "20101231235959")


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (All(), False),
        (Term("", "a"), True),
        (Term("domain", "a"), False),
        (Range("content_length", "1", None), False),
        (Bool(must=(All(), Term("domain", "a"))), False),
        (Bool(must=(Term("title", "a"),)), True),
        (Bool(should=(Term("domain", "a"), Term("domain", "b"))), True),
        (Boost(Wildcard("title", "a*"), 2.0), False),
        (Wildcard("", "a*"), True),
        (Term("anchor", "a"), False),
        (Fuzzy("host", "a", 1), False),
        (Fuzzy("", "a", 1), True),
    ],
)
def test_what_scores(node: Node, expected: bool) -> None:
    assert has_scores(node) is expected


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Term("nonsense", "x"), "there is no field"),
        (Term("links_text", "x"), "cannot be searched"),
        (Term("status_code", "abc"), "holds numbers"),
        (Term("status_code", str(2**31)), "holds numbers"),
        (Fuzzy("crawl_date", "2010"), "holds dates"),
        (Wildcard("status_code", "4*"), "use ranges"),
        (Fuzzy("status_code", "404"), "use ranges"),
        (Range("content_length", "few", None), "holds numbers"),
        (Range("status_code", "1", "9" * 20), "holds numbers"),
        (Term("crawl_date", "yesterday"), "is not a date"),
        (Wildcard("crawl_date", "20*"), "holds dates"),
        (Boost(Term("", "x"), -1.0), "below 0"),
        (DateRange("2010", "2011"), "14 digits"),
    ],
)
def test_what_makes_no_sense_is_refused_wherever_it_stands(node: Node, message: str) -> None:
    wrapped = Boost(Bool(must=(All(),), must_not=(Bool(should=(Term("", "a"), node)),)), 2.0)
    for tree in (node, wrapped):
        with pytest.raises(QueryError, match=message):
            resolve_tree(tree)
        with pytest.raises(QueryError, match=message):
            resolve(Question(tree))


@pytest.mark.parametrize(
    "node",
    [
        Term("", "x"),
        Wildcard("status_code", "*"),
        Range("crawl_date", None, None),
        Range("title", "a", "b"),
        DateRange("", ""),
        Bool((Boost(Phrase("title", "a b"), 2.0),), must_not=(All(),)),
    ],
)
def test_what_holds_no_numbers_stays_as_it_is(node: Node) -> None:
    assert resolve_tree(node) == node


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (Term("crawl_date", "2010"), (20100101000000, 20101231235959)),
        (Range("crawl_date", "2010-03", None), (20100301000000, None)),
        (
            Range("crawl_date", "2010", "2012", include_low=False, include_high=False),
            (20101231235960, 20120100999999),
        ),
        (Range("crawl_date", None, "2012"), (None, 20121231235959)),
        (Term("content_length", " -7 "), (-7, -7)),
        (Range("content_length", " 5 ", None), (5, None)),
        (Range("inlinks", "5", "9", include_low=False, include_high=False), (6, 8)),
    ],
)
def test_numbers_and_dates_are_spans(
    node: Term | Range, expected: tuple[int | None, int | None]
) -> None:
    assert resolve_tree(Boost(node, 2.0)) == Boost(ValueSpan(node.field, *expected), 2.0)


def test_any_value_is_asked_for_in_two_ways() -> None:
    assert is_any(Wildcard("title", "**")) and is_any(Range("title", None, None))
    assert not is_any(Wildcard("title", "*a")) and not is_any(Term("title", "*"))


def test_the_leaves_of_a_tree() -> None:
    words, ruled_out = Phrase("title", "a b"), Term("", "c")
    tree = Bool((Boost(words, 2.0), SPAN, Term("host", "d")), must_not=(ruled_out, SPAN))
    assert list(text_leaves(tree)) == [words]
    assert list(date_ranges(tree)) == [SPAN, SPAN]


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
ADDRESS = Bool(should=(Term("", "a.example"), Phrase("url_text", "a example")))


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("quarry", AnchorParts(QUARRY, All())),
        ("quarry site:a.example", AnchorParts(QUARRY, SITE)),
        ("a.example", AnchorParts(ADDRESS, All())),
        ("quarry a.example site:a.example", AnchorParts(Bool(must=(QUARRY, ADDRESS)), SITE)),
        ('a.example OR inurl:"b example"', None),
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

"""Every kind of query node matches the right documents."""

import pytest

from nwx.engine.base import Engine
from nwx.errors import QueryError
from nwx.query.cost import MAX_TREE_DEPTH
from nwx.query.question import Question
from nwx.query.tree import All, Bool, Boost, DateRange, Fuzzy, Node, Phrase, Range, Term, Wildcard
from tests.conformance.archive import batch, page
from tests.conformance.asking import ask

BATCHES = [
    batch(
        [
            page("http://example.org/budget/a", "2010", "the annual budget of the city"),
            page(
                "http://example.org/b",
                "2011",
                "city council: the budget annual meeting",
                title="Budget report 2010",
                headings=("Council news", "Sport"),
                author="Ada Lovelace",
                description="What the council says",
            ),
            page(
                "http://www.example.net/c",
                "2012",
                "state-of-the-art e-mail for user_name at 3.14 percent",
                content_language="en",
                length=5,
            ),
            page("http://example.com/d", "20130615", "Straße groß ÉCOLE naïve", length=500_000),
            page("http://example.com/e", "2014", "", content_type="image/png", status=404),
            page("http://example.com/f*?g", "2014", "stars * and marks ?", status=None),
        ]
    )
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (All(), "a b c d e f*?g"),
        (Term("", "budget"), "a b"),
        (Term("", "BUDGET"), "a b"),
        (Term("content", "budget"), "a b"),
        (Term("title", "budget"), "b"),
        (Term("title", "city"), ""),
        (Term("", "nowhere"), ""),
        (Term("headings", "news"), "b"),
        (Term("", "sport"), "b"),
        (Term("author", "lovelace"), "b"),
        (Term("", "lovelace"), ""),
        (Term("description", "says"), "b"),
        (Term("url_text", "example"), "a b c d e f*?g"),
        (Term("", "net"), "c"),
        (Term("", "annual budget"), "a"),
        (Term("", "state-of-the-art"), "c"),
        (Term("", "art of"), ""),
        (Term("", "user_name"), "c"),
        (Term("", "user"), ""),
        (Term("", "3.14"), "c"),
        (Term("", "..."), ""),
        (Term("", ""), ""),
        (Term("content", "!"), ""),
    ],
)
def test_a_word(archive: Engine, query: Node, expected: str) -> None:
    assert ask(archive, query) == set(expected.split())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Term("host", "example.org"), "a b"),
        (Term("domain", "example.net"), "c"),
        (Term("host", "EXAMPLE.ORG"), ""),
        (Term("host", "example"), ""),
        (Term("url", "http://example.org/b"), "b"),
        (Phrase("url", "http://example.com/f*?g"), "f*?g"),
        (Term("status_code", "404"), "e"),
        (Term("content_length", "5"), "c"),
        (Term("content_language", "en"), "c"),
        (Term("content_type_norm", "image"), "e"),
        (Term("collection", "web"), "a b c d e f*?g"),
        (Term("timestamp", "20130615000000"), "d"),
        (Term("crawl_year", "2014"), "e f*?g"),
    ],
)
def test_a_value(archive: Engine, query: Node, expected: str) -> None:
    assert ask(archive, query) == set(expected.split())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Phrase("", "annual budget"), "a"),
        (Phrase("", "budget annual"), "b"),
        (Phrase("", "The Annual, BUDGET!"), "a"),
        (Phrase("", "annual city"), ""),
        (Phrase("content", "annual city", 3), "a"),
        (Phrase("content", "annual of", 1), "a"),
        (Phrase("content", "annual of", 0), ""),
        (Phrase("", "budget"), "a b"),
        (Phrase("title", "report 2010"), "b"),
        (Phrase("title", "2010 report"), ""),
        (Phrase("", ""), ""),
    ],
)
def test_a_phrase(archive: Engine, query: Node, expected: str) -> None:
    assert ask(archive, query) == set(expected.split())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Wildcard("", "bud*"), "a b"),
        (Wildcard("", "BUD*"), "a b"),
        (Wildcard("", "*dget"), "a b"),
        (Wildcard("", "b?dget"), "a b"),
        (Wildcard("", "b?dge"), ""),
        (Wildcard("", "éc*"), "d"),
        (Wildcard("", "ec?le"), "d"),
        (Wildcard("", "STRAß*"), "d"),
        (Wildcard("content", "user_*"), "c"),
        (Wildcard("title", "*"), "b"),
        (Wildcard("headings", "co*l"), "b"),
        (Wildcard("host", "*.net"), "c"),
        (Wildcard("host", "example.*"), "a b d e f*?g"),
        (Wildcard("host", "EXAMPLE.*"), ""),
        (Wildcard("url", "http://example.org/*"), "a b"),
        (Wildcard("url", r"*f\*\?g"), "f*?g"),
        (Wildcard("url", "*/?"), "a b c d e"),
        (Wildcard("content_language", "*"), "c"),
        (Wildcard("status_code", "*"), "a b c d e"),
        (Wildcard("", "a*l"), "a b"),
        (Wildcard("", "and the*"), ""),
    ],
)
def test_a_pattern(archive: Engine, query: Node, expected: str) -> None:
    assert ask(archive, query) == set(expected.split())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Fuzzy("", "bugdet", 1), "a b"),
        (Fuzzy("", "budgit", 1), "a b"),
        (Fuzzy("", "budgetary", 2), ""),
        (Fuzzy("", "budgets", 1), "a b"),
        (Fuzzy("", "budg", 2), "a b"),
        (Fuzzy("", "budg", 1), ""),
        (Fuzzy("", "budget", 0), "a b"),
        (Fuzzy("", "bugdet", 0), ""),
        (Fuzzy("", "ÉCOL", 1), "d"),
        (Fuzzy("content", "cuoncil", 1), "b"),
        (Fuzzy("host", "example.ogr", 1), "a b"),
        (Fuzzy("content", "strasze", 1), "d"),
    ],
)
def test_a_likeness(archive: Engine, query: Node, expected: str) -> None:
    assert ask(archive, query) == set(expected.split())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Range("content_length", "500", "2000"), "a b e f*?g"),
        (Range("content_length", None, "5"), "c"),
        (Range("content_length", None, "5", include_high=False), ""),
        (Range("content_length", "1000", None, include_low=False), "d"),
        (Range("content_length", None, None), "a b c d e f*?g"),
        (Range("status_code", "400", "499"), "e"),
        (Range("status_code", None, None), "a b c d e"),
        (Range("host", "example.com", "example.net"), "d e f*?g"),
        (Range("host", "example.com", "example.org", include_low=False), "a b"),
        (Range("timestamp", "2012", "2014"), "c d"),
        (Range("crawl_year", "2012", "2013"), "c d"),
        (Range("crawl_date", "2012", "2013"), "c d"),
        (Range("crawl_date", "2013-06", "2013-06"), "d"),
        (Range("crawl_date", "2013-06", None, include_low=False), "e f*?g"),
        (Range("title", "bu", "c"), "b"),
        (DateRange("20120101000000", "20130101000000"), "c"),
    ],
)
def test_a_range(archive: Engine, query: Node, expected: str) -> None:
    assert ask(archive, query) == set(expected.split())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Bool(must=(Term("", "budget"), Term("", "council"))), "b"),
        (Bool(should=(Term("", "council"), Term("", "école"))), "b d"),
        (Bool(must_not=(Term("", "budget"),)), "c d e f*?g"),
        (Bool(must=(Term("", "budget"),), must_not=(Term("", "council"),)), "a"),
        (Bool(must=(Term("", "budget"),), should=(Term("", "council"),)), "a b"),
        (Bool(should=(Term("", "budget"),), must_not=(Term("", "council"),)), "a"),
        (Bool(must_not=(Bool(must_not=(Term("", "budget"),)),)), "a b"),
        (Bool(must=(Bool(must_not=(Term("", "city"),)), Term("", "example"))), "c d e f*?g"),
        (Bool(should=(Bool(must_not=(Term("", "city"),)), Term("", "annual"))), "a b c d e f*?g"),
        (Bool(must_not=(All(),)), ""),
        (Bool(), "a b c d e f*?g"),
        (Boost(Term("", "council"), 3.5), "b"),
        (Boost(Bool(must_not=(Term("", "budget"),)), 0.5), "c d e f*?g"),
        (Bool(must=(Term("", "..."),)), ""),
        (Bool(must=(Term("", "budget"), Term("", "..."))), ""),
    ],
)
def test_combinations(archive: Engine, query: Node, expected: str) -> None:
    assert ask(archive, query) == set(expected.split())


@pytest.mark.parametrize(
    "query",
    [
        Term("nonsense", "x"),
        Term("links_text", "x"),
        Term("status_code", "abc"),
        Range("content_length", "few", None),
        Range("status_code", "1", "99999999999999999999"),
        Term("crawl_date", "yesterday"),
        Boost(Term("", "x"), -1.0),
        DateRange("2010", "2011"),
    ],
)
def test_what_makes_no_sense_is_said(archive: Engine, query: Node) -> None:
    with pytest.raises(QueryError):
        archive.search(Question(query))
    with pytest.raises(QueryError):
        list(archive.scroll(Question(query)))


def test_a_deep_query_is_answered_and_a_deeper_one_is_refused(archive: Engine) -> None:
    deep: Node = Term("", "budget")
    for _ in range(MAX_TREE_DEPTH):
        deep = Bool(must=(deep,))
    assert ask(archive, deep) == {"a", "b"}
    with pytest.raises(QueryError, match="nested too deep"):
        archive.search(Question(Bool(must=(deep,))))


def test_a_query_that_costs_too_much_is_refused(archive: Engine) -> None:
    costly = Bool(should=tuple(Wildcard("", f"*{n}*") for n in range(100)))
    with pytest.raises(QueryError, match="too much work"):
        archive.search(Question(costly))
    with pytest.raises(QueryError, match="too much work"):
        list(archive.scroll(Question(costly)))


def test_many_words_are_answered(archive: Engine) -> None:
    many = Bool(should=tuple(Term("content", f"word{n}") for n in range(900)))
    assert ask(archive, many) == set()

"""Queries that are too expensive are refused before they reach an engine."""

import pytest

from nwx.errors import QueryError
from nwx.query import cost
from nwx.query.fields import DEFAULT_FIELDS
from nwx.query.parser import parse_query
from nwx.query.tree import Bool, Boost, DateRange, Fuzzy, Phrase, Term, Wildcard

EVERYWHERE = len(DEFAULT_FIELDS)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 0),
        ("word", EVERYWHERE),
        ("title:word", 1),
        ("one two^3 OR NOT three", 3 * EVERYWHERE),
        ('"one two three"', 3 * EVERYWHERE),
        ('title:"one two"~5', 2),
        ('title:"one two three"~5', cost.NEAR_COST),
        ('title:"one one"~5', cost.NEAR_COST),
        ("title:wor*", cost.PREFIX_COST),
        (r"title:w\?or*", cost.PREFIX_COST),
        ("title:*", 1),
        ("title:*ord", cost.PATTERN_COST),
        ("w?rd", cost.PATTERN_COST * EVERYWHERE),
        ("url:*" + "x" * 99, 3 * cost.PATTERN_COST),
        (r"title:w?r?d*x\??y?", 3 * cost.PATTERN_COST),
        ("title:word~0", 1),
        ("word~1", 5 * EVERYWHERE),
        ("word~2", 10 * EVERYWHERE),
        ("date:2010", cost.DATES_COST),
        ("size:[1 TO 2]", cost.RANGE_COST),
        ("host:[a TO b]", cost.PATTERN_COST),
    ],
)
def test_a_query_has_its_cost(query: str, expected: int) -> None:
    assert cost.cost(parse_query(query)) == expected


@pytest.mark.parametrize(
    "query",
    [
        "?" * 1000,
        "*a" * 80,
        "*a" * 1000,
        " ".join(["*a*"] * 40),
        " ".join(f"*{letter}{'?' * 17}" for letter in "ab"),
        " ".join(f"content:*{letter}{'?' * 17}" for letter in "abcde"),
        " ".join(f"date:20{n % 100:02}.." for n in range(330)),
        " ".join(f"w{n}~2" for n in range(500)),
        " ".join(f'"a b c{n}"~9' for n in range(20)),
        "w" * 300 + "~",
        "title:" + "w" * 3000 + "*",
    ],
)
def test_what_takes_too_much_work_is_refused(query: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(query)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "query",
    [
        " ".join(f"w{n}" for n in range(1000)),
        " OR ".join(f"date:20{n:02}" for n in range(50)),
        " OR ".join(f"w{n}*" for n in range(100)),
        " ".join(f"w{n}~1" for n in range(50)),
        "url:http://www.example.org/" + "path/" * 50 + "*",
        "ภาษาไทย กรุงเทพมหานคร ประเทศไทย สวัสดีครับ",
        "?" * 20,
    ],
)
def test_what_people_ask_is_answered(query: str) -> None:
    parse_query(query)


def test_all_parts_of_a_query_count() -> None:
    leaf = Wildcard("title", "*a")
    tree = Bool((leaf, Boost(leaf, 2.0)), (Fuzzy("title", "a", 2),), (Term("title", "a"),))
    assert cost.cost(tree) == 2 * cost.PATTERN_COST + 10 + 1
    assert cost.cost(Bool(must=(DateRange("", ""), Phrase("title", "a")))) == cost.DATES_COST + 1

"""The words of a query in a text."""

from dataclasses import replace

import pytest

from nwx.model import FoundByLinks, Hit, ScoreParts
from nwx.query.parser import parse_query
from nwx.searching.highlights import found_by_words, highlighted, score_words


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("quarry", "The Quarry, a quarry.", ["Quarry", "quarry"]),
        ("elysee", "À l'Élysée", ["Élysée"]),
        ('"old mill" -stone', "an old stone mill", ["old", "mill"]),
        ("libr*", "a library of [libr*]", ["library", "libr"]),
        ("lantren~", "a lantern", ["lantern"]),
        ("title:quarry", "quarry", ["quarry"]),
        ("host:quarry.example", "quarry", []),
        ("*", "anything", []),
        ("a*[x", "a[x aax", []),
    ],
)
def test_words_are_marked(query: str, text: str, expected: list[str]) -> None:
    pieces = highlighted(parse_query(query), text)
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, is_meant in pieces if is_meant] == expected


def test_marks_are_bounded() -> None:
    pieces = highlighted(parse_query("a"), "a " * 5_000)
    assert sum(is_meant for _, is_meant in pieces) <= 2_000
    assert "".join(piece for piece, _ in pieces) == "a " * 5_000


HIT = Hit("0" * 32, "http://a.test/", "", "", (), 12.36)


def test_found_by_links() -> None:
    assert found_by_words(FoundByLinks("annual report", 12)) == (
        "found by links: “annual report” from 12 hosts"
    )
    assert found_by_words(FoundByLinks("home", 1)).endswith("from 1 host")


def test_what_a_score_is_made_of() -> None:
    assert score_words(HIT) == ""
    made = replace(HIT, score_parts=ScoreParts(12.0, 3.5, 1.03, 1))
    assert score_words(made) == (
        "score 12.36 = the higher of text 12.00 and anchors 3.50, × 1.030 for 1 linking domain"
    )
    made = replace(HIT, score_parts=ScoreParts(12.0, 3.5, 1.03, 1_000))
    assert score_words(made).endswith("for 1,000 linking domains")

"""The words of a query in a text."""

import pytest

from nwx.query.parser import parse_query
from nwx.searching.highlights import highlighted


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

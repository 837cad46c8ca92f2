"""Search answers in the form for programs."""

import json
from dataclasses import replace
from typing import Any

import pytest

from nwx.model import Dates, FacetValue, FoundByLinks, Hit, ScoreParts, SearchResult, Total
from nwx.query.parser import parse_query
from nwx.searching.answers import (
    answer_to_json,
    dates_answer,
    document_answer,
    found_by_words,
    highlighted,
    hit_answer,
    score_words,
    search_answer,
)
from nwx.searching.documents import ShownDocument
from tests.conformance.archive import also, page

HIT = Hit(
    id="a" * 32,
    url="http://a.example/",
    digest="sha1:X",
    title="A",
    dates=("20100101000000",),
    score=1.5,
    snippet=(("the ", False), ("quarry", True), (" of", False)),
    status_code=None,
    content_type_norm="html",
    content_language="en",
)
PAGE = page("http://a.example/", "2010", "words", title="A", status=None)
DATES = also(PAGE, "2011", "2010 other", "2011 other")
SHOWN = ShownDocument(PAGE.capture.document_id, PAGE, DATES, (PAGE.capture,))


def read(answer: object) -> Any:
    """Return an answer in the form for programs."""
    return json.loads(json.dumps(answer_to_json(answer)))


def test_a_hit_has_a_plain_snippet_and_its_matches() -> None:
    found = read(hit_answer(HIT))
    assert (found["snippet"], found["highlights"]) == ("the quarry of", ["quarry"])
    assert (found["type"], found["language"], found["status"]) == ("html", "en", None)
    assert found["dates"] == ["20100101000000"]


def test_facets_are_named_as_filters_are() -> None:
    facets = {"content_type_norm": (FacetValue("html", 2),), "public_suffix": ()}
    result = SearchResult(Total(1), Total(2, "gte"), (HIT,), facets, 1.23456)
    found = read(search_answer(result))
    assert found["facets"] == {"type": [{"value": "html", "count": 2}], "public_suffix": []}
    assert found["documents"] == {"value": 2, "relation": "gte"}
    assert found["took_ms"] == 1.235
    assert len(found["hits"]) == 1


def test_a_document_leaves_out_what_it_has_no_value_of() -> None:
    found = read(document_answer(SHOWN))
    assert found["title"] == "A"
    assert "status_code" not in found
    assert "author" not in found
    assert found["dates"] == ["20100101000000", "20110101000000"]
    assert found["seen"][0] == {"timestamp": "20100101000000", "collection": "other"}
    assert found["captures"][0]["source_file_offset"] == PAGE.capture.source_file_offset
    assert found["captures"][0]["status_code"] is None


def test_dates_name_their_document() -> None:
    found = read(dates_answer(SHOWN))
    assert (found["id"], found["key"]) == (SHOWN.id, DATES.key)
    assert len(found["dates"]) == 3
    nothing = ShownDocument(SHOWN.id, PAGE, Dates(DATES.key, ()), ())
    assert read(dates_answer(nothing))["dates"] == []


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


LINKED_HIT = Hit("0" * 32, "http://a.test/", "", "", (), 12.36)


def test_found_by_links() -> None:
    assert found_by_words(FoundByLinks("annual report", 12)) == (
        "found by links: “annual report” from 12 hosts"
    )
    assert found_by_words(FoundByLinks("home", 1)).endswith("from 1 host")


def test_what_a_score_is_made_of() -> None:
    assert score_words(LINKED_HIT) == ""
    made = replace(LINKED_HIT, score_parts=ScoreParts(12.0, 3.5, 1.03, 1))
    assert score_words(made) == (
        "score 12.36 = the higher of text 12.00 and anchors 3.50, with a part of the lower, "
        "× 1.030 for 1 linking domain"
    )
    made = replace(LINKED_HIT, score_parts=ScoreParts(12.0, 3.5, 1.03, 1_000))
    assert score_words(made).endswith("for 1,000 linking domains")

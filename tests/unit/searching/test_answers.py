"""Answers of searches as programs read them."""

import json
from typing import Any

from nwx.model import Dates, FacetValue, Hit, SearchResult, Total
from nwx.searching.answers import (
    answer_to_json,
    dates_answer,
    document_answer,
    hit_answer,
    search_answer,
)
from nwx.searching.documents import Shown
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
SHOWN = Shown(PAGE.capture.document_id, PAGE, DATES, (PAGE.capture,))


def read(answer: object) -> Any:
    """Return an answer as a program reads it."""
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
    nothing = Shown(SHOWN.id, PAGE, Dates(DATES.key, ()), ())
    assert read(dates_answer(nothing))["dates"] == []

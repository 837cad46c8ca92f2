"""The identity of documents and captures."""

from dataclasses import replace

import pytest

from nwx.keys import (
    capture_id,
    capture_key,
    document_id,
    document_key,
    holds,
    is_browsed,
    makes_document,
    precedence,
)
from tests.conformance.archive import capture


def test_a_document_is_known_by_url_and_digest() -> None:
    key = document_key("http://a.example/", "sha1:ABC")
    assert key == "http://a.example/ sha1:ABC"
    assert len(document_id(key)) == 32
    assert document_id(key) == document_id(key)
    assert document_id(key) != document_id(key + " ")


def test_any_text_has_an_id() -> None:
    assert len(document_id("http://a.example/\ud800 x")) == 32


def test_a_capture_is_known_by_its_place() -> None:
    assert capture_id("web", "A.warc.gz", 12) == "web/A.warc.gz@12"
    one = capture("http://a.example/", "2010")
    elsewhere = replace(one, source_file_offset=one.source_file_offset + 1)
    assert capture_key(one) != capture_key(elsewhere)
    assert capture_key(one).startswith(document_key(one.url, one.digest))


def test_a_capture_is_of_its_shared_document_and_of_its_own() -> None:
    one = capture("http://a.example/", "2010")
    assert holds(one, one.document_id)
    assert holds(one, document_id(capture_key(one)))
    assert not holds(one, document_id("another"))
    assert not holds(replace(one, document_id=""), "")


def test_the_earliest_capture_takes_precedence_and_the_place_breaks_ties() -> None:
    early, late = capture("http://a.example/", "2010"), capture("http://a.example/", "2011")
    assert precedence(early) > precedence(late)
    moved = replace(early, source_file_offset=early.source_file_offset + 1)
    assert precedence(early) != precedence(moved)
    assert 0 <= precedence(late) < 2**63


@pytest.mark.parametrize(
    ("url", "browsed"),
    [("http://a.example/", True), ("HTTPS://a.example/", True), ("dns:a.example", False)],
)
def test_pages_are_what_people_browse(url: str, browsed: bool) -> None:
    assert is_browsed(url) is browsed
    one = replace(capture("http://a.example/", "2010"), url=url)
    assert makes_document(one) is browsed
    assert not makes_document(replace(one, record_type="revisit"))

"""The places of pages."""

from dataclasses import replace

import pytest

from nwx.model import Capture
from nwx.page_places import PagePlace, is_page, page_places
from tests.conformance.archive import capture

PAGE = capture("http://a.example/")


def test_a_page_has_the_place_of_its_record() -> None:
    found = replace(PAGE, source_file="a.warc.gz", source_file_offset=7, hops="LL")
    assert list(page_places([found])) == [
        PagePlace(
            found.document_id, found.url, found.timestamp, found.collection, "a.warc.gz", 7, "LL"
        )
    ]


@pytest.mark.parametrize(
    "other",
    [
        replace(PAGE, content_type_norm="pdf"),
        replace(PAGE, status_code=404),
        replace(PAGE, status_code=301),
        replace(PAGE, record_type="revisit"),
        replace(PAGE, document_id=""),
        replace(PAGE, url="urn:text:http://a.example/"),
    ],
)
def test_what_is_no_page(other: Capture) -> None:
    assert not is_page(other)
    assert list(page_places([other])) == []


def test_a_page_without_a_status_is_one() -> None:
    assert is_page(replace(PAGE, status_code=None))

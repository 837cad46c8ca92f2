"""Resources loaded by browsers, from `pageinfo` records and HAR files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.errors import FormatError
from nwx.model import Comparison
from nwx.quality.page_information import (
    MOST_PAGE_RESOURCES,
    PageResource,
    page_info,
    page_info_of_har,
)
from tests.rendering.hostile_site import har_parts, nested_json
from tests.renders import har, page_information

URL = "http://a.example/"


def test_page_information_of_browsertrix() -> None:
    found = page_info(
        page_information(
            URL,
            {URL: 200, "http://a.example/x.css": 404},
            ts="2024-05-06T07:08:09.123Z",
            counts={"jsErrors": 3},
            comparison={
                "screenshotMatch": 0.75,
                "textMatch": 1,
                "resourceCounts": {
                    "crawlGood": 10,
                    "crawlBad": 1,
                    "replayGood": 9,
                    "replayBad": 2,
                },
            },
        )
    )
    assert (found.url, found.timestamp, found.js_errors) == (URL, "20240506070809", 3)
    assert found.resources == (
        PageResource(URL, 200, "text/html", "document"),
        PageResource("http://a.example/x.css", 404, "text/html", "document"),
    )
    assert found.comparison == Comparison(0.75, 1.0, 10, 1, 9, 2)


def test_page_information_with_odd_values() -> None:
    values = {
        "http://a.example/1": None,
        "http://a.example/2": {"status": "200", "mime": 7, "type": None},
        "http://a.example/3": {"status": -1, "mime": "Image/PNG; x=y", "type": "i" * 999},
        "http://a.example/4": {"status": True, "error": "net::ERR_FAILED"},
    }
    found = page_info(json.dumps({"url": 5, "ts": "soon", "urls": values, "more": [{}]}).encode())
    assert (found.url, found.timestamp, found.js_errors, found.comparison) == ("", "", None, None)
    assert [one.status for one in found.resources] == [0, 0, 0]
    assert found.resources[1].mime == "image/png"
    assert len(found.resources[1].type) == 256


def test_har() -> None:
    found = page_info_of_har(har(URL, {URL: 200, "http://a.example/x.css": 404}))
    assert (found.url, found.timestamp, found.js_errors) == (URL, "20200101000007", None)
    assert [(one.url, one.status, one.mime) for one in found.resources] == [
        (URL, 200, "text/html"),
        ("http://a.example/x.css", 404, "text/html"),
    ]


def test_har_names_each_url_once() -> None:
    entry = b'{"request":{"url":"http://a.example/"},"response":{"status":%d}}'
    found = page_info_of_har(b'{"log":{"entries":[%s,%s,{}]}}' % (entry % 302, entry % 200))
    assert found.resources == (PageResource(URL, 200, "", ""),)


def test_very_many_resources() -> None:
    entry = '{"request":{"url":"http://a.example/%d"},"response":null}'
    entries = ",".join(entry % number for number in range(MOST_PAGE_RESOURCES + 10))
    found = page_info_of_har(f'{{"log":{{"entries":[{entries}]}}}}'.encode())
    assert len(found.resources) == MOST_PAGE_RESOURCES


def test_bodies_in_a_har_are_passed_over() -> None:
    found = page_info_of_har(b"".join(har_parts(8 << 20)))
    assert found.resources[-1].url == "http://end.example/"


@pytest.mark.parametrize(
    "payload",
    [b"", b"null", b"[]", b"{", b"\xff\xfe{", b'{"urls": []}', nested_json(), b"[" * 100_000],
)
def test_what_is_no_page_information(payload: bytes) -> None:
    for read in (page_info, page_info_of_har):
        if read is page_info and payload == nested_json():
            continue  # one without URLs
        with pytest.raises(FormatError):
            read(payload)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda some: (
            st.lists(some)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "log",
                        "urls",
                        "entries",
                        "request",
                        "url",
                        "status",
                        "response",
                        "counts",
                        "comparison",
                    ]
                ),
                some,
            )
        ),
    )
)
def test_any_json(value: object) -> None:
    for read in (page_info, page_info_of_har):
        try:
            read(json.dumps(value).encode())
        except FormatError:
            continue

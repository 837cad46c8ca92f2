"""Headers of stored records that pywb needs, also of damaged ones."""

import io
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from webapp.replay.stored_records import complete_headers


@pytest.mark.parametrize(
    ("date", "shown"),
    [("2021", "2021-01-01T00:00:00Z"), ("today", "today"), ("2021-13-45", "2021-13-45")],
)
@pytest.mark.parametrize("length", ["Content-Length: 0\r\n", "Content-Length: many\r\n", ""])
def test_unreadable_headers_are_kept(date: str, shown: str, length: str) -> None:
    record = _response("http://a.example/", f"WARC-Date: {date}\r\n{length}")
    complete_headers(record)
    assert record.rec_headers.get_header("WARC-Date") == shown
    assert record.http_headers.get_statuscode() == "200"


def test_the_url_is_sent_in_latin_1() -> None:
    record = _response("http://a.example/caf\u00e9?price=5\u20ac%20<x>", "Content-Length: 0\r\n")
    complete_headers(record)
    url = record.rec_headers.get_header("WARC-Target-URI")
    assert url == "http://a.example/caf%C3%A9?price=5%E2%82%AC%20<x>"


def test_only_http_responses_get_an_http_head() -> None:
    record = _response("ftp://a.example/file", "Content-Length: 7\r\n", "a file\n")
    complete_headers(record)
    assert record.http_headers is None
    assert record.rec_type == "resource"
    assert record.rec_headers.get_header("Content-Length") == "7"


def _response(url: str, fields: str, block: str = "") -> Any:
    head = f"WARC-Type: response\r\nWARC-Target-URI: {url}\r\n{fields}"
    stored = f"WARC/1.1\r\n{head}\r\n{block}\r\n\r\n".encode()
    return next(iter(ArchiveIterator(io.BytesIO(stored))))

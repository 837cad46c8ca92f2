"""Captures from records."""

import pytest

from nwx.values.digests import normal_digest
from tests.unit.warc.stored_files import http, one, read, sha1, warc

BODY = b"<p>stone</p>"


def test_what_an_index_wants_to_know() -> None:
    found = one(warc(http(BODY), url="http://www.Example.org/a?b=1#c"))
    assert (found.status_code, found.content_type, found.content_type_norm) == (
        200,
        "text/html",
        "html",
    )
    assert (found.host, found.domain, found.public_suffix) == (
        "www.example.org",
        "example.org",
        "org",
    )
    assert found.urlkey == "org,example)/a?b=1"
    assert (found.timestamp, found.content_length) == ("20200102030405", len(BODY))
    assert found.digest == sha1(BODY)


def test_a_digest_of_the_record_is_kept_in_its_normal_form() -> None:
    hexadecimal = normal_digest(sha1(BODY))
    found = one(warc(http(BODY), WARC_Payload_Digest=hexadecimal))
    assert found.digest == sha1(BODY)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_made_absolute(status: int) -> None:
    block = http(b"", "Location: ../b", status=f"HTTP/1.1 {status} Moved")
    assert one(warc(block, url="http://a.example/x/y")).redirect_to == "http://a.example/b"


def test_a_revisit_keeps_what_it_refers_to() -> None:
    found = one(
        warc(
            http(b""),
            "revisit",
            WARC_Payload_Digest=sha1(BODY),
            WARC_Profile="http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
            WARC_Refers_To_Target_URI="http://b.example/",
            WARC_Refers_To_Date="2019-01-01T00:00:00Z",
        )
    )
    assert found.record_type == "revisit"
    assert (found.refers_to_url, found.refers_to_timestamp) == (
        "http://b.example/",
        "20190101000000",
    )
    assert found.digest == sha1(BODY)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (warc(http(BODY), url=""), "URL"),
        (warc(http(BODY), date="yesterday"), "date"),
    ],
)
def test_a_record_without_url_or_date_is_an_error(record: bytes, words: str) -> None:
    captures, errors = read(record)
    assert captures == []
    assert any(words.lower() in error.message.lower() for error in errors)


@pytest.mark.parametrize("kind", ["warcinfo", "request", "metadata"])
def test_other_records_are_no_captures(kind: str) -> None:
    captures, errors = read(warc(b"x: y\r\n", kind))
    assert (captures, errors) == ([], [])

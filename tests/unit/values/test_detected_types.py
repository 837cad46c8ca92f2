"""Types, names and extensions of payloads."""

import pytest

from nwx.values.detected_types import detected_type, file_extension, file_name

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("data", "served", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n", "text/html", "image/png"),
        (b"<!DOCTYPE html><p>", "text/plain", "text/html"),
        (b"body {}", "text/css", "text/plain"),
        (b'<?xml version="1.0"?><svg>', "", "image/svg+xml"),
        (b'<?xml version="1.0"?><rss>', "", "application/xml"),
        (b"\n%PDF-1.4", "", "application/pdf"),
        (OLE + bytes(600), "application/vnd.ms-powerpoint", "application/vnd.ms-powerpoint"),
        (b"PK\x03\x04" + bytes(40), "application/vnd.ms-excel", "application/vnd.ms-excel"),
        (b"PK\x03\x04" + bytes(40), "text/html", "application/zip"),
        (bytes(9), "text/html", "application/octet-stream"),
        (b"", "text/html", "application/octet-stream"),
    ],
)
def test_the_first_bytes_decide(data: bytes, served: str, expected: str) -> None:
    assert detected_type(data, served) == expected


def test_extensions_are_those_of_the_type_if_it_has_any() -> None:
    assert file_extension("http://a.example/x.jpeg?y=1", "image/jpeg") == "jpeg"
    assert file_extension("http://a.example/x.php", "image/png") == "png"
    assert file_extension("http://a.example/x.abc", "application/x-own") == "abc"
    assert file_extension("http://a.example/", "application/x-own") == "unknown"
    assert file_name("http://a.example/b/x.jpeg?y=/1") == "x.jpeg"
    assert file_name("http://[/x") == ""

"""MIME types: families, detection, extensions."""

import pytest

from nwx.values.media_types import detected_type, file_extension, file_name, normal_type

FAMILIES = "html pdf image audio video flash script style text office archive other unknown".split()


@pytest.mark.parametrize(
    ("content_type", "family"),
    [
        ("text/html", "html"),
        ("application/xhtml+xml", "html"),
        ("text/fragment+html", "html"),
        ("application/pdf", "pdf"),
        ("image/jpeg", "image"),
        ("image/svg+xml", "image"),
        ("audio/mpeg", "audio"),
        ("video/mp4", "video"),
        ("application/x-shockwave-flash", "flash"),
        ("text/javascript", "script"),
        ("application/json", "script"),
        ("text/css", "style"),
        ("text/plain", "text"),
        ("text/dns", "text"),
        ("application/rss+xml", "text"),
        ("application/msword", "office"),
        ("application/vnd.ms-excel", "office"),
        ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "office"),
        ("application/epub+zip", "office"),
        ("application/zip", "archive"),
        ("font/woff2", "other"),
        ("application/x-something", "other"),
        ("nonsense", "unknown"),
    ],
)
def test_a_served_type_has_a_family(content_type: str, family: str) -> None:
    assert normal_type(content_type) == family
    assert family in FAMILIES


@pytest.mark.parametrize(
    ("start", "url", "family"),
    [
        (b"%PDF-1.4", "http://a/x.html", "pdf"),
        (b"\x89PNG\r\n\x1a\n", "http://a/", "image"),
        (b"RIFF\0\0\0\0WEBP", "http://a/", "image"),
        (b"RIFF\0\0\0\0WAVE", "http://a/", "audio"),
        (b"\0\0\0\x18ftypmp42", "http://a/", "video"),
        (b"\n<!DOCTYPE html>", "http://a/x.jpg", "html"),
        (b"<!-- a note --><HTML>", "http://a/", "html"),
        (b"<?xml version='1.0'?>", "http://a/", "text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "http://a/x", "office"),
        (b"PK\x03\x04", "http://a/", "archive"),
        (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", "http://a/", "office"),
        (b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/epub+zip", "http://a/", "office"),
        (b"\0\1\2", "http://a/x.MP3?y=z.html", "audio"),
        (b"\0\1\2", "http://a/x.docx", "office"),
        (b"just words", "http://a/", "text"),
        (b"\0\1\2", "http://a/", "unknown"),
        (b"", "http://[broken", "unknown"),
        (b"", "", "unknown"),
    ],
)
@pytest.mark.parametrize("content_type", ["", "application/octet-stream", "unk"])
def test_a_type_that_says_nothing_is_guessed(
    content_type: str, start: bytes, url: str, family: str
) -> None:
    assert normal_type(content_type, url, start) == family


def test_a_zip_file_may_be_an_office_file() -> None:
    start = b"PK\x03\x04" + bytes(26)
    assert normal_type("application/zip", "http://a/x", start + b"word/document.xml") == "office"
    assert normal_type("application/zip", "http://a/x.docx") == "office"
    assert normal_type("application/zip", "http://a/x.zip", start + b"a.txt") == "archive"


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

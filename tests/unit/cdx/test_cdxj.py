"""CDXJ lines."""

import pytest

from nwx.cdx.cdxj import format_cdxj, is_cdxj, parse_cdxj, url_of_key
from nwx.errors import CdxError

LINE = (
    'com,example)/ 20140127171200 {"url": "http://example.com", "mime": "text/html",'
    ' "status": "200", "digest": "B2LT", "length": "1046", "offset": "334",'
    ' "filename": "dupes.warc.gz", "languages": "deu"}'
)


def test_known_names_and_the_others() -> None:
    line = parse_cdxj(LINE.encode())
    assert (line.url, line.content_type, line.status_code) == (
        "http://example.com",
        "text/html",
        "200",
    )
    assert (line.record_length, line.source_file_offset) == (1046, 334)
    assert line.extra == {"languages": "deu"}


def test_what_is_read_is_written_again() -> None:
    assert format_cdxj(parse_cdxj(LINE.encode())) == LINE


def test_numbers_and_nested_values_are_text() -> None:
    line = parse_cdxj(b'k 2014 {"url": "http://a/", "status": 200, "length": 5, "x": {"y": [1]}}')
    assert (line.status_code, line.record_length, line.extra["x"]) == ("200", 5, '{"y": [1]}')


def test_the_ors_dialect() -> None:
    line = parse_cdxj(b'com,example)/a 2013 {"mime_type": "text/css", "status_code": "302"}')
    assert (line.url, line.content_type, line.status_code) == (
        "http://example.com/a",
        "text/css",
        "302",
    )


@pytest.mark.parametrize(
    ("urlkey", "url"),
    [
        ("com,example)/a?b=1", "http://example.com/a?b=1"),
        ("com,example:8080)/", "http://example.com:8080/"),
        ("example.com/a", "http://example.com/a"),
        ("dns://example.com", "dns://example.com"),
    ],
)
def test_a_url_from_a_urlkey(urlkey: str, url: str) -> None:
    assert url_of_key(urlkey) == url


@pytest.mark.parametrize(
    "line",
    [
        b"key 2014",
        b"key 2014 {",
        b"key 2014 [1]",
        b'key 20x4 {"url": "http://a/"}',
        b'key 2014 {"url": "http://a/", "length": "many"}',
        b"key 2014 " + b'{"a":' * 100_000,
    ],
)
def test_a_broken_line_is_an_error(line: bytes) -> None:
    with pytest.raises(CdxError):
        parse_cdxj(line)


def test_cdxj_is_told_from_cdx() -> None:
    assert is_cdxj(LINE.encode())
    assert not is_cdxj(b"key 2014 http://a/ {} - - -")
    assert not is_cdxj(b'!meta {"a": 1}')

"""Lines as rows of texts."""

import json

import pytest

from nwx.cdx.layouts import CDX9, CDX11, CDX14, LAYOUTS, Layout, format_header, parse_header
from nwx.cdx.rows import (
    REVISIT,
    CdxRow,
    extra_fields,
    format_cdx,
    format_cdxj,
    is_cdxj,
    is_revisit_row,
    number_or_none,
    parse_cdx,
    parse_cdxj,
    parse_listed,
    row_is_capture,
    row_parser,
    url_of_key,
)
from nwx.errors import CdxError
from tests.cdxlines import ALL_RECORDS, CAPTURED

ELEVEN = "k 2014 http://a/ text/html 200 AAAA - - 5 7 f.warc"
parse = row_parser(None, "web")


def test_a_line_of_eleven_fields_is_a_row_as_it_stands() -> None:
    row = parse(ELEVEN)
    assert " ".join(row[:11]) == ELEVEN
    assert (row.collection, row.extra) == ("web", "")


def test_missing_fields_are_dashes() -> None:
    row = parse("k 2014 http://a/ text/html 200 AAAA 5")
    assert (row.length, row.offset, row.filename) == ("5", "-", "-")


def test_nine_fields_without_a_file_are_a_revisit() -> None:
    row = row_parser(CDX9, "")("k 2014 http://a/ text/html 200 AAAA - 7 -")
    assert is_revisit_row(row)
    assert row.mime == REVISIT


def test_fourteen_fields_tell_the_original_as_cdxj_does() -> None:
    row = parse(f"{ELEVEN} 3 4 g.warc")
    assert extra_fields(row) == {"orig.length": "3", "orig.offset": "4", "orig.filename": "g.warc"}
    assert extra_fields(parse(f"{ELEVEN} - - -")) == {}


def test_cdxj_is_told_by_its_form() -> None:
    values = {"url": "http://a/", "status": 200, "length": "5", "filename": "f", "x": [1]}
    row = parse(f"k 2014 {json.dumps(values)}")
    assert (row.url, row.status, row.mime, row.filename) == ("http://a/", "200", "-", "f")
    assert extra_fields(row) == {"x": "[1]"}


@pytest.mark.parametrize("line", ["", "k 2014", "k 2014 {", 'k 2014 {"a"', "k 2014 [] " * 9])
def test_what_cannot_be_read_is_an_error(line: str) -> None:
    with pytest.raises(CdxError):
        parse(line)


def test_a_layout_takes_no_other_number_of_fields() -> None:
    named = row_parser(Layout("abk"), "")
    assert named("http://a/ 2014 AAAA").digest == "AAAA"
    with pytest.raises(CdxError, match="a line of 11 fields"):
        named(ELEVEN)


def test_rows_of_other_records_are_told_from_captures() -> None:
    rows = map(parse, ALL_RECORDS.splitlines())
    assert tuple(row.url for row in rows if row_is_capture(row)) == CAPTURED


DIGEST = "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"
FULL_LINE = (
    f"org,example)/ 20140127171200 http://example.org/ text/html 200 {DIGEST}"
    " - - 1046 334 a.warc.gz"
)


def test_eleven_fields_are_told_by_their_number() -> None:
    assert parse_cdx(FULL_LINE.encode()) == CdxRow(
        urlkey="org,example)/",
        timestamp="20140127171200",
        url="http://example.org/",
        mime="text/html",
        status="200",
        digest=DIGEST,
        length="1046",
        offset="334",
        filename="a.warc.gz",
    )


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=lambda layout: layout.letters)
def test_what_is_written_is_read(layout: Layout) -> None:
    line = CdxRow(
        *("org,example)/", "2014", "http://example.org/", "text/html", "200", DIGEST, "http://r/"),
        filename="a.warc",
    )
    kept = parse_cdx(format_cdx(line, layout).encode())
    assert format_cdx(kept, layout) == format_cdx(line, layout)
    assert (kept.timestamp, kept.url, kept.digest) == ("2014", "http://example.org/", DIGEST)


def test_fourteen_fields_keep_the_place_of_the_original() -> None:
    line = parse_cdx(f"{FULL_LINE} 900 12 first.warc.gz".encode())
    assert format_cdx(line, CDX14) == f"{FULL_LINE} 900 12 first.warc.gz"


@pytest.mark.parametrize(
    ("header", "letters", "delimiter"),
    [
        (b" CDX N b a m s k r M S V g", "NbamskrMSVg", " "),
        (b"CDX b e a m s c V n g", "beamscVng", " "),
        (b"\tCDX\tN\tb\ta\tk", "Nbak", "\t"),
        (b" CDX N b a m s k r V g ", "NbamskrVg", " "),
    ],
)
def test_a_header_tells_the_layout(header: bytes, letters: str, delimiter: str) -> None:
    assert parse_header(header) == Layout(letters, delimiter)


def test_a_header_that_is_written_is_read() -> None:
    assert parse_header(format_header(CDX9).encode()) == CDX9


@pytest.mark.parametrize("line", [FULL_LINE.encode(), b"", b" CDX ", b"com,CDX)/ 2014"])
def test_other_lines_are_no_headers(line: bytes) -> None:
    assert parse_header(line) is None


@pytest.mark.parametrize("header", [b" CDX N a m", b" CDX N b m", b" CDX N b\ta"])
def test_a_header_of_no_use_is_an_error(header: bytes) -> None:
    with pytest.raises(CdxError):
        parse_header(header)


def test_a_header_changes_the_order() -> None:
    layout = parse_header(b"CDX b e a m s c V n g")
    line = parse_cdx(
        b"20080610152724 1.2.3.4 http://a/ text/html 404 YGGQ 756 1692 IAH-2008", layout
    )
    assert (line.timestamp, line.url, line.digest) == ("20080610152724", "http://a/", "YGGQ")
    assert (line.offset, line.filename, line.urlkey) == ("756", "IAH-2008", "-")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"a b c", "3 fields; expected 7, 9, 10, 11, 14"),
        (FULL_LINE.encode().replace(b" - - ", b"  - "), "field 7 is empty"),
        (FULL_LINE.encode().replace(b"20140127171200", b"201401271712001"), "not a timestamp"),
        (FULL_LINE.encode().replace(b"20140127171200", b"20140231000000"), "impossible date"),
        (FULL_LINE.encode().replace(b"20140127171200", b"-"), "not a timestamp"),
        (FULL_LINE.encode().replace(b"http://example.org/", b"-"), "the URL is missing"),
        (FULL_LINE.encode().replace(b"1046", b"1k"), "record length"),
        (FULL_LINE.encode().replace(b"example.org/ ", b"example.org/\t"), "control character"),
    ],
)
def test_a_broken_line_is_an_error(line: bytes, reason: str) -> None:
    with pytest.raises(CdxError, match=reason):
        parse_cdx(line)


def test_a_line_must_fit_its_header() -> None:
    with pytest.raises(CdxError, match="11 fields, the header has 9"):
        parse_cdx(FULL_LINE.encode(), CDX9)


def test_bytes_that_are_no_utf8_survive() -> None:
    raw = FULL_LINE.encode().replace(b"example.org/ text", b"example.org/\xff\xe9 text")
    assert format_cdx(parse_cdx(raw)).encode("utf-8", "surrogateescape") == raw


def test_blanks_inside_values_are_encoded() -> None:
    line = CdxRow("org,example)/", "2014", "http://example.org/a b", filename="my file.warc")
    assert "http://example.org/a%20b" in format_cdx(line, CDX11)
    assert format_cdx(line, CDX11).count(" ") == 10


def test_revisits_are_told_by_type_or_by_a_missing_file() -> None:
    nine = f"k 2014 http://a/ text/html 200 {DIGEST} - 334 -".encode()
    assert is_revisit_row(parse_cdx(FULL_LINE.replace("text/html", "warc/revisit").encode()))
    assert is_revisit_row(parse_cdx(nine, CDX9))
    assert not is_revisit_row(parse_cdx(nine.replace(b"334 -", b"334 a.warc"), CDX9))
    assert not is_revisit_row(parse_cdx(FULL_LINE.encode(), CDX11))


@pytest.mark.parametrize("length", ["-", "-1"])
def test_unknown_sizes_are_missing(length: str) -> None:
    row = parse_cdx(FULL_LINE.replace("1046", length).encode())
    assert (row.length, row.offset) == ("-", "334")
    assert (number_or_none(row.length), number_or_none(row.offset)) == (None, 334)


LINE = (
    'com,example)/ 20140127171200 {"url": "http://example.com", "mime": "text/html",'
    ' "status": "200", "digest": "B2LT", "length": "1046", "offset": "334",'
    ' "filename": "dupes.warc.gz", "languages": "deu"}'
)


def test_known_names_and_the_others() -> None:
    line = parse_cdxj(LINE.encode())
    assert (line.url, line.mime, line.status) == (
        "http://example.com",
        "text/html",
        "200",
    )
    assert (line.length, line.offset) == ("1046", "334")
    assert extra_fields(line) == {"languages": "deu"}


def test_what_is_read_is_written_again() -> None:
    assert format_cdxj(parse_cdxj(LINE.encode())) == LINE


def test_numbers_and_nested_values_are_text() -> None:
    line = parse_cdxj(b'k 2014 {"url": "http://a/", "status": 200, "length": 5, "x": {"y": [1]}}')
    assert (line.status, line.length, extra_fields(line)) == ("200", "5", {"x": '{"y": [1]}'})


def test_the_ors_dialect() -> None:
    line = parse_cdxj(b'com,example)/a 2013 {"mime_type": "text/css", "status_code": "302"}')
    assert (line.url, line.mime, line.status) == (
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
def test_a_broken_cdxj_line_is_an_error(line: bytes) -> None:
    with pytest.raises(CdxError):
        parse_cdxj(line)


def test_cdxj_is_told_from_cdx() -> None:
    assert is_cdxj(LINE.encode())
    assert not is_cdxj(b"key 2014 http://a/ {} - - -")
    assert not is_cdxj(b'!meta {"a": 1}')


@pytest.mark.parametrize("date", ["2014-01-27T17:12:00Z", "2014-01-27T17:12:00.123Z"])
def test_iso_dates_are_read_as_digits(date: str) -> None:
    line = FULL_LINE.replace("20140127171200", date).encode()
    assert parse_cdx(line) == parse_cdx(FULL_LINE.encode())
    listed = f"{date} {DIGEST} http://example.org/".encode()
    assert parse_listed(listed).timestamp == "20140127171200"


@pytest.mark.parametrize("date", ["2014-02-31T00:00:00Z", "2014-01", "2014-1-27", "x-2014-01-27"])
def test_other_dates_with_hyphens_are_errors(date: str) -> None:
    with pytest.raises(CdxError):
        parse_cdx(FULL_LINE.replace("20140127171200", date).encode())

"""Columns of the columnar index: hosts, URLs, languages."""

import polars as pl
import pytest

from nwx.errors import CdxError
from nwx.exports.cc_index import (
    CC_INDEX_COLUMNS,
    cc_index_rows,
    host_columns,
    iso639_3,
    lines_frame,
)


@pytest.mark.parametrize(
    ("host", "columns"),
    [
        ("192.0.2.7", ("192.0.2.7", *[None] * 10)),
        ("[::1]", ("[::1]", *[None] * 10)),
        ("co.uk", ("co.uk", "uk", "co", None, None, None, "co.uk", None, "co.uk", None, "uk.co")),
        (
            "A.Blogspot.com.",
            (
                *("a.blogspot.com", "com", "blogspot", "a", None, None, "com", "blogspot.com"),
                *("blogspot.com", "a.blogspot.com", "com.blogspot.a"),
            ),
        ),
        ("lan", ("lan", "lan", *[None] * 8, "lan")),
    ],
)
def test_a_host_is_cut_as_common_crawl_cuts_it(host: str, columns: tuple[str | None, ...]) -> None:
    assert host_columns(host) == columns


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("HTTPS://u:p@A.org:8443/b?c#d", ("https", "a.org", 8443, "/b", "c")),
        ("http:/a.org", ("http", "a.org", None, "", None)),
        ("http://a.org?", ("http", "a.org", None, "", "")),
        ("dns:a.org", ("dns", "a.org", None, "", None)),
        ("urn:x:y", ("urn", "", None, "x:y", None)),
    ],
)
def test_a_url_is_cut(url: str, parts: tuple[object, ...]) -> None:
    line = f"k 20150101000000 {url} - - - - - - - -".encode()
    rows, left_out = cc_index_rows(lines_frame([line], _fail), "c")
    names = ("url_protocol", "url_host_name", "url_port", "url_path", "url_query")
    assert rows.select(names).row(0) == parts
    assert tuple(rows.columns) == tuple(CC_INDEX_COLUMNS)
    assert rows.select("fetch_status", "warc_record_offset", "warc_filename").row(0) == (-1, -1, "")
    assert not len(left_out)


def _fail(error: CdxError) -> None:
    raise error


def test_lines_of_all_layouts_come_in_one_order() -> None:
    lines = [
        b"a 2014 http://a.org/ text/html 200 A 9",
        b"b 20140101 http://b.org/ text/html 200 B - 5 -",
        b'c 20140101000000 {"url": "http://c.org/", "status": 200}',
        b"d 20140101000000 {",
    ]
    errors: list[CdxError] = []
    rows, _ = cc_index_rows(lines_frame(lines, errors.append), "")
    assert rows["url_surtkey"].to_list() == ["a", "b", "c"]
    assert rows["subset"].to_list() == ["warc", "crawldiagnostics", "warc"]
    assert rows["fetch_time"].dt.year().unique().to_list() == [2014]
    assert len(errors) == 1
    assert not len(lines_frame([b"d 2014 {"], errors.append).drop_nulls(pl.col("urlkey")))


def test_languages_have_the_codes_of_iso_639_3() -> None:
    codes = "en de fr zh ar cs nl sq et no mk gu he"
    three = "eng deu fra zho ara ces nld sqi est nor mkd guj heb"
    assert list(map(iso639_3, codes.split())) == three.split()
    assert (iso639_3("tlh"), iso639_3("xx")) == ("tlh", "")

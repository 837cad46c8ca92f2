"""Lines as rows of texts."""

import json

import pytest

from nwx.cdx.layouts import CDX9, Layout
from nwx.cdx.lines import REVISIT
from nwx.cdx.rows import extra_fields, is_revisit_row, row_is_capture, row_parser
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

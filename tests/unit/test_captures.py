"""A single rule decides what a capture is, for records, single lines and columns of lines."""

from dataclasses import replace
from pathlib import Path

import pytest

from nwx.captures import (
    DEFAULT_VALUES,
    CaptureValues,
    PagePlace,
    capture_of_values,
    is_captured,
    is_page,
    joined_columns,
    names_capture,
    page_places,
    values_of,
)
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece, FileReading
from nwx.model import Capture
from tests.cdxlines import ALL_RECORDS, CAPTURED, FIELDS_OF_ALL
from tests.conformance.archive import capture
from tests.unit.engine.embedded.making import page


@pytest.mark.parametrize(("mime", "status", "url", "captured"), FIELDS_OF_ALL)
def test_lines_of_captures_and_of_other_records(
    mime: str, status: str, url: str, captured: bool
) -> None:
    assert names_capture(mime, status, url) == captured
    assert names_capture(mime, status.strip("-"), url) == captured


@pytest.mark.parametrize(
    ("record_type", "content_type", "url", "captured"),
    [
        ("response", "application/http; msgtype=response", "http://a.example/", True),
        ("response", "text/dns", "dns:a.example", True),
        ("resource", "text/html", "http://a.example/", True),
        ("resource", "application/warc-fields", "http://a.example/", False),
        ("resource", "text/plain", "metadata://gnu.org/software/wget/warc/wget.log", False),
        ("revisit", "application/http", "http://a.example/", True),
        ("conversion", "text/plain", "http://a.example/", True),
        ("metadata", "application/json", "http://a.example/", False),
        ("request", "application/http; msgtype=request", "http://a.example/", False),
        ("warcinfo", "application/warc-fields", "", False),
        ("continuation", "", "http://a.example/", False),
    ],
)
def test_records(record_type: str, content_type: str, url: str, captured: bool) -> None:
    assert is_captured(record_type, content_type, url) == captured


def test_columns_have_the_rule_of_single_lines(tmp_path: Path) -> None:
    path = tmp_path / "all.cdx"
    path.write_text(ALL_RECORDS)
    (block,) = blocks(FilePiece(CdxSource(str(path))), FileReading(str(path)))
    columns = CdxColumns(block, FileReading(str(path)))
    columns.keep(columns.names_captures())
    assert [url.decode() for url in columns.texts("a")] == list(CAPTURED)


CAPTURES = [page(1).capture, replace(page(2).capture, digest="", document_id="")]


def test_captures_come_back_from_their_values() -> None:
    rows = values_of(CAPTURES)
    assert list(map(capture_of_values, rows)) == CAPTURES
    held = CaptureValues(rows)
    assert list(held) == CAPTURES
    assert (len(held), held[1], list(held[:1])) == (2, CAPTURES[1], CAPTURES[:1])
    assert values_of(held) is rows
    by_column = CaptureValues(columns=joined_columns([held, CaptureValues(rows[:1])]))
    assert list(by_column) == [*CAPTURES, CAPTURES[0]]
    assert (len(by_column), list(by_column[1:])) == (3, [CAPTURES[1], CAPTURES[0]])
    assert by_column.rows == [*rows, rows[0]]


def test_values_at_the_end_may_be_left_out() -> None:
    (whole,) = values_of(CAPTURES[:1])
    short = whole[: -len(DEFAULT_VALUES)]
    assert [*short, *DEFAULT_VALUES.values()] == [*whole]
    assert capture_of_values(short) == CAPTURES[0]
    assert list(CaptureValues(columns=CaptureValues([short]).columns)) == CAPTURES[:1]
    assert list(CaptureValues([short, whole]).columns["via"]) == [""] * 2


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

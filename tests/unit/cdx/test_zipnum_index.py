"""Lines of .idx and .loc files."""

import pytest

from nwx.cdx.zipnum_index import (
    ZipNumBlock,
    block_key,
    format_index_line,
    format_locations,
    format_meta,
    format_wacz_line,
    parse_index_line,
    parse_locations,
    parse_meta,
)
from nwx.errors import FormatError

BLOCK = ZipNumBlock(b"org,a)/ 2014", "cdx-00000.gz", 10, 200, 3)


@pytest.mark.parametrize("block", [BLOCK, ZipNumBlock(b"k 2", "p\udcff", 0, 1)])
def test_a_classic_line_that_is_written_is_read(block: ZipNumBlock) -> None:
    assert parse_index_line(format_index_line(block).rstrip(b"\n")) == block


def test_a_line_in_the_form_of_wacz_that_is_written_is_read() -> None:
    block = ZipNumBlock(b"org,a)/ 2014", "index.cdx.gz", 10, 200, None, "sha256:00")
    assert parse_index_line(format_wacz_line(block).rstrip(b"\n"), block.part) == block


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"k 2014",
        b"k\tp\t1",
        b"k\tp\t1\t2\t3\t4",
        b"k\tp\tx\t2",
        b"k\tp\t1\t0",
        b"k\tp\t1\t999999999999",
        b"k 2014 {",
        b'k 2014 {"offset": -1, "length": 5}',
        b'k 2014 {"offset": true, "length": 5}',
        b"k 2014 []",
    ],
)
def test_other_lines_are_errors(line: bytes) -> None:
    with pytest.raises(FormatError):
        parse_index_line(line)


def test_the_file_that_a_meta_line_names() -> None:
    assert parse_meta(format_meta("index.cdx.gz").rstrip(b"\n")) == "index.cdx.gz"
    assert parse_meta(b"org,a)/ 2014 {}") is None
    with pytest.raises(FormatError, match="names no file"):
        parse_meta(b"!meta 0 {}")
    with pytest.raises(FormatError, match="blocks of the format"):
        parse_meta(b'!meta 0 {"filename": "a", "format": "other"}')


def test_locations_that_are_written_are_read() -> None:
    locations = {"a": ("a.gz", "/b/a.gz"), "b": ("s3://c/b",)}
    assert parse_locations(format_locations(locations)) == locations
    assert parse_locations(b"a\n\nb\tx\n") == {"b": ("x",)}


def test_the_key_of_a_block_is_how_its_first_line_begins() -> None:
    assert block_key(b"org,a)/ 2014 http://a/ x") == b"org,a)/ 2014"
    assert block_key(b"one") == b"one"

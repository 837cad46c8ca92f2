"""Files of CDX lines."""

import gzip
import io
from pathlib import Path

import fsspec
import pytest
import zstandard

from nwx.cdx.files import (
    MAX_LINE_BYTES,
    ZipNumBlock,
    block_key,
    compression,
    format_index_line,
    format_locations,
    format_meta,
    format_wacz_line,
    open_cdx,
    parse_index_line,
    parse_locations,
    parse_meta,
    read_cdx,
)
from nwx.errors import CdxError, FormatError, SourceError

NINE = b"org,example)/ 2014 http://example.org/ text/html 200 B2LT - 334 a.warc.gz\n"
ELEVEN = b"org,example)/ 2015 http://example.org/ text/html 200 B2LT - - 99 334 a.warc.gz\n"
CDXJ = b'org,example)/ 2016 {"url": "http://example.org/"}\n'


def _read(path: Path) -> tuple[list[str], list[CdxError]]:
    problems: list[CdxError] = []
    return [line.timestamp for line in read_cdx(str(path), problems.append)], problems


@pytest.mark.parametrize(
    ("name", "pack"),
    [("plain", bytes), ("gzip", gzip.compress), ("zstd", zstandard.compress)],
)
def test_compressions_are_told_by_the_content(tmp_path: Path, name: str, pack: object) -> None:
    path = tmp_path / "lines"
    path.write_bytes(pack(NINE + ELEVEN + CDXJ))  # type: ignore[operator]
    assert _read(path) == (["2014", "2015", "2016"], [])
    assert compression(str(path)) == name.replace("plain", "")


def test_members_without_a_newline_at_their_end_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "zipnum.gz"
    path.write_bytes(
        gzip.compress(NINE[:-1], mtime=0) + gzip.compress(ELEVEN[:-1], mtime=0) + bytes(7)
    )
    assert _read(path) == (["2014", "2015"], [])


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(NINE))))
    with open_cdx("-") as stream:
        assert stream.read() == NINE
    with pytest.raises(SourceError, match="only once"):
        open_cdx("-")


def test_many_members_of_one_line(tmp_path: Path) -> None:
    path = tmp_path / "members.gz"
    path.write_bytes(b"".join(gzip.compress(NINE, mtime=0) for _ in range(500)))
    assert _read(path) == (["2014"] * 500, [])


@pytest.mark.parametrize("cut", [20, 60])
def test_a_file_cut_short_is_an_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(NINE * 1000, mtime=0)[:cut])
    with pytest.raises(SourceError, match="truncated"):
        _read(path)


def test_garbage_behind_gzip_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "garbage.gz"
    path.write_bytes(gzip.compress(NINE, mtime=0) + b"garbage that is no gzip member")
    with pytest.raises(SourceError, match="cannot be read further"):
        _read(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be opened"):
        open_cdx(str(tmp_path / "none"))


def test_broken_lines_are_named_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "broken.cdx"
    path.write_bytes(b" CDX N b a m s k r V g\r\n" + NINE + b"\n" + ELEVEN + NINE[:-1])
    dates, problems = _read(path)
    assert dates == ["2014", "2014"]
    assert [(problem.file, problem.line) for problem in problems] == [(str(path), 4)]


def test_headers_are_followed_through_the_file(tmp_path: Path) -> None:
    path = tmp_path / "joined.cdx"
    other = b" CDX b a k\n2017 http://example.org/ B2LT\n"
    path.write_bytes(b" CDX N b a m s k r V g\n" + NINE + other)
    assert _read(path) == (["2014", "2017"], [])


def test_meta_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "meta.cdxj"
    path.write_bytes(b'!meta 0 {"format": "cdxj-gzip-1.0"}\n!id {"uri": "http://a/"}\n' + CDXJ)
    assert _read(path) == (["2016"], [])


def test_an_endless_line_is_one_problem_and_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.cdx"
    path.write_bytes(b"x" * (3 * MAX_LINE_BYTES) + b"\n" + NINE)
    dates, problems = _read(path)
    assert dates == ["2014"]
    assert [problem.line for problem in problems] == [1]


def test_reading_in_small_pieces_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "pieces.gz"
    content = NINE * 5000
    middle = len(NINE) * 1300
    path.write_bytes(
        gzip.compress(content[:middle], mtime=0) + gzip.compress(content[middle:], mtime=0)
    )
    with open_cdx(str(path)) as stream:
        assert b"".join(iter(lambda: stream.read(977), b"")) == content


def test_lines_behind_an_address() -> None:
    line = b"com,a)/ 20200101000000 http://a.com/ text/html 200 X - - 1 2 a.warc\n"
    with fsspec.open("memory://lines/a.cdx.gz", "wb") as stream:
        stream.write(gzip.compress(line * 3))
    assert len(list(read_cdx("memory://lines/a.cdx.gz", pytest.fail))) == 3
    with pytest.raises(SourceError, match="none cannot be opened"):
        list(read_cdx("memory://lines/none", pytest.fail))


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
    with pytest.raises(FormatError, match="has no file name"):
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

"""Files of CDX lines."""

import gzip
from pathlib import Path

import fsspec
import pytest
import zstandard

from nwx.cdx.files import MAX_LINE_BYTES, compression, open_cdx, read_cdx
from nwx.errors import CdxError, SourceError

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


def test_many_members_of_one_line(tmp_path: Path) -> None:
    path = tmp_path / "members.gz"
    path.write_bytes(b"".join(gzip.compress(NINE, mtime=0) for _ in range(500)))
    assert _read(path) == (["2014"] * 500, [])


@pytest.mark.parametrize("cut", [20, 60])
def test_a_file_cut_short_is_an_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(NINE * 1000, mtime=0)[:cut])
    with pytest.raises(SourceError, match="cut short"):
        _read(path)


def test_garbage_behind_gzip_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "garbage.gz"
    path.write_bytes(gzip.compress(NINE, mtime=0) + b"garbage that is no gzip member")
    with pytest.raises(SourceError, match="cannot be read on"):
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

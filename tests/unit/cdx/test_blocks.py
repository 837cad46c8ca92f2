"""Blocks of clean lines, whatever stands between them."""

from pathlib import Path

import pytest

from nwx.cdx.blocks import blocks, start_of
from nwx.cdx.inputs import CdxSource, FilePiece
from nwx.cdx.layouts import CDX9, CDX11, DATE_FIRST, DATE_LAST, Layout
from nwx.cdx.problems import FileReading

ELEVEN = b"k 20140101000000 http://a/ text/html 200 AAAA - - 5 7 f.warc\n"


def read(tmp_path: Path, content: bytes, **options: object) -> tuple[list[bytes], FileReading]:
    path = tmp_path / "a.cdx"
    path.write_bytes(content)
    reading = FileReading("a.cdx")
    source = CdxSource(str(path), **options)  # type: ignore[arg-type]
    found = []
    for block in blocks(FilePiece(source), reading):
        assert len(block.lines) == len(block.ends)
        begin = 0
        for ends in block.ends.tolist():
            found.append(block.data[begin : ends[-1]])
            begin = ends[-1] + 1
    return found, reading


def test_clean_lines_are_taken_as_they_are(tmp_path: Path) -> None:
    found, reading = read(tmp_path, ELEVEN * 3)
    assert found == [ELEVEN[:-1]] * 3
    assert (reading.line, reading.problems_total) == (3, 0)


def test_lines_that_are_not_clean_are_looked_at_one_by_one(tmp_path: Path) -> None:
    cdxj = b'k 20140101000000 {"url": "http://a/", "status": "200"}\n'
    found, reading = read(
        tmp_path, b" CDX N b a m s k r M S V g\n" + ELEVEN + b"\n!note\nbroken line\n" + cdxj
    )
    assert found == [ELEVEN[:-1], b"k 20140101000000 http://a/ - 200 - - - - - -"]
    assert [problem.line for problem in reading.problems] == [5]


def test_revisits_of_nine_fields_stay_revisits_in_eleven(tmp_path: Path) -> None:
    nine = b"k 20140101000000 http://a/ text/html 200 AAAA - 7 -\n"
    found, _ = read(tmp_path, ELEVEN + nine)
    assert found[1] == b"k 20140101000000 http://a/ warc/revisit 200 AAAA - - - 7 -"


@pytest.mark.parametrize(
    ("content", "options", "clean"),
    [
        (ELEVEN, {}, CDX11),
        (b" CDX b a k\n2014 http://a/ A\n", {}, Layout("bak")),
        (b"k 2014 http://a/ text/html 200 AAAA - 7 f\n", {}, CDX9),
        (b"2014 A http://a/\n", {"held": True}, DATE_FIRST),
        (b"http://a/ A 2014\n", {"held": True}, DATE_LAST),
        (b"2014 http://a/\n", {"layout": Layout("ba")}, Layout("ba")),
        (b"", {}, CDX11),
    ],
)
def test_how_a_file_is_read_is_told_by_its_first_lines(
    tmp_path: Path, content: bytes, options: dict[str, object], clean: Layout
) -> None:
    path = tmp_path / "a.cdx"
    path.write_bytes(content)
    assert start_of(CdxSource(str(path), **options)).clean == clean  # type: ignore[arg-type]

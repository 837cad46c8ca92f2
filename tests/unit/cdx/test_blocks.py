"""Blocks of clean lines, whatever is between them."""

from io import BufferedReader, BytesIO
from itertools import pairwise
from pathlib import Path

import pytest

from nwx.cdx import blocks as module
from nwx.cdx.blocks import PAD_BYTES, LongRunError, blocks, padded, raw_blocks, start_of
from nwx.cdx.inputs import CdxSource, FilePiece, FileReading
from nwx.cdx.layouts import CDX9, CDX11, DATE_FIRST, DATE_LAST, Layout

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


CONTENT = b"".join(b"key%d %s\n" % (number // 4, b"x" * (number * 7 % 40)) for number in range(60))


def stream(content: bytes) -> BufferedReader:
    return BufferedReader(BytesIO(content))  # type: ignore[arg-type]


def read_raw(content: bytes, start: int, end: int | None, *, by_run: bool = False) -> list[bytes]:
    piece = FilePiece(CdxSource("a"), start, end)
    found = list(raw_blocks(stream(content), piece, by_run=by_run))
    assert all(block.endswith(bytes(PAD_BYTES)) for block in found)
    return [block[:-PAD_BYTES] for block in found]


@pytest.mark.parametrize("by_run", [False, True])
@pytest.mark.parametrize("size", [1, 50, 97, 400])
def test_pieces_cover_all_lines_once(
    size: int, by_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 64)
    bounds = [*range(0, len(CONTENT), size), None]
    blocks = [
        block
        for start, end in pairwise(bounds)
        for block in read_raw(CONTENT, start or 0, end, by_run=by_run)
    ]
    assert b"".join(blocks) == CONTENT
    firsts = [block.split(b" ")[0] for block in blocks]
    assert not by_run or len(firsts) == len(set(firsts)), "no run is cut"


def test_line_ends_become_newlines_also_the_last() -> None:
    assert b"".join(read_raw(b"a\r\nb\r\nc", 0, None)) == b"a\nb\nc\n"


def test_a_run_that_is_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 64)
    monkeypatch.setattr(module, "LONGEST_RUN_BYTES", 200)
    with pytest.raises(LongRunError):
        read_raw(b"same x\n" * 100, 0, None, by_run=True)


def test_a_pad_lets_wide_loads_reach_over_the_end() -> None:
    assert padded(b"a\n") == b"a\n" + bytes(PAD_BYTES)


def test_iso_dates_become_digits(tmp_path: Path) -> None:
    iso = ELEVEN.replace(b"20140101000000", b"2014-01-01T00:00:00Z")
    found, reading = read(tmp_path, iso + ELEVEN + ELEVEN.replace(b"20140101000000", b"2014-13-01"))
    assert found == [ELEVEN[:-1]] * 2
    assert [problem.line for problem in reading.problems] == [3]
    for content in (b"2014-01-01T00:00:00Z AAAA http://a/\n", b"http://a/ AAAA 2014-01-01\n"):
        found, reading = read(tmp_path, content, held=True)
        assert (found, reading.problems) == ([b"http://a/ AAAA 20140101000000"], [])

"""Pieces of files give each line once, whole, wherever they are cut."""

from io import BufferedReader, BytesIO
from itertools import pairwise

import pytest

from nwx.cdx import raw_blocks as module
from nwx.cdx.inputs import CdxSource, FilePiece
from nwx.cdx.raw_blocks import PAD_BYTES, LongRunError, padded, raw_blocks

CONTENT = b"".join(b"key%d %s\n" % (number // 4, b"x" * (number * 7 % 40)) for number in range(60))


def stream(content: bytes) -> BufferedReader:
    return BufferedReader(BytesIO(content))  # type: ignore[arg-type]


def read(content: bytes, start: int, end: int | None, *, by_run: bool = False) -> list[bytes]:
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
        for block in read(CONTENT, start or 0, end, by_run=by_run)
    ]
    assert b"".join(blocks) == CONTENT
    firsts = [block.split(b" ")[0] for block in blocks]
    assert not by_run or len(firsts) == len(set(firsts)), "no run is cut"


def test_line_ends_become_newlines_also_the_last() -> None:
    assert b"".join(read(b"a\r\nb\r\nc", 0, None)) == b"a\nb\nc\n"


def test_a_run_that_is_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 64)
    monkeypatch.setattr(module, "LONGEST_RUN_BYTES", 200)
    with pytest.raises(LongRunError):
        read(b"same x\n" * 100, 0, None, by_run=True)


def test_a_pad_lets_wide_loads_reach_over_the_end() -> None:
    assert padded(b"a\n") == b"a\n" + bytes(PAD_BYTES)

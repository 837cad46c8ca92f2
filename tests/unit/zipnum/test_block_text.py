"""What is kept of blocks gives the lines that the blocks have, whatever was asked before."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.cdx.zipnum_index import ZipNumBlock
from nwx.errors import FormatError
from nwx.zipnum.block_text import BlockText, RecentBlocks, block_lines

LINES = [b"org,example)/%06d 20200101000000 %s" % (number, b"x" * 300) for number in range(900)]
STORED = gzip.compress(b"".join(line + b"\n" for line in LINES))
KEYS = st.one_of(
    st.none(), st.sampled_from(LINES), st.integers(0, 1000).map(lambda n: b"org,example)/%06d" % n)
)


@given(st.lists(st.tuples(KEYS, KEYS), min_size=1, max_size=6))
@settings(deadline=None)
def test_any_lines_after_any_others(asked: list[tuple[bytes | None, bytes | None]]) -> None:
    kept = BlockText(STORED, "here")
    for start, end in asked:
        expected = [
            line for line in LINES if line >= (start or b"") and (end is None or line < end)
        ]
        assert list(kept.lines(start or b"", end)) == expected
        assert list(block_lines(STORED, start or b"", end)) == expected


def test_a_look_up_inflates_no_more_than_it_needs() -> None:
    kept = BlockText(STORED, "here")
    assert next(kept.lines(LINES[2])) == LINES[2]
    first = kept.size
    assert first < 200_000 < sum(map(len, LINES))
    assert next(kept.lines(LINES[1])) == LINES[1]
    assert kept.size == first


def test_of_a_large_block_only_the_first_megabytes_are_kept() -> None:
    lines = LINES * 30
    kept = BlockText(gzip.compress(b"\n".join(lines)), "here")
    assert list(kept.lines()) == lines
    assert list(kept.lines()) == lines
    assert kept.size < 6 << 20


def test_damage_is_told_each_time() -> None:
    kept = BlockText(STORED[: len(STORED) // 2], "here")
    for _ in range(2):
        assert next(kept.lines(LINES[5])) == LINES[5]
        with pytest.raises(FormatError, match="here: the gzip member is cut off"):
            list(kept.lines())


def test_the_blocks_that_were_read_last_are_kept() -> None:
    recent = RecentBlocks(250_000)
    read: list[int] = []

    def get(number: int) -> None:
        def one() -> BlockText:
            read.append(number)
            return BlockText(bytes(1_500), "here")

        recent.get(ZipNumBlock(b"", "part", number, 1_500), one)

    for number in (1, 2, 1, 3, 1, 2):
        get(number)
    assert read == [1, 2, 3, 2]

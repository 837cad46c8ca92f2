"""Cached blocks return the same lines as the blocks, whatever was requested before."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.cdx.files import ZipNumBlock
from nwx.errors import FormatError
from nwx.zipnum.blocks import (
    BlockIndex,
    BlockText,
    RecentBlocks,
    block_lines,
    holds_lines,
    member_size,
    members,
)
from nwx.zipnum.remote_bytes import LocalFile
from tests.unit.zipnum.making import cdxj_lines, write_cluster, write_wacz_index

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


def test_a_block_that_is_asked_for_again_is_kept_as_text_alone() -> None:
    recent = RecentBlocks(1 << 20)
    for number, line in enumerate((LINES[2], LINES[1], LINES[-1])):
        kept = recent.get(ZipNumBlock(b"", "part", 0, 1), lambda: BlockText(STORED, "here"))
        assert (200_000 < kept.size <= sum(map(len, LINES)) + len(LINES)) == (number > 0)
        assert next(kept.lines(line)) == line


def test_of_a_large_block_only_the_first_megabytes_are_kept() -> None:
    lines = LINES * 30
    kept = BlockText(gzip.compress(b"\n".join(lines)), "here")
    assert list(kept.lines()) == lines
    assert list(kept.lines()) == lines
    assert kept.size < 6 << 20


def test_a_block_that_is_read_to_its_end_takes_no_more_than_its_text() -> None:
    kept = BlockText(STORED, "here")
    for _ in range(2):
        assert list(kept.lines()) == LINES
        assert kept.size <= sum(map(len, LINES)) + len(LINES)


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


@contextmanager
def index_of(path: Path) -> Iterator[BlockIndex]:
    with closing(LocalFile(path)) as stored:
        yield BlockIndex(stored)


@pytest.mark.parametrize("listed", [0, 1 << 20])
@pytest.mark.parametrize("write", [write_cluster, write_wacz_index])
def test_blocks_between_two_keys_are_those_of_a_walk(
    tmp_path: Path, write: Callable[..., Path], listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.zipnum.blocks._LISTED_BYTES", listed)
    with index_of(write(tmp_path, cdxj_lines(600), 5)) as index:
        check(index)


def check(index: BlockIndex) -> None:
    every = list(index.blocks())
    assert len(every) == 120
    assert all(block.part in ("cdx-00000.gz", "index.cdx.gz") for block in every)
    for start in (b"", b"a", every[7].key, every[7].key + b" ", every[60].key[:12], b"z"):
        before = [block for block in every if block.key + b" " < start[: len(block.key) + 1]]
        assert list(index.blocks(start)) == every[max(0, len(before) - 1) :]
        end = every[80].key
        assert list(index.blocks(start, end)) == [
            block for block in index.blocks(start) if block.key < end
        ]


def test_a_line_that_is_none_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.idx"
    path.write_bytes(b"a 2014\tp\t0\t5\t1\nbroken\n")
    with index_of(path) as index, pytest.raises(FormatError, match=r"a\.idx at 15: "):
        list(index.blocks())


def test_an_empty_index_has_no_blocks(tmp_path: Path) -> None:
    (tmp_path / "a.idx").touch()
    with index_of(tmp_path / "a.idx") as index:
        assert (list(index.blocks()), list(index.blocks(b"a")), index.part) == ([], [], "")


BLOCKS = [b"\n".join([*cdxj_lines(20, start), b""]) for start in (0, 20, 40)]
PACKED = [gzip.compress(block, mtime=0) for block in BLOCKS]


def found(path: Path, data: bytes) -> list[tuple[int, int, bytes, bool]]:
    path.write_bytes(data)
    stored = LocalFile(path)
    try:
        return [(one.offset, one.length, one.content, bool(one.fault)) for one in members(stored)]
    finally:
        stored.close()


def test_members_come_in_order_with_their_places(tmp_path: Path) -> None:
    whole = found(tmp_path / "a.gz", b"".join(PACKED))
    assert [content for _, _, content, _ in whole] == BLOCKS
    assert [length for _, length, _, _ in whole] == [len(one) for one in PACKED]
    assert not any(torn for *_, torn in whole)


def test_a_torn_member_is_passed_over(tmp_path: Path) -> None:
    damaged = bytearray(PACKED[1])
    damaged[len(damaged) // 2] ^= 0xFF
    three = found(tmp_path / "a.gz", PACKED[0] + bytes(damaged) + PACKED[2])
    assert [torn for *_, torn in three] == [False, True, False]
    assert three[2][2] == BLOCKS[2]
    assert sum(length for _, length, _, _ in three) == len(PACKED[0]) + len(damaged) + len(
        PACKED[2]
    )


def test_a_cut_member_is_torn(tmp_path: Path) -> None:
    assert [torn for *_, torn in found(tmp_path / "a.gz", PACKED[0][:-9])] == [True]


@pytest.mark.parametrize(
    ("data", "holds"),
    [
        (PACKED[0], True),
        (gzip.compress(b"no lines of a CDX", mtime=0), False),
        (b"junk", False),
        (b"", False),
    ],
)
def test_a_file_of_lines_is_told_by_its_start(tmp_path: Path, data: bytes, holds: bool) -> None:
    (tmp_path / "a.gz").write_bytes(data)
    assert holds_lines(tmp_path / "a.gz") is holds


def test_the_size_of_the_first_member() -> None:
    assert member_size(PACKED[0] + PACKED[1]) == len(PACKED[0])

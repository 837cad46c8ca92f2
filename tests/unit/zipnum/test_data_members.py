"""The gzip members of a data file, found without its index."""

import gzip
from pathlib import Path

import pytest

from nwx.zipnum.data_members import holds_lines, member_size, members
from nwx.zipnum.remote_bytes import LocalFile
from tests.unit.zipnum.making import cdxj_lines

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

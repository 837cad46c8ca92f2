"""The blocks that can hold lines between two keys."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from nwx.errors import FormatError
from nwx.zipnum.block_index import BlockIndex
from nwx.zipnum.remote_bytes import LocalFile
from tests.unit.zipnum.making import cdxj_lines, write_cluster, write_wacz_index


@contextmanager
def index_of(path: Path) -> Iterator[BlockIndex]:
    with closing(LocalFile(path)) as stored:
        yield BlockIndex(stored)


@pytest.mark.parametrize("write", [write_cluster, write_wacz_index])
def test_blocks_between_two_keys_are_those_of_a_walk(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
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

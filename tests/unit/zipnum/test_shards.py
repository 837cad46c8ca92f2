"""The data files of a cluster."""

import gzip
import os
from pathlib import Path

import pytest

from nwx.errors import SourceError, UsageError
from nwx.zipnum.shards import (
    data_name,
    format_splits,
    next_generation,
    part_name,
    read_splits,
    shard_writer,
)
from tests.unit.zipnum.making import cdxj_lines

LINES = cdxj_lines(25)


def sizes(folder: Path) -> list[int]:
    """Return the number of lines of each block, read at the offsets in the index."""
    data = (folder / "cdx-00000.gz").read_bytes()
    found = []
    for line in (folder / "part-00000").read_bytes().splitlines():
        _, name, offset, length = line.split(b"\t")[:4]
        assert name == b"cdx-00000.gz"
        block = data[int(offset) : int(offset) + int(length)]
        found.append(gzip.decompress(block).count(b"\n"))
    return found


def test_a_full_disk_is_reported_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "cdx-00000.gz.unfinished").symlink_to("/dev/full")
    long = [b"a)/%d 20200101000000 %s" % (at, os.urandom(9_000).hex().encode()) for at in range(9)]
    with (
        pytest.raises(SourceError, match=r"cdx-00000\.gz cannot be written: No space left"),
        shard_writer(tmp_path, data_name(0), part_name(0), 1) as writer,
    ):
        writer.add(long)
    assert not (tmp_path / "cdx-00000.gz").exists()


def test_blocks_have_the_lines_asked_for_and_the_last_one_the_rest(tmp_path: Path) -> None:
    with shard_writer(tmp_path, data_name(0), part_name(0), 10) as writer:
        for begin in range(0, 25, 7):
            writer.add(LINES[begin : begin + 7])
    assert sizes(tmp_path) == [10, 10, 5]
    assert gzip.decompress((tmp_path / "cdx-00000.gz").read_bytes()).splitlines() == LINES
    assert (writer.lines, writer.blocks) == (25, 3)


def test_even_blocks_leave_no_shreds(tmp_path: Path) -> None:
    with shard_writer(tmp_path, data_name(0), part_name(0), 12, even=True) as writer:
        writer.add(LINES)
    assert sum(sizes(tmp_path)) == 25
    assert min(sizes(tmp_path)) >= 6


def test_a_block_is_copied_as_it_is_stored(tmp_path: Path) -> None:
    stored = gzip.compress(b"\n".join([*LINES[:5], b""]), mtime=0)
    with shard_writer(tmp_path, data_name(0), part_name(0), 10) as writer:
        writer.copy(b"org,site00)/page/0 2020", stored)
        writer.add(LINES[5:])
    assert (tmp_path / "cdx-00000.gz").read_bytes().startswith(stored)
    assert sizes(tmp_path) == [5, 10, 10]


def test_nothing_appears_when_writing_fails(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError),
        shard_writer(tmp_path, data_name(0), part_name(0), 10) as writer,
    ):
        writer.add(LINES)
        raise RuntimeError("stopped")
    assert not (tmp_path / "cdx-00000.gz").exists()
    assert not (tmp_path / "part-00000").exists()


def test_each_merge_writes_files_of_a_new_generation(tmp_path: Path) -> None:
    first = next_generation(tmp_path)
    (tmp_path / data_name(3, first)).touch()
    assert next_generation(tmp_path) > first
    assert data_name(0, first) != data_name(0, next_generation(tmp_path))


def test_split_points_are_read_as_they_are_written(tmp_path: Path) -> None:
    points = [b"com,a)/ 20100101000000", b"org,b)/x 20110101000000"]
    (tmp_path / "splits").write_bytes(format_splits(points))
    assert read_splits(tmp_path / "splits") == points


def test_blank_lines_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    (tmp_path / "splits").write_bytes(b"\na)/ 1\r\n\nb)/ 2\r\n")
    assert len(read_splits(tmp_path / "splits")) == 2


def test_points_out_of_order_are_an_error_that_names_the_point(tmp_path: Path) -> None:
    (tmp_path / "splits").write_bytes(b"b)/ 1\na)/ 2\n")
    with pytest.raises(UsageError, match="split point 2"):
        read_splits(tmp_path / "splits")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="splits"):
        read_splits(tmp_path / "splits")

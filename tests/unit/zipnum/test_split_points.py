"""Where an index is cut into shards."""

from pathlib import Path

import pytest

from nwx.errors import SourceError, UsageError
from nwx.zipnum.split_points import format_splits, read_splits


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

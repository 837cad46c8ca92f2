"""Named arrays in a file."""

from pathlib import Path

import numpy as np
import pytest

from nwx.bulk.arrays import narrow, read_arrays, write_arrays
from nwx.errors import BlobError


def test_arrays_come_back_by_name_with_their_types(tmp_path: Path) -> None:
    path = tmp_path / "some.arrays"
    write_arrays(
        path,
        {
            "small": np.array([1, 2, 255], dtype=np.uint8),
            "empty": np.array([], dtype=np.int64),
            "large": np.array([-1, 1 << 40], dtype=np.int64),
        },
    )
    found = read_arrays(path)
    assert {name: array.tolist() for name, array in found.items()} == {
        "small": [1, 2, 255],
        "empty": [],
        "large": [-1, 1099511627776],
    }
    assert [array.dtype for array in found.values()] == [np.uint8, np.int64, np.int64]


def test_arrays_that_were_read_cannot_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "some.arrays"
    write_arrays(path, {"a": np.array([1, 2])})
    with pytest.raises(ValueError, match="read-only"):
        read_arrays(path)["a"][0] = 5


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"5" + b" " * 62 + b"\nhello" * 20])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "some.arrays"
    path.write_bytes(damage)
    with pytest.raises(BlobError, match=r"some\.arrays cannot be read"):
        read_arrays(path)


def test_a_file_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "some.arrays"
    write_arrays(path, {"a": np.arange(1000)})
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(BlobError):
        read_arrays(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BlobError):
        read_arrays(tmp_path / "none")


@pytest.mark.parametrize(
    ("highest", "kind"),
    [
        (255, np.uint8),
        (256, np.uint16),
        (65_535, np.uint16),
        (65_536, np.uint32),
        (4_294_967_295, np.uint32),
        (4_294_967_296, np.int64),
    ],
)
def test_numbers_take_the_smallest_type_that_holds_them(highest: int, kind: type) -> None:
    made = narrow(np.array([0, highest], dtype=np.int64))
    assert made.dtype == kind
    assert made.tolist() == [0, highest]


def test_no_numbers_take_the_smallest_type() -> None:
    assert narrow(np.array([], dtype=np.int64)).dtype == np.uint8

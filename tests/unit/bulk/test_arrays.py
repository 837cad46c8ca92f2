"""Named arrays in a file."""

from pathlib import Path

import numpy as np
import pytest

from nwx.bulk import arrays
from nwx.bulk.arrays import (
    KEY,
    Entries,
    EntrySpill,
    narrow,
    read_arrays,
    read_segments,
    segments_by_part,
    write_arrays,
)
from nwx.errors import BlobError, SourceError


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


BITS = 3


def entries(seed: int, count: int) -> Entries:
    random = np.random.default_rng(seed)
    return random.integers(0, 1 << 64, (count, 2), np.uint64)


def test_entries_come_back_by_the_first_bits_of_their_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "ENTRIES_AT_ONCE", 100)
    added = [entries(seed, 70) for seed in range(6)]
    segments = []
    for number, halves in enumerate((added[:3], added[3:])):
        spill = EntrySpill(tmp_path / f"entries-{number}", BITS)
        for each in halves:
            spill.add(each)
        segments += spill.finish()
    parts = segments_by_part(segments)
    assert sorted(parts) == list(range(1 << BITS))
    found = []
    for part, lying in parts.items():
        read = read_segments(lying, 2)
        assert set((read[:, KEY] >> np.uint64(64 - BITS)).tolist()) == {part}
        found += read.tolist()
    assert sorted(found) == sorted(np.concatenate(added).tolist())


def test_nothing_gives_no_segments(tmp_path: Path) -> None:
    spill = EntrySpill(tmp_path / "entries", BITS)
    spill.add(entries(1, 0))
    assert spill.finish() == []


def test_a_file_that_was_cut_short_is_told(tmp_path: Path) -> None:
    spill = EntrySpill(tmp_path / "entries", 1)
    spill.add(entries(1, 10))
    segments = spill.finish()
    (tmp_path / "entries").write_bytes(b"x" * 24)
    with pytest.raises(SourceError, match="truncated"):
        read_segments(segments, 2)


def test_a_disk_without_room_is_told(tmp_path: Path) -> None:
    spill = EntrySpill(tmp_path / "none" / "entries", BITS)
    spill.add(entries(1, 10))
    with pytest.raises(SourceError, match="cannot be written"):
        spill.finish()

"""Entries with one key meet in one part, whichever tasks wrote them."""

from pathlib import Path

import numpy as np
import pytest

from nwx.bulk import key_parts
from nwx.bulk.arrays import KEY, Entries, EntrySpill, read_segments, segments_by_part
from nwx.errors import SourceError

BITS = 3


def entries(seed: int, count: int) -> Entries:
    random = np.random.default_rng(seed)
    return random.integers(0, 1 << 64, (count, 2), np.uint64)


def test_entries_come_back_by_the_first_bits_of_their_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_parts, "ENTRIES_AT_ONCE", 100)
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
    with pytest.raises(SourceError, match="cut short"):
        read_segments(segments, 2)


def test_a_disk_without_room_is_told(tmp_path: Path) -> None:
    spill = EntrySpill(tmp_path / "none" / "entries", BITS)
    spill.add(entries(1, 10))
    with pytest.raises(SourceError, match="cannot be written"):
        spill.finish()

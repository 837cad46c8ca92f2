"""Lines are sorted correctly with any amount of memory."""

import json
import random
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from nwx.bulk import sorted_runs
from nwx.bulk.pool import Pool
from nwx.bulk.sorted_runs import (
    ExternalSort,
    SortedRun,
    joined_runs,
    read_runs,
    split_points,
)
from nwx.cdx.inputs import record_from_json, record_json
from nwx.errors import SourceError

SIGNS = b"ab \x00\xff"


@pytest.fixture
def chance() -> random.Random:
    return random.Random(3)


def made(chance: random.Random, count: int) -> list[bytes]:
    """Return lines with long common prefixes, duplicates, and empty ones."""
    starts = [b"", b"key " * 30, b"k"]
    return [
        chance.choice(starts) + bytes(chance.choices(SIGNS, k=chance.randrange(6)))
        for _ in range(count)
    ]


def flat(batches: Iterable[list[bytes]]) -> list[bytes]:
    return [line for batch in batches for line in batch]


@pytest.mark.parametrize("memory", [100, 5_000, 1 << 20])
def test_lines_come_back_in_order(
    tmp_path: Path, chance: random.Random, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_runs, "MOST_RUNS", 3)
    monkeypatch.setattr(sorted_runs, "_LEAST_BATCH_BYTES", 200)
    lines = made(chance, 1_000)
    sort = ExternalSort(tmp_path, memory)
    for begin in range(0, len(lines), 37):
        sort.add(lines[begin : begin + 37])
    assert sort.lines == len(lines)
    assert flat(sort.batches()) == sorted(lines)
    assert list(tmp_path.iterdir()) == []


def test_nothing_gives_nothing(tmp_path: Path) -> None:
    assert list(ExternalSort(tmp_path, 100).batches()) == []
    assert ExternalSort(tmp_path, 100).finish() == []
    assert list(read_runs(tmp_path, [], 100)) == []


def runs_of(folder: Path, lines: list[bytes], memory: int = 4_000) -> list[SortedRun]:
    sort = ExternalSort(folder, memory)
    for begin in range(0, len(lines), 20):
        sort.add(lines[begin : begin + 20])
    return sort.finish()


def test_a_range_is_read_without_the_rest(
    tmp_path: Path, chance: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_runs, "_LEAST_BATCH_BYTES", 100)
    lines = made(chance, 400)
    runs = runs_of(tmp_path, lines)
    assert len(runs) > 3
    bounds = [*sorted(chance.choices(lines, k=30)), b"", b"key " * 30 + b"a", b"\xff\xff"]
    for start in bounds:
        for end in (*bounds, None):
            wanted = [line for line in sorted(lines) if start <= line and (not end or line < end)]
            if end != b"":
                assert flat(read_runs(tmp_path, runs, 100, start, end)) == wanted


def test_runs_go_through_json_and_are_read_later(tmp_path: Path, chance: random.Random) -> None:
    lines = made(chance, 300)
    noted = json.dumps(record_json(runs_of(tmp_path, lines)))
    runs = record_from_json(list[SortedRun], json.loads(noted))
    assert flat(read_runs(tmp_path, runs, 1_000, b"k")) == sorted(
        line for line in lines if line >= b"k"
    )


def test_files_that_are_sorted_already_are_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_runs, "MOST_RUNS", 2)
    runs = []
    for number in range(7):
        path = tmp_path / f"part-{number}"
        size = path.write_bytes(b"".join(b"%02d\n" % each for each in range(number, 70, 7)))
        runs.append(SortedRun(path.name, size))
    with Pool(1) as pool:
        few = joined_runs(tmp_path, runs, 1_000, pool)
    assert len(few) == 2
    assert flat(read_runs(tmp_path, few, 1_000)) == [b"%02d" % each for each in range(70)]


def test_split_points_cut_into_parts_of_about_one_size(
    tmp_path: Path, chance: random.Random
) -> None:
    lines = [b"%08d" % chance.randrange(10**8) for _ in range(2_000)]
    runs = runs_of(tmp_path, lines)
    points = split_points(runs, 4)
    assert points == sorted(set(points))
    sizes = [
        len(flat(read_runs(tmp_path, runs, 1_000, start, end)))
        for start, end in pairwise([b"", *points, b"\xff"])
    ]
    assert sum(sizes) == 2_000
    assert min(sizes) > 400
    assert split_points(runs_of(tmp_path, [b"same"] * 100), 5) == [b"same"]


def test_a_disk_without_room_is_told(tmp_path: Path) -> None:
    sort = ExternalSort(tmp_path / "none", 100)
    with pytest.raises(SourceError, match="cannot be written"):
        sort.add([b"x" * 200])

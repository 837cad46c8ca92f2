"""Columns of the database as arrays, their file, and groups and sets of values."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nwx.engine.embedded.database import connect, count_rows, make_tables
from nwx.engine.embedded.documents import stored_columns
from nwx.engine.embedded.documents.columns import keep_columns
from nwx.engine.embedded.documents.stored_columns import (
    Folds,
    Sets,
    load_columns_file,
    read_columns,
)
from nwx.engine.embedded.registry import Registry
from nwx.engine.embedded.staged_rows import dates_rows
from nwx.model import Dates


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "archive.sqlite", read_only=False)) as made:
        make_tables(made)
        yield made


def _add(db: sqlite3.Connection, key: str, *timestamps: int) -> None:
    seen = tuple((str(timestamp), "web") for timestamp in timestamps)
    Registry(db).add_dates(dates_rows([Dates(key, seen)]))


def test_dates_are_in_the_order_of_number_and_time(db: sqlite3.Connection) -> None:
    _add(db, "a", 20120101000000)
    _add(db, "b", 20110101000000)
    before = read_columns(db, None)
    _add(db, "a", 20100101000000)
    for found in (read_columns(db, before), read_columns(db, None)):
        assert found.seen_nums.tolist() == [1, 1, 2]
        assert found.timestamps.tolist() == [20100101000000, 20120101000000, 20110101000000]
        assert found.collections.tolist() == [1, 1, 1]
        assert (found.size, found.seen) == (3, 3)


def test_a_file_spares_reading_them_anew(db: sqlite3.Connection, tmp_path: Path) -> None:
    file = tmp_path / "columns.arrays"
    _add(db, "a", 20120101000000)
    keep_columns(file, db)
    found = load_columns_file(file, db)
    assert found is not None
    assert found.timestamps.tolist() == [20120101000000]
    assert found.stamp == count_rows(db, "stamp") != 0


def test_a_file_of_another_state_or_a_damaged_one_is_of_no_use(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    file = tmp_path / "columns.arrays"
    assert load_columns_file(file, db) is None
    _add(db, "a", 20120101000000)
    keep_columns(file, db)
    db.execute("UPDATE counters SET value = 5 WHERE name = 'stamp'")
    assert load_columns_file(file, db) is None
    file.write_bytes(b"nonsense")
    assert load_columns_file(file, db) is None


SIZE = 200


def _pairs(seed: int) -> list[tuple[int, int]]:
    source = random.Random(seed)
    return [
        (num, source.randint(1996, 1999))
        for num in range(1, SIZE)
        for _ in range(source.choice((0, 1, 1, 1, 2, 5)))
    ]


@pytest.mark.parametrize("sparse", [8, 0])
@pytest.mark.parametrize("seed", range(5))
def test_values_are_counted_once_a_number(
    seed: int, sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_columns, "_SPARSE", sparse)
    pairs = _pairs(seed)
    nums, values = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    made = Sets.from_pairs(nums, values, SIZE)
    kept = Sets.from_arrays(made.arrays("years"), "years")
    for found in (made, kept):
        for some in (range(SIZE), range(0, SIZE, 7), [3], []):
            chosen = np.array(some, dtype=np.int64)
            codes, counts = np.unique(found.codes[chosen], return_counts=True)
            values_found, how_often = found.spread(codes, counts)
            expected = Counter(value for num, value in set(pairs) if num in set(chosen.tolist()))
            assert dict(zip(values_found.tolist(), how_often.tolist(), strict=True)) == expected


def test_no_values_at_all() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    found = Sets.from_pairs(nothing, nothing, 3)
    assert found.codes.tolist() == [0, 0, 0]
    codes, counts = found.spread(np.array([0]), np.array([3]))
    assert (codes.tolist(), counts.tolist()) == ([], [])


DOCUMENTS = 300


@pytest.mark.parametrize("sparse", [16, 0, 1_000])
@pytest.mark.parametrize("seed", range(5))
def test_groups_and_their_versions_are_counted(
    seed: int, sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_columns, "_SPARSE", sparse)
    source = random.Random(seed)
    groups = np.array([0] + [source.randint(1, 250) for _ in range(1, DOCUMENTS)])
    folds = Folds(groups)
    for share in (0, 0.05, 0.5, 1):
        nums = np.array(
            [num for num in range(1, DOCUMENTS) if source.random() < share], dtype=np.int64
        )
        counts = Counter(groups[nums].tolist())
        assert folds.count(nums) == len(counts)
        found = folds.versions(nums.tolist(), nums)
        assert all(found.get(num, 1) == counts[groups[num]] for num in nums.tolist())


def test_nothing_is_folded_where_each_has_a_group_of_its_own() -> None:
    folds = Folds(np.arange(10))
    assert folds.count(np.arange(1, 10)) == 9
    assert folds.versions([1, 2], np.arange(1, 10)) == {}

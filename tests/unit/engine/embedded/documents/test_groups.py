"""Value counts from the frequencies of sets of values."""

import random
from collections import Counter

import numpy as np
import pytest

from nwx.engine.embedded.documents import groups as folds_module
from nwx.engine.embedded.documents import groups as sets_module
from nwx.engine.embedded.documents.groups import Folds, Sets

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
    monkeypatch.setattr(sets_module, "_SPARSE", sparse)
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
    monkeypatch.setattr(folds_module, "_SPARSE", sparse)
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

"""Documents folded into hits, counted however many there are."""

import random
from collections import Counter

import numpy as np
import pytest

from nwx.engine.embedded.documents.groups import folds as folds_module
from nwx.engine.embedded.documents.groups.folds import Folds

SIZE = 300


@pytest.mark.parametrize("sparse", [16, 0, 1_000])
@pytest.mark.parametrize("seed", range(5))
def test_groups_and_their_versions_are_counted(
    seed: int, sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds_module, "_SPARSE", sparse)
    source = random.Random(seed)
    groups = np.array([0] + [source.randint(1, 250) for _ in range(1, SIZE)])
    folds = Folds(groups)
    for share in (0, 0.05, 0.5, 1):
        nums = np.array([num for num in range(1, SIZE) if source.random() < share], dtype=np.int64)
        counts = Counter(groups[nums].tolist())
        assert folds.count(nums) == len(counts)
        found = folds.versions(nums.tolist(), nums)
        assert all(found.get(num, 1) == counts[groups[num]] for num in nums.tolist())


def test_nothing_is_folded_where_each_has_a_group_of_its_own() -> None:
    folds = Folds(np.arange(10))
    assert folds.count(np.arange(1, 10)) == 9
    assert folds.versions([1, 2], np.arange(1, 10)) == {}

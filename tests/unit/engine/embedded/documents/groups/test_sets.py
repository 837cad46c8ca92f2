"""Sets of values, counted from how often each set occurs."""

import random
from collections import Counter

import numpy as np
import pytest

from nwx.engine.embedded.documents.groups import sets as sets_module
from nwx.engine.embedded.documents.groups.sets import Sets

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
    made = Sets.of(nums, values, SIZE)
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
    found = Sets.of(nothing, nothing, 3)
    assert found.codes.tolist() == [0, 0, 0]
    codes, counts = found.spread(np.array([0]), np.array([3]))
    assert (codes.tolist(), counts.tolist()) == ([], [])

"""The order of repairs, compared with a recount at each step, and with all choices."""

import random
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest

from nwx.quality.missing_resources import MissingPairs, missing_pairs
from nwx.quality.repair_list import greedy_order

_WHOLE = 26_771_144_400

Broken = Mapping[int, tuple[frozenset[int], int]]
"""Pages with their missing resources, and the number of others missing."""


def pairs(broken: Broken, resources: int) -> MissingPairs:
    pairs = [(page, one) for page, (missing, _) in broken.items() for one in missing]
    beyond = np.zeros(max(broken, default=-1) + 1, dtype=np.int32)
    for page, (_, more) in broken.items():
        beyond[page] = more
    page, resource = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return missing_pairs(page, resource, resources, beyond)


def order(broken: Broken, resources: int) -> list[tuple[int, int]]:
    return [tuple(one) for one in greedy_order(pairs(broken, resources))]


def whole(broken: Broken, captured: set[int]) -> int:
    """Count the broken pages that are complete with some resources."""
    return sum(missing <= captured and not more for missing, more in broken.values() if missing)


def plain_order(broken: Broken, resources: int, most: int = 100) -> list[tuple[int, int]]:
    """Return the beginning of the order, recounting everything at each step."""
    captured: set[int] = set()
    steps: list[tuple[int, int]] = []
    while len(captured) < min(resources, most):
        counted = dict.fromkeys(set(range(resources)) - captured, 0)
        for missing, more in broken.values():
            left = missing - captured
            for one in left:
                counted[one] += _WHOLE // (len(left) + more)
        best = min(counted, key=lambda one: (-counted[one], one))
        before = whole(broken, captured)
        captured.add(best)
        steps.append((best, whole(broken, captured) - before))
    return steps


@pytest.mark.parametrize("seed", range(60))
def test_the_order_is_that_of_counting_anew(seed: int) -> None:
    chance = random.Random(seed)
    broken = {
        page: (
            frozenset(chance.sample(range(7), chance.randrange(5))),
            chance.choice((0, 0, 0, 1, 2)),
        )
        for page in chance.sample(range(13), chance.randrange(12))
    }
    assert order(broken, 7) == plain_order(broken, 7)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_better_where_each_page_lacks_one(seed: int) -> None:
    chance = random.Random(seed)
    broken = {page: (frozenset({chance.randrange(6)}), 0) for page in range(seed * 3)}
    made = 0
    for place, (_, more) in enumerate(order(broken, 6), start=1):
        made += more
        assert made == max(whole(broken, set(some)) for some in combinations(range(6), place))


def test_what_completes_pages_comes_first() -> None:
    pair = {page: (frozenset({1, 2}), 0) for page in range(10)}
    alone = {10: (frozenset({0}), 0), 11: (frozenset({0}), 0)}
    assert order({**pair, **alone}, 3) == [(1, 0), (2, 10), (0, 2)]


def test_a_page_that_lacks_more_than_is_listed_is_never_whole() -> None:
    assert order({0: (frozenset({0}), 1), 1: (frozenset({1}), 0)}, 2) == [(1, 1), (0, 0)]


@pytest.mark.parametrize("resources", [0, 3])
def test_of_no_pages_nothing_is_whole(resources: int) -> None:
    assert order({}, resources) == [(number, 0) for number in range(resources)]


def test_many_resources() -> None:
    chance = np.random.default_rng(5)
    broken = {
        page: (frozenset(chance.integers(0, 3_000, chance.integers(1, 6)).tolist()), 0)
        for page in range(2_000)
    }
    found = order(broken, 3_000)
    assert sorted(one for one, _ in found) == list(range(3_000))
    assert sum(more for _, more in found) == len(broken)
    assert found[:20] == plain_order(broken, 3_000, 20)

"""Prefixes looked up by the texts that have them."""

import random

import pytest

from nwx.engine.access.prefix_set import PrefixSet


@pytest.mark.parametrize("seed", range(20))
def test_prefixes_are_found_as_by_looking_at_each(seed: int) -> None:
    chance = random.Random(seed)
    texts = ["".join(chance.choices("ab,)", k=chance.randrange(7))) for _ in range(100)]
    prefixes = set(texts[: chance.randrange(14)])
    found = PrefixSet(prefixes)
    for text, other in zip(texts, reversed(texts), strict=True):
        held = [prefix for prefix in prefixes if text.startswith(prefix)]
        assert list(found.of(text)) == sorted(held, key=len, reverse=True)
        assert found.holds(text) == bool(held)
        start, end = sorted((text, other))
        reached = any(start.startswith(prefix) or start <= prefix < end for prefix in prefixes)
        assert found.reaches(start, end) == (reached and start < end)

"""Dense numbers for pairs of hashes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nwx.facets.codes import DenseNumbers

# few values, so that slots and first halves collide
PAIRS = st.lists(
    st.tuples(st.integers(0, 5).map(lambda n: n << 40), st.integers(0, 9)), max_size=60
)


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs, dtype=np.uint64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


@given(st.lists(PAIRS, max_size=4))
def test_equal_pairs_have_equal_numbers_and_others_have_others(
    batches: list[list[tuple[int, int]]],
) -> None:
    ids, known = DenseNumbers(), {}
    for batch in batches:
        for pair, number in zip(batch, ids.assign(*arrays(batch)).tolist(), strict=True):
            assert known.setdefault(pair, number) == number
    assert sorted(known.values()) == list(range(ids.count))
    restored = DenseNumbers(*ids.hashes(0))
    pairs = list(known)
    assert restored.assign(*arrays(pairs)).tolist() == [known[pair] for pair in pairs]
    assert restored.count == ids.count


def test_many_grow() -> None:
    chance = np.random.default_rng(1)
    first = chance.integers(0, 2**63, 50_000, dtype=np.uint64)
    ids = DenseNumbers()
    numbers = [ids.assign(part, part) for part in np.split(first, 10)]
    assert ids.count == len(np.unique(first))
    assert (ids.assign(first, first) == np.concatenate(numbers)).all()

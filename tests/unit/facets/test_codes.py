"""Dense numbers for pairs of hashes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.errors import EngineError
from nwx.facets.codes import (
    DenseNumbers,
    MonthColumns,
    check_bits,
    document_sizes,
    packed,
    resolve_revisits,
    with_own,
)

# few values, to provoke collisions of slots and first halves
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


TYPES = ["unknown", "pdf", "html"]


def month(rows: list[tuple[int, int, int, int, bool]]) -> MonthColumns:
    """Return the columns of captures: digest, URL, type, bytes, and whether it is a revisit."""
    digest, url, kind, size, revisit = (np.array(column) for column in zip(*rows, strict=True))
    categories = np.where(size > 0, 2, 8).astype(np.uint8)
    return with_own(
        {
            "digest": digest,
            "url": url,
            "type": kind,
            "size": categories,
            "size_bytes": size,
            "revisit": revisit.astype(bool),
        }
    )


def test_the_same_digest_and_url_come_before_the_digest_alone() -> None:
    months = {"2013-01": month([(0, 0, 1, 50, False), (0, 1, 2, 70, False), (0, 0, 0, 0, True)])}
    columns = resolve_revisits(months, TYPES)["2013-01"]
    assert (columns["type"].tolist(), columns["size_bytes"].tolist()) == ([1, 2, 1], [50, 70, 50])
    months = {"2013-01": month([(0, 1, 1, 50, False), (0, 2, 2, 70, False), (0, 0, 0, 0, True)])}
    assert resolve_revisits(months, TYPES)["2013-01"]["size_bytes"].tolist() == [50, 70, 70]


def test_revisits_without_an_original_keep_their_own() -> None:
    months = {"2013-01": month([(0, 0, 1, 50, True), (1, 0, 2, 70, False)])}
    assert resolve_revisits(months, TYPES) == {}


def test_documents_of_several_sizes_are_marked() -> None:
    months = {
        "a": month([(0, 0, 1, 5, False), (1, 0, 1, 7, False)]),
        "b": month([(0, 0, 1, 6, False)]),
    }
    sizes, varied, rows = document_sizes(months, 2)
    assert (sizes.tolist(), varied.tolist()) == ([0, 7], [True, False])
    assert {name: found.tolist() for name, found in rows.items()} == {"a": [0], "b": [0]}


@pytest.mark.parametrize(("digest", "url"), [(1 << 31, 0), (0, 1 << 32), (1 << 31, 1 << 32)])
def test_numbers_that_do_not_fit_are_refused(digest: int, url: int) -> None:
    with pytest.raises(EngineError, match="too many captures, URLs or values"):
        packed(np.array([digest]), np.array([url]), 32)


def test_the_largest_numbers_that_fit_are_packed() -> None:
    digest, url = (1 << 31) - 1, (1 << 32) - 1
    (found,) = packed(np.array([digest], np.uint32), np.array([url], np.uint32), 32).tolist()
    assert (found >> 32, found & url) == (digest, url)
    check_bits(63)

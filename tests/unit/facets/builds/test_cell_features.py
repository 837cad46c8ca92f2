"""Features of cells: repeated values, values only in new captures, and numbers out of range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.errors import EngineError
from nwx.facets.builds.cell_features import only_new, repeats

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.booleans()), max_size=60)


def arrays(rows: list[tuple[int, int, bool]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    numbers, cells, new = columns
    return np.array(numbers, np.uint32), np.array(cells, np.uint32), np.array(new, bool)


@given(ROWS)
def test_repeats_are_all_but_the_first_of_each_pair(rows: list[tuple[int, int, bool]]) -> None:
    numbers, cells, _ = arrays(rows)
    found = repeats(numbers, cells)
    pairs = [(number, cell) for number, cell, _ in rows]
    wanted = sorted(pair for pair in set(pairs) for _ in range(pairs.count(pair) - 1))
    assert sorted(zip(found.numbers.tolist(), found.cells.tolist(), strict=True)) == wanted


@given(ROWS)
def test_only_new_pairs_are_found_once(rows: list[tuple[int, int, bool]]) -> None:
    cells, numbers = only_new(*arrays(rows))
    known = {(number, cell) for number, cell, new in rows if not new}
    wanted = sorted({(number, cell) for number, cell, new in rows if new} - known)
    assert sorted(zip(numbers.tolist(), cells.tolist(), strict=True)) == wanted


def test_pairs_that_do_not_fit_are_refused() -> None:
    cells = np.array([0, (1 << 31) - 1] * 2, dtype=np.uint32)
    fits, too_large = np.full(4, 1 << 31, np.int64), np.full(4, 1 << 32, np.int64)
    assert len(repeats(fits, cells).cells) == 2
    with pytest.raises(EngineError, match="split the archive"):
        repeats(too_large, cells)
    with pytest.raises(EngineError, match="split the archive"):
        only_new(fits, cells, np.zeros(4, bool))

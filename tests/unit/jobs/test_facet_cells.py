"""Cells of all groupings, counted in parts, compared with sets in plain Python."""

import random
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from nwx.errors import EngineError
from nwx.facets.criteria import CUBE, Criterion
from nwx.jobs.facet_cells import (
    CRITERIA,
    GROUPINGS,
    CellLayout,
    counted_once,
    projected_counts,
)

SIZES = {Criterion.STATUS: 5, Criterion.MONTH: 3, Criterion.SITE: 9, Criterion.TYPE: 2}
CARDS = {name: SIZES.get(name, 1) for name in CRITERIA}


def _added(batches: list[pa.RecordBatch]) -> dict[tuple[int, int], tuple[int, int]]:
    found: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for batch in batches:
        for row in batch.to_pylist():
            one = found[row["grouping"], row["cell"]]
            one[0] += row["captures"]
            one[1] += row["bytes"]
    return {cell: (captures, total) for cell, (captures, total) in found.items()}


def test_documents_urls_and_captures_of_all_groupings() -> None:
    chance = random.Random(5)
    layout = CellLayout.of_sizes(CARDS)
    rows = [
        (chance.randrange(20), {name: chance.randrange(CARDS[name]) for name in CRITERIA})
        for _ in range(400)
    ]
    codes = {name: np.array([row[1][name] for row in rows]) for name in CRITERIA}
    cells = layout.cells(codes)
    sizes = np.array([chance.randrange(100) for _ in rows])
    for name in CRITERIA:
        assert layout.codes(cells, name).tolist() == codes[name].tolist()
    captures: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    texts: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for (text, _), cell, size in zip(rows, cells.tolist(), sizes.tolist(), strict=True):
        for grouping in range(len(GROUPINGS)):
            key = grouping, cell & layout.mask(grouping)
            captures[key][0] += 1
            captures[key][1] += size
            texts[key][text] = max(size, texts[key].get(text, 0))
    columns = [pa.array(cells), pa.array([1] * len(rows)), pa.array(sizes)]
    batch = pa.RecordBatch.from_arrays(columns, ["cell", "captures", "bytes"])
    found = _added(list(projected_counts([batch[:100], batch[100:]], layout)))
    assert found == {key: tuple(value) for key, value in captures.items()}

    frequent = [
        np.array(sorted(cell for group, cell in captures if group == grouping and
                        captures[group, cell][0] >= 3), np.int64)
        for grouping in range(len(GROUPINGS))
    ]  # fmt: skip
    of_text = np.array([row[0] for row in rows])
    columns = [pa.array(of_text % 7), pa.array(of_text), pa.array(cells), pa.array(sizes)]
    batch = pa.RecordBatch.from_arrays(columns, ["first", "second", "cell", "size_bytes"])
    parts = [batch.filter(pa.array((of_text < 10) == low)) for low in (True, False)]
    once = [*counted_once(parts[:1], layout, frequent), *counted_once(parts[1:], layout, frequent)]
    assert _added(once) == {
        key: (len(found), sum(found.values()))
        for key, found in texts.items()
        if captures[key][0] >= 3
    }
    assert list(counted_once([], layout, frequent)) == []


def test_codes_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(EngineError, match="63 bits"):
        CellLayout.of_sizes(dict.fromkeys((Criterion.STATUS, *CUBE), 1 << 10))

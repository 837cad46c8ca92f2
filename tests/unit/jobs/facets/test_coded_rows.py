"""Codes in the place of texts, and numbers of texts."""

import pyarrow as pa

from nwx.facets.criteria import Criterion
from nwx.jobs.facets.capture_rows import ROW_SCHEMA, TEXTS
from nwx.jobs.facets.coded_rows import (
    NUMBERED_SCHEMA,
    cell_layout,
    coded_rows,
    numbered_texts,
    sorted_labels,
)


def test_texts_get_the_codes_of_all_tasks() -> None:
    values = {name: ["b", "unknown", "a"] for name in TEXTS}
    labels = sorted_labels(values)
    assert labels.values["site"] == ["unknown", "a", "b"]
    layout = cell_layout(labels)
    row = dict.fromkeys(TEXTS, "b") | {"status": 2, "revisit": True, "own_type": None}
    fields = [*ROW_SCHEMA, pa.field("own_type", pa.string())]
    rows = [row, row | {"site": "a", "status": 0, "own_type": "a"}]
    filled = [
        {one.name: each.get(one.name, 1 if one.type == pa.int64() else None) for one in fields}
        for each in rows
    ]
    batch = pa.RecordBatch.from_pylist(filled, pa.schema(fields))
    (found,) = coded_rows([batch], labels.values, layout)
    assert found.column("site").to_pylist() == [2, 1]
    assert found.column("own_type").to_pylist() == [None, 1]
    assert found.column("month_name").to_pylist() == ["b", "b"]
    cells = found.column("cell").to_numpy()
    assert layout.codes(cells, Criterion.STATUS).tolist() == [2, 0]
    assert layout.codes(cells, Criterion.SITE).tolist() == [2, 1]


def test_texts_are_numbered_in_their_order() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([4, 5]), pa.array([0, 1])], ["first", "second"])
    found = pa.Table.from_batches(numbered_texts([batch, batch], 7), NUMBERED_SCHEMA)
    assert found["number"].to_pylist() == [7, 8, 9, 10]

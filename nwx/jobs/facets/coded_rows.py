"""Rows of captures with codes in the place of texts, and numbers of texts from 0 on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from nwx.facets.codes import Labels
from nwx.facets.criteria import Criterion
from nwx.jobs.facets.capture_rows import TEXTS
from nwx.jobs.facets.cells import CRITERIA, CellLayout

_Batches = Iterator[pa.RecordBatch]

NUMBERED_SCHEMA = pa.schema([("first", pa.int64()), ("second", pa.int64()), ("number", pa.int64())])
"""A text by its hashes, and its number."""


def sorted_labels(found: Mapping[str, Iterable[str]]) -> Labels:
    """Return labels for the values of all tasks; codes follow the order of the values."""
    labels = Labels()
    for name, values in found.items():
        labels.codes(name, sorted(values))
    return labels


def cell_layout(labels: Labels) -> CellLayout:
    """Return how the codes of these labels lie in the numbers of cells.

    Raises EngineError where they do not fit.
    """
    return CellLayout.of_sizes({name: len(labels.values[name]) for name in CRITERIA})


def coded_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of coded rows: codes for texts, the month beside, and the finest cell."""
    coded = [
        pa.field(one.name, pa.int64()) if one.name in TEXTS or one.name == "own_type" else one
        for one in schema
    ]
    return pa.schema([*coded, ("month_name", pa.string()), ("cell", pa.int64())])


def coded_rows(
    batches: Iterable[pa.RecordBatch],
    known: Mapping[str, Sequence[str]],
    layout: CellLayout,
) -> _Batches:
    """Give rows with the codes of their values, which are all `known`."""
    labels = Labels(known)
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        coded = columns | {name: pa.array(_codes(labels, name, columns[name])) for name in TEXTS}
        if "own_type" in columns:
            coded["own_type"] = _optional_codes(labels, columns["own_type"])
        codes = {name: coded[name].to_numpy() for name in CRITERIA}
        arrays = [*coded.values(), columns[Criterion.MONTH], pa.array(layout.cells(codes))]
        yield pa.RecordBatch.from_arrays(arrays, schema=coded_schema(batch.schema))


def _codes(
    labels: Labels, name: str, values: pa.Array
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    series = pl.Series(pl.from_arrow(values), dtype=pl.String)
    return labels.column(name, series).astype(np.int64)


def _optional_codes(labels: Labels, types: pa.Array) -> pa.Array:
    """Return the codes of types, null where there is none."""
    missing = types.is_null().to_numpy(zero_copy_only=False)
    filled = types.fill_null(labels.values[Criterion.TYPE][0])
    return pa.array(_codes(labels, Criterion.TYPE, filled), mask=missing)


def numbered_texts(batches: Iterable[pa.RecordBatch], start: int) -> _Batches:
    """Give numbers from `start` on to texts that are all different."""
    for batch in batches:
        end = start + len(batch)
        columns = [
            batch.column("first"),
            batch.column("second"),
            pa.array(range(start, end), pa.int64()),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=NUMBERED_SCHEMA)
        start = end

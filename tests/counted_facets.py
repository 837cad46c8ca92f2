"""A facet build in the folder format of `nwx spark facets`, without Spark."""

from pathlib import Path

import numpy as np
import polars as pl

from nwx.facets.codes import LABEL_TABLES, MonthColumns
from nwx.facets.counted_facets import (
    COUNTED_CAPTURES,
    COUNTED_COMBINATIONS,
    COUNTED_IDS,
    COUNTED_LABELS,
    COUNTED_NOTES,
    MONTH_FOLDER,
    SUCCESS_FILE,
    CountedNotes,
    combinations_frame,
    labels_json,
)
from nwx.facets.stored_build import Build


def write_counted(folder: Path, build: Build, *, of_cdx: bool = False) -> None:
    """Write a build that is not based on an earlier one."""
    notes, labels = build.notes, build.labels()
    for name in notes.months:
        path = folder / COUNTED_CAPTURES / f"{MONTH_FOLDER}{name}"
        path.mkdir(parents=True)
        frame = _frame(build.month(name))
        # Parts may contain any rows in any order.
        frame[1::2].write_parquet(path / "part-0.parquet")
        frame[::2].reverse().write_parquet(path / "part-1.parquet")
    (ids,) = (build.arrays(blob) for blob in notes.id_files)
    for kind, count in notes.ids.items():
        (folder / COUNTED_IDS / kind).mkdir(parents=True)
        halves = {half: ids[f"{kind}_{half}"].view(np.int64) for half in ("first", "second")}
        hashes = pl.DataFrame({**halves, "number": np.arange(count)})
        hashes.reverse().write_parquet(folder / COUNTED_IDS / kind / "part-0.parquet")
    combinations = combinations_frame(build.groupings(), labels)
    combinations.write_parquet(folder / COUNTED_COMBINATIONS)
    (folder / COUNTED_LABELS).write_bytes(labels_json({n: labels(n) for n in LABEL_TABLES}))
    written = CountedNotes(
        seeds=notes.seeds,
        hashed_by=notes.hashed_by,
        sites=notes.sites,
        min_captures=notes.min_captures,
        captures=notes.captures,
        ids=notes.ids,
        stamp="" if of_cdx else notes.stamp,
        checks=None if of_cdx else notes.checks,
    )
    (folder / COUNTED_NOTES).write_bytes(written.to_json())
    (folder / SUCCESS_FILE).touch()


def _frame(columns: MonthColumns) -> pl.DataFrame:
    rows = columns["revisit_rows"]
    size = len(columns["status"])
    revisit = np.zeros(size, dtype=bool)
    revisit[rows] = True
    found = {name: one for name, one in columns.items() if len(one) == size}
    frame = pl.DataFrame({name: found[name] for name in found if not name.startswith("own_")})
    own = {}
    for name in ("own_type", "own_size", "own_size_bytes"):
        values: list[int | None] = [None] * size
        for row, value in zip(rows.tolist(), columns[name].tolist(), strict=True):
            values[row] = value
        own[name] = pl.Series(values, dtype=pl.Int64)
    places = {"revisit": revisit, "row": np.arange(size), "task": np.zeros(size, np.int64)}
    return frame.drop("revisit_rows", strict=False).with_columns(**places, **own)

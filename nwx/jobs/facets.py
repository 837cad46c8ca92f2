"""The job `facets`: captures, and their combinations, counted by executors."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.errors import JobError
from nwx.facets.codes import Labels
from nwx.facets.counted_facets import (
    COUNTED_CAPTURES,
    COUNTED_COMBINATIONS,
    COUNTED_IDS,
    COUNTED_LABELS,
    COUNTED_NOTES,
    CountedNotes,
    combinations_frame,
    labels_json,
)
from nwx.facets.criteria import Criterion, grouping_name
from nwx.facets.sites import Sites
from nwx.jobs.facet_cells import (
    COUNT_SCHEMA,
    GROUPINGS,
    CellLayout,
    counted_once,
    first_of_places,
    projected_counts,
    text_numbers,
    with_numbers,
    with_payloads,
)
from nwx.jobs.facet_rows import (
    LAYOUT_CHANGED,
    TEXTS,
    CaptureInputs,
    RowPlan,
    cell_layout,
    coded_rows,
    coded_schema,
    row_frame,
    sorted_labels,
    without_cuts,
)
from nwx.jobs.output import JobOutput, JobReport, OutputMode, ReportFolder, open_output
from nwx.jobs.pieces import mapped, shown_stages, write_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_ROWS_A_PARTITION = 1_000_000


@dataclass(frozen=True, slots=True)
class FacetJobOptions:
    """Options: store combinations of at least `min_captures` captures; `sites` names URLs.

    Captures of CDX lines belong to `collection`.
    """

    min_captures: int
    sites: Sites | None = None
    collection: str = ""
    overwrite: bool = False


def count_facets(
    spark: "SparkSession",
    inputs: CaptureInputs,
    place: str,
    options: FacetJobOptions,
    progress: ShowProgress = no_progress,
) -> JobReport:
    """Write the counts of `nwx build-facets` into the folder at `place`.

    Raises UsageError if the folder exists, EngineError if the criteria have too many values to
    number their combinations.
    """
    mode = OutputMode.OVERWRITE if options.overwrite else OutputMode.NEW
    plan = {"min_captures": options.min_captures, "collection": options.collection}
    output = open_output(place, "facets", plan, mode)
    output.work.delete()
    job = _Job(spark, output, inputs, options, progress)
    return job.run()


class _Job:
    """A run of the job, from captures to the files of the output."""

    def __init__(
        self,
        spark: "SparkSession",
        output: JobOutput,
        inputs: CaptureInputs,
        options: FacetJobOptions,
        progress: ShowProgress,
    ) -> None:
        self._spark, self._output, self._inputs = spark, output, inputs
        self._options, self._progress = options, progress
        first, second = np.frombuffer(os.urandom(16), dtype=np.uint64).tolist()
        self._seeds = first, second
        self._kept: list[DataFrame] = []
        self._partitions = 1

    def run(self) -> JobReport:
        report, rows, found = self._read()
        labels = sorted_labels({name: found[name] for name in TEXTS})
        captures = int(found["captures"])
        wide = captures // _ROWS_A_PARTITION + 1
        self._partitions = max(self._spark.sparkContext.defaultParallelism, wide)
        layout = cell_layout(labels)
        coded = self._keep(_coded(with_payloads(rows), labels, layout))
        with self._shown("combining"):
            groupings = self._groupings(coded, layout)
        with self._shown("writing"):
            ids = self._write_captures(coded, captures)
        self._write_driver_files(groupings, labels, captures, ids)
        for frame in self._kept:
            frame.unpersist()
        sizes = [len(columns[Criterion.STATUS]) for columns in groupings.values()]
        report.counts.update({"captures": captures, "combinations": sum(sizes)})
        self._output.finish(report)
        return report

    def _read(self) -> "tuple[JobReport, DataFrame, dict[str, Any]]":
        """Return the report, the rows of all captures (cached on disk), and their summary."""
        options = self._options
        plan = RowPlan(self._seeds, options.sites, options.collection)
        attempt = 0
        while True:
            reports = ReportFolder(self._output.work.inner(f"reports-{attempt}"))
            rows = row_frame(self._spark, self._inputs, plan, reports)
            rows = self._keep(first_of_places(rows) if self._inputs.is_cdx else rows)
            with self._shown("reading"):
                found = _summary(rows)
            report = JobReport("facets")
            pieces = list(reports.read_whole(len(self._inputs.pieces)).values())
            changed = [one.values[LAYOUT_CHANGED] for one in pieces if one.values]
            if not changed:
                break
            for path in dict.fromkeys(changed):
                self._inputs = without_cuts(self._inputs, path)
            attempt += 1
        for piece in pieces:
            report.add(piece)
            report.is_whole &= all(error.kind == "line" for error in piece.errors)
        return report, rows, found

    def _keep(self, frame: "DataFrame") -> "DataFrame":
        from pyspark import StorageLevel

        self._kept.append(frame.persist(StorageLevel.DISK_ONLY))
        return frame

    def _shown(self, step: str) -> AbstractContextManager[None]:
        return shown_stages(self._spark, step, self._progress)

    def _groupings(self, rows: "DataFrame", layout: CellLayout) -> dict[str, dict[str, Array]]:
        """Return the columns of the combinations that have enough captures, by grouping."""
        from pyspark.sql import functions as f

        finest = rows.groupBy("cell").agg(
            f.count("*").alias("captures"), f.sum("size_bytes").alias("bytes")
        )
        least = self._options.min_captures
        counts = _collected(
            mapped(finest, lambda batches: projected_counts(batches, layout), COUNT_SCHEMA), least
        )
        frequent = [cells for cells, _, _ in counts]
        shared = self._spark.sparkContext.broadcast(frequent)
        documents, urls = (
            _collected(_once(rows, kind, layout, shared, self._partitions), 1)
            for kind in ("digest", "url")
        )
        groupings = {}
        for number, criteria in enumerate(GROUPINGS):
            if len(frequent[number]):
                named = (Criterion.STATUS, *criteria)
                codes = {one.value: layout.codes(frequent[number], one) for one in named}
                features = _features(counts[number], documents[number], urls[number])
                groupings[grouping_name(criteria)] = {**codes, **features}
        return groupings

    def _write_captures(self, rows: "DataFrame", captures: int) -> dict[str, int]:
        """Write the captures and the hashes of their numbers; return the counts of numbers."""
        folder, ids = self._output.folder, {}
        for kind in ("url", "digest"):
            numbers, ids[kind] = text_numbers(rows, kind, self._partitions)
            self._keep(numbers)
            written = write_frame(numbers, folder.inner(f"{COUNTED_IDS}/{kind}"))
            _check(written, ids[kind], kind)
            rows = with_numbers(rows, numbers, kind)
        rows = rows.drop("cell", Criterion.MONTH).withColumnRenamed("month_name", "month")
        rows = rows.repartition(self._partitions, "month", "task")
        _check(write_frame(rows, folder.inner(COUNTED_CAPTURES), "month"), captures, "capture")
        return ids

    def _write_driver_files(
        self,
        groupings: Mapping[str, Mapping[str, Array]],
        labels: Labels,
        captures: int,
        ids: Mapping[str, int],
    ) -> None:
        folder, options = self._output.folder, self._options
        with folder.new_file(COUNTED_COMBINATIONS) as stream:
            combinations_frame(groupings, labels.values.__getitem__).write_parquet(stream)
        folder.write(COUNTED_LABELS, labels_json(labels.values))
        notes = CountedNotes(
            seeds=self._seeds,
            hashed_by=pl.__version__,
            sites=options.sites.by_key if options.sites else {},
            min_captures=options.min_captures,
            captures=captures,
            ids=ids,
            stamp=self._inputs.stamp,
            checks=self._inputs.checks,
        )
        folder.write(COUNTED_NOTES, notes.to_json())


def _summary(rows: "DataFrame") -> dict[str, Any]:
    """Return the number of captures, and the distinct texts per column."""
    from pyspark.sql import functions as f

    texts = [f.collect_set(name).alias(name) for name in TEXTS]
    (found,) = rows.agg(f.count("*").alias("captures"), *texts).collect()
    summary: dict[str, Any] = found.asDict()
    return summary


def _coded(rows: "DataFrame", labels: Labels, layout: CellLayout) -> "DataFrame":
    from pyspark.sql.pandas.types import to_arrow_schema

    shared = rows.sparkSession.sparkContext.broadcast(labels.values)
    schema = coded_schema(to_arrow_schema(rows.schema))
    return mapped(rows, lambda batches: coded_rows(batches, shared.value, layout), schema)


def _once(
    rows: "DataFrame", kind: str, layout: CellLayout, shared: Any, partitions: int
) -> "DataFrame":
    """Return the number of texts of a kind per cell; each cell is counted once per text."""
    from pyspark.sql import functions as f

    names = [f.col(f"{kind}_first").alias("first"), f.col(f"{kind}_second").alias("second")]
    cells = rows.select(*names, "cell", "size_bytes").groupBy("first", "second", "cell")
    texts = cells.agg(f.max("size_bytes").alias("size_bytes"))
    texts = texts.repartition(partitions, "first", "second")
    return mapped(texts, lambda batches: counted_once(batches, layout, shared.value), COUNT_SCHEMA)


_Counts = tuple[Array, Array, Array]
"""Cells in order, the counts of captures or texts in them, and their bytes."""


def _collected(counts: "DataFrame", least: int) -> list[_Counts]:
    """Return the counts of each grouping, summed by cell, that are at least `least`."""
    from pyspark.sql import functions as f

    added = counts.groupBy("grouping", "cell").agg(
        f.sum("captures").alias("captures"), f.sum("bytes").alias("bytes")
    )
    table = added.filter(f.col("captures") >= least).toArrow()
    names = ("grouping", "cell", "captures", "bytes")
    numbers, cells, captures, sizes = (table.column(name).to_numpy() for name in names)
    order = np.lexsort((cells, numbers))
    edges = np.searchsorted(numbers[order], np.arange(len(GROUPINGS) + 1))
    rows = [order[start:end] for start, end in pairwise(edges.tolist())]
    return [(cells[some], captures[some], sizes[some]) for some in rows]


def _features(counts: _Counts, documents: _Counts, urls: _Counts) -> dict[str, Array]:
    """Return the features of the cells of a grouping; all three counts have the same cells."""
    return {
        "captures": counts[1],
        "unique_documents": documents[1],
        "unique_urls": urls[1],
        "bytes": counts[2],
        "unique_bytes": documents[2],
    }


def _check(written: int, expected: int, noun: str) -> None:
    if written != expected:
        raise JobError(f"{written} rows were written instead of {expected} ({noun}); run again")

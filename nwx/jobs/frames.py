"""Pieces of work as DataFrames, each read by an executor, and DataFrames as Parquet files."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from nwx.jobs.folders import JobFolder
from nwx.jobs.parquet_parts import WRITTEN_SCHEMA, PartWriter
from nwx.jobs.pieces import PieceT, PieceWork, read_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_TASKS = 20_000
"""More pieces than this share tasks: the driver keeps a good deal for each."""


def piece_frame(
    spark: "SparkSession", pieces: Sequence[PieceT], work: PieceWork[PieceT]
) -> "DataFrame":
    """Return the rows that all pieces come to; the number of a piece is its place in `pieces`.

    A piece is a task of its own, unless there are very many. What is in the
    reports is written when the rows are asked for, once or again.
    """
    from pyspark import TaskContext
    from pyspark.sql.pandas.types import from_arrow_schema

    shared = spark.sparkContext.broadcast(pieces)

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        yield from read_pieces(numbers, shared.value, work, context.attemptNumber())

    numbers = spark.range(0, len(pieces), 1, max(1, min(len(pieces), MOST_TASKS)))
    return numbers.mapInArrow(read, from_arrow_schema(work.schema))


def write_frame(frame: "DataFrame", folder: JobFolder, by: str = "") -> int:
    """Write the rows of a frame as Parquet, a file for each task; return how many they are.

    With `by`, each task has a file for each value of this column, as
    `PartWriter` writes them.
    """
    from pyspark import TaskContext
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    rows = frame.sortWithinPartitions(by) if by else frame
    kept = [one for one in to_arrow_schema(frame.schema) if one.name != by]
    writer = PartWriter(folder, pa.schema(kept), by)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        yield from writer.write(batches, context.partitionId())

    written = rows.mapInArrow(write, from_arrow_schema(WRITTEN_SCHEMA))
    return sum(written.toArrow().column("rows").to_pylist())

"""Pieces of work as DataFrames, each read by an executor, and DataFrames as Parquet files."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from threading import Event, Thread
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.errors import JobError
from nwx.jobs.folders import JobFolder
from nwx.jobs.pieces import PieceT, PieceWork, read_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_Batches = Iterable[pa.RecordBatch]

WRITTEN_SCHEMA = pa.schema([("rows", pa.int64())])

_GROUP_ROWS = 100_000
_GROUP_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class PartWriter:
    """Writes the rows of a partition into a folder, in the columns and types of a schema.

    With `by`, a column of texts that the rows are in the order of, rows lie
    in folders `NAME=VALUE` by its value, without this column. A file appears
    when it is whole. A partition that is written again replaces what it
    wrote, as its rows are the same.
    """

    folder: JobFolder
    schema: pa.Schema
    by: str = ""

    def write(self, batches: _Batches, part: int) -> Iterator[pa.RecordBatch]:
        """Write rows, and give how many they were; a row group of them is in memory."""
        name, rows = f"part-{part:05d}.parquet", 0
        if not self.by:
            rows = self._write(batches, name)
        else:
            written: set[str] = set()
            for value, some in groupby(self._by_value(batches), key=itemgetter(0)):
                if value in written:
                    raise JobError(f"rows of {self.by} {value} are not beside each other")
                written.add(value)
                rows += self._write((batch for _, batch in some), f"{self.by}={value}/{name}")
        yield pa.RecordBatch.from_pydict({"rows": [rows]}, schema=WRITTEN_SCHEMA)

    def _by_value(self, batches: _Batches) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the stretches of batches that have one value each."""
        for batch in batches:
            if not batch.num_rows:
                continue
            codes = batch.column(self.by).dictionary_encode().indices.to_numpy()
            bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), batch.num_rows]
            for begin, end in pairwise(bounds):
                yield batch.column(self.by)[begin].as_py(), batch[begin:end]

    def _write(self, batches: _Batches, name: str) -> int:
        """Write a file, unless there is no row; return the number of rows."""
        rows = 0
        with ExitStack() as opened:
            writer = None
            for table in self._groups(batches):
                if writer is None:
                    stream = opened.enter_context(self.folder.new_file(name))
                    writer = opened.enter_context(
                        pq.ParquetWriter(stream, self.schema, compression="zstd")
                    )
                writer.write_table(table)
                rows += table.num_rows
        return rows

    def _groups(self, batches: _Batches) -> Iterator[pa.Table]:
        """Yield rows as row groups."""
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch.select(self.schema.names).cast(self.schema))
            size += batch.num_rows
            if size >= _GROUP_ROWS or sum(one.nbytes for one in held) >= _GROUP_BYTES:
                yield pa.Table.from_batches(held)
                held, size = [], 0
        if size:
            yield pa.Table.from_batches(held)


_EVERY_SECONDS = 1.0


@contextmanager
def shown_stages(spark: "SparkSession", step: str, progress: ShowProgress) -> Iterator[None]:
    """Show while Spark works inside how many tasks of the stages that run are done."""
    from py4j.protocol import Py4JError

    over = Event()

    def watch() -> None:
        while not over.wait(_EVERY_SECONDS):
            try:
                done, total = _tasks(spark)
            except Py4JError:
                return  # Spark is gone, which the work inside notices too
            if total:
                progress(WorkProgress(step, done, total))

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _tasks(spark: "SparkSession") -> tuple[int, int]:
    """Return how many tasks of all stages that run are done, and how many there are."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)


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

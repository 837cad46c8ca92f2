"""Execution of a task's pieces of work in an executor; plain Python, without Spark.

The first attempt reads in this process. If that kills the process, Spark retries the task, and
each piece is then read in a separate process: a crash is reported as an error of the piece's
file, and the others continue. A reader that hangs is killed with its process too.
"""

import faulthandler
import json
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nwx import __version__
from nwx.bulk.child_processes import Death
from nwx.bulk.guarded_process import MOST_STEP_SECONDS, StepGuard
from nwx.bulk.process_limits import forbid_core_dumps
from nwx.bulk.progress import Note, ShowProgress, WorkProgress, meanwhile
from nwx.errors import JobError, NwxError
from nwx.jobs.output import JobFolder, PieceReport, ReportFolder
from nwx.model import ReadError

if TYPE_CHECKING:
    from pyspark import TaskContext
    from pyspark.sql import DataFrame, SparkSession


PieceT = TypeVar("PieceT")

PieceReader = Callable[[PieceT, PieceReport], Iterator[pa.RecordBatch]]
"""Yields the rows of one piece of work; counts and errors go to its report."""

_PAUSES = (1.0, 4.0)
_POSITION = struct.Struct("q")
_READER_FAILED, _SYSTEM_FAILED = 1, 2


class UnreachableError(NwxError):
    """A piece cannot be read for now, as its file system does not respond."""


@dataclass(frozen=True, slots=True)
class PieceWork(Generic[PieceT]):
    """The work of executors on numbered pieces.

    `name` returns the file of a piece for messages. Pieces that are `is_far` are read over the
    network, and retried if the reader raises UnreachableError. A reader is killed after `seconds`
    of processor time without a note in its report or a batch.
    """

    read: PieceReader[PieceT]
    name: Callable[[PieceT], str]
    schema: pa.Schema
    reports: ReportFolder
    is_far: Callable[[PieceT], bool] = lambda piece: False
    version: str = __version__
    seconds: float = MOST_STEP_SECONDS


def read_pieces(
    numbers: Iterator[pa.RecordBatch],
    pieces: Sequence[PieceT],
    work: PieceWork[PieceT],
    attempt: int,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the pieces with the given numbers (the first column).

    `attempt` is the number of earlier attempts. The reports of the pieces are written once all are
    read. Raises JobError if the executor runs another version of nwx than the driver, or if this
    machine fails.
    """
    if work.version != __version__:
        raise JobError(
            f"the executors have nwx {__version__}, this command is {work.version}; "
            "send its environment with --archives"
        )
    reports: dict[int, PieceReport] = {}
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            piece = pieces[number]
            if attempt or work.is_far(piece):
                with TemporaryDirectory(prefix="nwx-piece-") as folder:
                    path = Path(folder) / "batches"
                    reports[number] = _spooled(piece, work, path, apart=attempt > 0)
                    with pa.OSFile(str(path), "rb") as stream, pa.ipc.open_stream(stream) as spool:
                        yield from spool
            else:
                with StepGuard(work.seconds) as guard:
                    reports[number] = PieceReport(note=guard.next)
                    yield from _steps(work.read(piece, reports[number]), guard)
    if reports:
        work.reports.write(reports)


def _steps(batches: Iterator[pa.RecordBatch], guard: StepGuard) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        guard.next()
        yield batch


def _spooled(piece: PieceT, work: PieceWork[PieceT], path: Path, *, apart: bool) -> PieceReport:
    """Write all rows of a piece, or none, to a file; return its report."""
    read = _read_apart if apart else _read_again
    return read(piece, work, path, PieceReport().note)


def _read_again(piece: PieceT, work: PieceWork[PieceT], path: Path, note: Note) -> PieceReport:
    """Write the batches of a piece to a file; retry if it is unreachable."""
    for pause in (*_PAUSES, None):
        try:
            with StepGuard(work.seconds) as guard:
                report = PieceReport(note=partial(_noted, note, guard))
                _write_batches(_steps(work.read(piece, report), guard), work.schema, path)
        except UnreachableError as error:
            failure = str(error)
        else:
            return report
        if pause is not None:
            time.sleep(pause)
    _write_batches(iter(()), work.schema, path)
    return _failed(work.name(piece), None, "read", failure)


def _noted(note: Note, guard: StepGuard, done: int) -> None:
    guard.next()
    note(done)


def _write_batches(batches: Iterator[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_stream(stream, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _read_apart(piece: PieceT, work: PieceWork[PieceT], path: Path, note: Note) -> PieceReport:
    """Write the batches of a piece to a file in a child process, whose crash is reported."""
    with mmap.mmap(-1, _POSITION.size) as shared:
        child = os.fork()
        if not child:
            _work_as_child(piece, work, path, shared)
        _, status = os.waitpid(child, 0)
        (position,) = _POSITION.unpack_from(shared)
    code = os.waitstatus_to_exitcode(status)
    told = path.with_suffix(".json")
    if code == 0:
        return PieceReport.from_json(json.loads(told.read_bytes()))
    if code == _SYSTEM_FAILED:
        raise JobError(_failure_text(told))
    _write_batches(iter(()), work.schema, path)
    cause = Death(code, _failure_text(told)).cause(work.seconds)
    return _failed(
        work.name(piece), position, "crash", f"its reader {cause}; nothing of it is used"
    )


def _work_as_child(
    piece: PieceT, work: PieceWork[PieceT], path: Path, shared: mmap.mmap
) -> NoReturn:
    """Read a piece, write its result, and end this process without any clean-up."""
    told, code = path.with_suffix(".json"), _READER_FAILED
    try:
        faulthandler.disable()
        forbid_core_dumps()
        report = _read_again(piece, work, path, lambda done: _POSITION.pack_into(shared, 0, done))
        told.write_text(json.dumps(report.as_json()))
        code = 0
    finally:
        try:
            error = sys.exc_info()[1]
            if error is not None:
                code = _SYSTEM_FAILED if isinstance(error, OSError | JobError) else _READER_FAILED
                kind = "" if isinstance(error, JobError) else f"{type(error).__name__}: "
                told.write_text(f"{kind}{error}")
        finally:
            os._exit(code)


def _failure_text(path: Path) -> str:
    text = path.read_text() if path.exists() else ""
    return text or "a process failed, and could not write why; its disk may be full"


def _failed(file: str, offset: int | None, kind: str, message: str) -> PieceReport:
    report = PieceReport()
    report.add_errors([ReadError(file, offset, kind, message)])
    return report


_Batches = Iterable[pa.RecordBatch]

WRITTEN_SCHEMA = pa.schema([("rows", pa.int64())])

_GROUP_ROWS = 100_000
_GROUP_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class PartWriter:
    """Writer of a partition's rows into a folder, with the columns and types of a schema.

    With `by`, a text column that the rows are sorted by, rows are stored in folders `NAME=VALUE` by
    its value, without this column. A file appears only when complete. Writing a partition again
    replaces its files, as its rows are the same.
    """

    folder: JobFolder
    schema: pa.Schema
    by: str = ""

    def write(self, batches: _Batches, part: int) -> Iterator[pa.RecordBatch]:
        """Write rows, holding one row group in memory; yield a batch with their number."""
        name, rows = f"part-{part:05d}.parquet", 0
        if not self.by:
            rows = self._write(batches, name)
        else:
            written: set[str] = set()
            for value, some in groupby(self._by_value(batches), key=itemgetter(0)):
                if value in written:
                    raise JobError(f"rows of {self.by} {value} are not adjacent")
                written.add(value)
                rows += self._write((batch for _, batch in some), f"{self.by}={value}/{name}")
        yield pa.RecordBatch.from_pydict({"rows": [rows]}, schema=WRITTEN_SCHEMA)

    def _by_value(self, batches: _Batches) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield slices of batches that have a single value of the column `by`, with the value."""
        for batch in batches:
            if not batch.num_rows:
                continue
            codes = batch.column(self.by).dictionary_encode().indices.to_numpy()
            bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), batch.num_rows]
            for begin, end in pairwise(bounds):
                yield batch.column(self.by)[begin].as_py(), batch[begin:end]

    def _write(self, batches: _Batches, name: str) -> int:
        """Write a file, unless there are no rows; return the number of rows."""
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
    """Report the progress of tasks in active Spark stages while the block runs."""
    from py4j.protocol import Py4JError

    def look() -> None:
        with suppress(Py4JError):  # Spark has ended: the block fails with its own error
            done, total = _tasks(spark)
            if total:
                progress(WorkProgress(step, done, total))

    with meanwhile(look, _EVERY_SECONDS):
        yield


def _tasks(spark: "SparkSession") -> tuple[int, int]:
    """Return the number of completed tasks in all active stages, and of all their tasks."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)


MOST_TASKS = 20_000
"""If there are more pieces, they share tasks: the driver needs much memory for each task."""


def mapped(
    frame: "DataFrame",
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
) -> "DataFrame":
    """Return the frame of a function applied to the batches of each partition."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return frame.mapInArrow(function, from_arrow_schema(schema))


def task_context() -> "TaskContext":
    """Return the context of the current task in this executor."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context


def piece_frame(
    spark: "SparkSession", pieces: Sequence[PieceT], work: PieceWork[PieceT]
) -> "DataFrame":
    """Return the rows of all pieces; the number of a piece is its index in `pieces`.

    Each piece is a separate task, unless there are very many. Reports are written whenever the rows
    are computed, possibly more than once.
    """
    shared = spark.sparkContext.broadcast(pieces)

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from read_pieces(numbers, shared.value, work, task_context().attemptNumber())

    numbers = spark.range(0, len(pieces), 1, max(1, min(len(pieces), MOST_TASKS)))
    return mapped(numbers, read, work.schema)


def write_frame(frame: "DataFrame", folder: JobFolder, by: str = "") -> int:
    """Write the rows of a frame as Parquet, a file per task; return the number of rows.

    With `by`, each task has a file for each value of this column, as `PartWriter` writes them.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    rows = frame.sortWithinPartitions(by) if by else frame
    kept = [one for one in to_arrow_schema(frame.schema) if one.name != by]
    writer = PartWriter(folder, pa.schema(kept), by)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from writer.write(batches, task_context().partitionId())

    return sum(mapped(rows, write, WRITTEN_SCHEMA).toArrow().column("rows").to_pylist())

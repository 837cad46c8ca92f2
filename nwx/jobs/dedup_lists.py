"""The jobs `dedup` and `revisits`: exclusion lists of CDX files, in parts.

The parts, concatenated in the order of their names, equal the output of `nwx dedup-cdx` and
`nwx revisits`.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.cdx.inputs import (
    CdxSource,
    FilePiece,
    LayoutChangedError,
    Problems,
    ReadTask,
    record_from_json,
    record_json,
)
from nwx.cdx.rows import CdxRow, format_cdx
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.policies import Revisits
from nwx.dedup.tasks import DedupPlan, DedupReport, add_savings, list_lines, selected_columns
from nwx.errors import SourceError
from nwx.jobs.best_captures import (
    ANSWER_SCHEMA,
    BEST_SCHEMA,
    COUNTED,
    TaskFound,
    answers_by_run,
    bests_of_task,
    compared_bests,
    duplicates_of_task,
)
from nwx.jobs.inputs import in_one_piece, task_is_far, task_name
from nwx.jobs.output import (
    JobFolder,
    JobOutput,
    JobReport,
    OutputMode,
    PieceReport,
    ReportFolder,
    open_output,
)
from nwx.jobs.pieces import (
    MOST_TASKS,
    PieceReader,
    PieceWork,
    UnreachableError,
    piece_frame,
    shown_stages,
)
from nwx.model import ReadError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_ROWS_A_PARTITION = 1_000_000
_SAVINGS = "_savings.json"
_FOUND = "found"
_WRITTEN = pa.schema([("keys", pa.int64()), (_FOUND, pa.string())])
_NOTHING = pa.schema([("number", pa.int64())])


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of a list; `summary` also counts possible savings by type and host."""

    strict: bool = False
    summary: bool = False
    overwrite: bool = False


def list_duplicates(
    spark: "SparkSession",
    tasks: Sequence[ReadTask],
    place: str,
    selection: CaptureFilter,
    options: ListOptions,
    *,
    held: Iterable[CdxRow] | None = None,
    progress: ShowProgress = no_progress,
) -> JobReport:
    """Write a `date digest url` line for each duplicate into the folder at `place`.

    Captures of `held` tasks, and the `held` lines, precede all others of their key. Raises CdxError
    on the first invalid line if strict, UsageError if the folder exists.
    """
    run = _Run(spark, "dedup", place, selection, options, progress)
    if held is not None:
        tasks = [*tasks, run.held_task(held, len(tasks))]
    plan, folder = run.plan, run.output.folder
    tasks, rows = run.read(tasks, lambda _: _BestReader(plan), BEST_SCHEMA)
    partitions = max(spark.sparkContext.defaultParallelism, run.rows // _ROWS_A_PARTITION + 1)
    with shown_stages(spark, "writing", progress):
        answers = _answers(rows, partitions)
        run.add_written(_written(answers, tasks, plan, folder))
    rows.unpersist()
    return run.finish("duplicates")


def list_revisits(
    spark: "SparkSession",
    tasks: Sequence[ReadTask],
    place: str,
    options: ListOptions,
    *,
    progress: ShowProgress = no_progress,
) -> JobReport:
    """Write a `date digest url` line for each revisit, as `list_duplicates` does."""
    selection = CaptureFilter(revisits=Revisits.ONLY)
    run = _Run(spark, "revisits", place, selection, options, progress)
    plan, folder = run.plan, run.output.folder
    run.read(tasks, lambda tasks: _RevisitWriter(plan, folder), _NOTHING)
    run.report.filtered = 0  # all that are no revisits
    return run.finish("revisits")


@dataclass(frozen=True, slots=True)
class _BestReader:
    """Reads the best captures of a task; nothing of one that cannot be read to its end."""

    plan: DedupPlan

    def __call__(self, task: ReadTask, report: PieceReport) -> Iterator[pa.RecordBatch]:
        found = TaskFound()
        try:
            yield from bests_of_task(self.plan, task, found)
        except SourceError as error:
            _note_unread(task, found, error, report)
        report.values[_FOUND] = record_json(found)


@dataclass(frozen=True, slots=True)
class _RevisitWriter:
    """Writes the list of the revisits of a task; nothing of one that cannot be read to its end."""

    plan: DedupPlan
    folder: JobFolder

    def __call__(self, task: ReadTask, report: PieceReport) -> Iterator[pa.RecordBatch]:
        found = TaskFound()
        try:
            _write_part(self.folder, task, self._lines(task, found))
        except SourceError as error:
            found.lines = 0
            _note_unread(task, found, error, report)
        report.values[_FOUND] = record_json(found)
        yield from ()

    def _lines(self, task: ReadTask, found: TaskFound) -> Iterator[bytes]:
        for piece in task.pieces:
            for columns in selected_columns(piece, self.plan, found):
                found.lines += len(columns)
                if self.plan.summary:
                    add_savings(found.savings, columns)
                if len(columns):
                    yield list_lines(columns)


def _note_unread(task: ReadTask, found: TaskFound, error: SourceError, report: PieceReport) -> None:
    if task_is_far(task):
        raise UnreachableError(str(error)) from error
    report.add_errors([ReadError(found.readings[-1].file, None, "read", str(error))])


def _part_name(number: int) -> str:
    return f"part-{number:07d}.txt"


def _write_part(folder: JobFolder, task: ReadTask, lines: Iterator[bytes]) -> None:
    """Write a part of a list, unless it has no line."""
    first = next(lines, b"")
    if first:
        with folder.new_file(_part_name(task.number)) as stream:
            stream.write(first)
            stream.writelines(lines)


def _answers(rows: "DataFrame", partitions: int) -> "DataFrame":
    """Return the answers to each run, from the best rows of all runs."""
    from pyspark.sql.pandas.types import from_arrow_schema

    by_key = rows.repartition(partitions, "key")
    return by_key.mapInArrow(compared_bests, from_arrow_schema(ANSWER_SCHEMA))


def _written(
    answers: "DataFrame", tasks: Sequence[ReadTask], plan: DedupPlan, folder: JobFolder
) -> "Iterator[dict[str, Any]]":
    """Write the parts of the list, and return the result of each task."""
    from pyspark.sql.pandas.types import from_arrow_schema

    shared = answers.sparkSession.sparkContext.broadcast(tasks)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, runs in groupby(answers_by_run(batches), key=itemgetter(0)):
            answered = ((run, rows) for _, run, rows in runs)
            if number == COUNTED:
                keys = sum(sum(rows.column("key").to_pylist()) for _, rows in answered)
                row = {"keys": keys, _FOUND: None}
            else:
                found, task = TaskFound(), shared.value[number]
                _write_part(folder, task, duplicates_of_task(plan, task, answered, found))
                found.readings.clear()
                row = {"keys": 0, _FOUND: json.dumps(record_json(found))}
            yield pa.RecordBatch.from_pylist([row], _WRITTEN)

    by_task = answers.repartition(max(1, min(len(tasks), MOST_TASKS)), "task")
    ordered = by_task.sortWithinPartitions("task", "run")
    return iter(ordered.mapInArrow(write, from_arrow_schema(_WRITTEN)).toArrow().to_pylist())


class _Run:
    """One run: its output, and the report that its tasks make."""

    def __init__(
        self,
        spark: "SparkSession",
        job: str,
        place: str,
        selection: CaptureFilter,
        options: ListOptions,
        progress: ShowProgress,
    ) -> None:
        mode = OutputMode.OVERWRITE if options.overwrite else OutputMode.NEW
        self.output: JobOutput = open_output(place, job, asdict(selection), mode)
        self.plan = DedupPlan(
            selection, secrets.randbits(64), 1, Path(), options.strict, options.summary
        )
        self.report = DedupReport()
        self.rows = 0
        self._spark, self._job, self._progress = spark, job, progress
        self._unread = JobReport(job)

    def held_task(self, held: Iterable[CdxRow], number: int) -> ReadTask:
        """Return a task of captures that are held, after writing them where executors read."""
        with self.output.work.new_file("held.cdx") as stream:
            for line in held:
                stream.write(format_cdx(line).encode("utf-8", "surrogateescape") + b"\n")
        path = self.output.work.path("held.cdx")
        source = CdxSource(path, held=True, name="the captures held")
        return ReadTask(number, (FilePiece(source),), 0)

    def read(
        self,
        tasks: Sequence[ReadTask],
        reader_of: Callable[[Sequence[ReadTask]], PieceReader[ReadTask]],
        schema: pa.Schema,
    ) -> "tuple[Sequence[ReadTask], DataFrame]":
        """Return tasks and their rows, which are kept; each file with one layout is cut no more."""
        from pyspark import StorageLevel

        attempt = 0
        while True:
            reports = ReportFolder(self.output.work.inner(f"reports-{attempt}"))
            work = PieceWork(reader_of(tasks), task_name, schema, reports, task_is_far)
            rows = piece_frame(self._spark, tasks, work).persist(StorageLevel.DISK_ONLY)
            with shown_stages(self._spark, "reading", self._progress):
                self.rows = rows.count()
            try:
                self._add_read(tasks, reports.read_whole(len(tasks)))
            except LayoutChangedError as error:
                rows.unpersist()
                for name in self.output.folder.names():
                    if name.startswith("part-"):
                        self.output.folder.delete(name)
                tasks, attempt = in_one_piece(tasks, error.path), attempt + 1
                continue
            return tasks, rows

    def _add_read(self, tasks: Sequence[ReadTask], pieces: dict[int, PieceReport]) -> None:
        self.report, self._unread = DedupReport(), JobReport(self._job)
        problems = Problems(self.report, strict=self.plan.strict)
        for number, piece in pieces.items():
            self._unread.add(piece)
            if _FOUND in piece.values:
                found = record_from_json(TaskFound, piece.values[_FOUND])
                problems.add(tasks[number].pieces, found.readings)
                self.report.add(found.passed)
                self._add_lines(found)

    def add_written(self, rows: Iterable[dict[str, Any]]) -> None:
        """Add the reports of the tasks that wrote parts."""
        for row in rows:
            self.report.keys += row["keys"]
            if row[_FOUND]:
                self._add_lines(record_from_json(TaskFound, json.loads(row[_FOUND])))

    def _add_lines(self, found: TaskFound) -> None:
        self.report.duplicates += found.lines
        self.report.spared += found.spared
        self.report.savings.add(found.savings)

    def finish(self, noun: str) -> JobReport:
        """Return the report of the job; the output is whole where all could be read."""
        found, report = self.report, self._unread
        report.is_whole = not report.errors_total
        counts = {
            "lines": found.lines,
            "keys": found.keys,
            noun: found.duplicates,
            "spared": found.spared,
            "not_captures": found.not_captures,
            "without_digest": found.without_digest,
            "filtered": found.filtered,
            "bytes_saved": found.savings.bytes,
        }
        report.counts.update({name: count for name, count in counts.items() if count})
        listed = [
            ReadError(each.file or "", None, "line", f"line {each.line}: {each}")
            for each in found.problems
        ]
        report.add_errors(listed)
        report.errors_total += found.problems_total - len(listed)
        if self.plan.summary:
            content = json.dumps(record_json(found.savings)).encode()
            self.output.folder.write(_SAVINGS, content)
        if not found.duplicates:  # a list of no line, for whoever puts the parts together
            self.output.folder.write(_part_name(0), b"")
        self.output.finish(report)
        return report

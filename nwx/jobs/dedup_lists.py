"""The jobs `dedup` and `revisits`: exclusion lists of CDX files, in parts.

The parts, concatenated in the order of their names, equal the output of `nwx dedup-cdx` and
`nwx revisits`.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nwx.bulk.arrays import KEY, Entries
from nwx.bulk.process_limits import keep_memory
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import (
    CdxSource,
    FilePiece,
    FileReading,
    LayoutChangedError,
    Problems,
    ReadTask,
    record_from_json,
    record_json,
)
from nwx.cdx.rows import CdxRow, format_cdx
from nwx.dedup.capture_filter import (
    ID,
    KEY_REST,
    RANK,
    TIE,
    CaptureFilter,
    Passed,
    key_entries,
)
from nwx.dedup.key_hashes import KeyHash
from nwx.dedup.policies import Revisits
from nwx.dedup.tasks import (
    TASK_SHIFT,
    DedupPlan,
    DedupReport,
    line_savings,
    list_lines,
    selected_columns,
)
from nwx.errors import SourceError
from nwx.jobs.inputs import add_broken_lines, in_one_piece, task_is_far, task_name
from nwx.jobs.output import (
    JobOutput,
    JobReport,
    OutputMode,
    PieceReport,
    ReportFolder,
    open_output,
)
from nwx.jobs.pieces import (
    MOST_TASKS,
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
_LONG = pa.int64()
_WORDS = ("key", "rest", "id", "rank", "tie", "word")
_CAPTURES = pa.schema(
    [(name, _LONG) for name in _WORDS]
    + [("line", pa.binary()), ("mime", pa.string()), ("host", pa.string()), ("size", _LONG)]
)
"""A capture: the words of its entry as signed numbers (Spark has no unsigned), and its line.

Type, host and size are null without a summary; for held captures, the line is null too.
"""


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
    tasks, rows = run.read(tasks)
    with shown_stages(spark, "writing", progress):
        run.write_duplicates(rows, len(tasks))
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
    tasks, rows = run.read(tasks)
    with shown_stages(spark, "writing", progress):
        run.report.duplicates = run.rows
        run.write_lines(rows, len(tasks))
    rows.unpersist()
    run.report.filtered = 0  # it counted all captures that are not revisits
    return run.finish("revisits")


@dataclass(slots=True)
class PieceFound:
    """The counts of a piece: lines of its file, and captures that passed the filter.

    The ids of its rows are those from `first` on, before `end`.
    """

    first: int
    end: int
    readings: list[FileReading] = field(default_factory=list)
    passed: Passed = field(default_factory=Passed)
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class _CaptureReader:
    """Reads the captures of a task; a piece ends at its first read error, which is reported."""

    plan: DedupPlan

    def __call__(self, task: ReadTask, report: PieceReport) -> Iterator[pa.RecordBatch]:
        keep_memory()
        found: list[PieceFound] = []
        end = task.number << TASK_SHIFT
        for piece in task.pieces:
            one = PieceFound(end, end)
            found.append(one)
            try:
                yield from self._captures(piece, one, held=task.held)
            except SourceError as error:
                _note_unread(task, one, error, report)
            end = one.end
            if task.held:
                one.passed = Passed()
            if self.plan.strict and one.readings[-1].problems:
                break
        report.values[_FOUND] = record_json(found)

    def _captures(
        self, piece: FilePiece, found: PieceFound, *, held: bool
    ) -> Iterator[pa.RecordBatch]:
        plan = self.plan
        keys = KeyHash(plan.selection.key, plan.seed)
        for columns in selected_columns(piece, plan, found):
            if len(columns):
                entries = key_entries(columns, keys, plan.selection, found.end, held)
                found.end += len(columns)
                yield self._rows(columns, entries, held=held)

    def _rows(self, columns: CdxColumns, entries: Entries, *, held: bool) -> pa.RecordBatch:
        tie = (
            entries[:, TIE] if self.plan.selection.ranks > 1 else np.zeros(len(entries), np.uint64)
        )
        words = [entries[:, KEY], entries[:, KEY_REST], entries[:, ID], entries[:, RANK], tie]
        signed = (np.ascontiguousarray(one).view(np.int64) for one in (*words, entries[:, -1]))
        lines = [None] * len(columns) if held else list_lines(columns).split(b"\n")[:-1]
        saved = (
            line_savings(columns) if self.plan.summary and not held else [(None,) * 3] * len(lines)
        )
        arrays = [*map(pa.array, signed), lines, *zip(*saved, strict=True)]
        typed = zip(arrays, _CAPTURES.types, strict=True)
        return pa.RecordBatch.from_arrays(
            [pa.array(one, kind) for one, kind in typed], schema=_CAPTURES
        )


def _note_unread(
    task: ReadTask, found: PieceFound, error: SourceError, report: PieceReport
) -> None:
    if task_is_far(task):
        raise UnreachableError(str(error)) from error
    found.is_unread = True
    report.add_errors([ReadError(found.readings[-1].file, None, "read", str(error))])


def _part_name(number: int) -> str:
    return f"part-{number:07d}.txt"


class _Run:
    """A run of a job: its output, and the report of its tasks."""

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
        """Return a task for held captures, after writing them to a file for executors."""
        with self.output.work.new_file("held.cdx") as stream:
            for line in held:
                stream.write(format_cdx(line).encode("utf-8", "surrogateescape") + b"\n")
        path = self.output.work.path("held.cdx")
        source = CdxSource(path, held=True, name="the captures held")
        return ReadTask(number, (FilePiece(source),), 0)

    def read(self, tasks: Sequence[ReadTask]) -> "tuple[Sequence[ReadTask], DataFrame]":
        """Return tasks and their rows, cached on disk; files of several layouts are not split."""
        from pyspark import StorageLevel

        attempt, reader = 0, _CaptureReader(self.plan)
        while True:
            reports = ReportFolder(self.output.work.inner(f"reports-{attempt}"))
            work = PieceWork(reader, task_name, _CAPTURES, reports, task_is_far)
            rows = piece_frame(self._spark, tasks, work).persist(StorageLevel.DISK_ONLY)
            with shown_stages(self._spark, "reading", self._progress):
                self.rows = rows.count()
            try:
                unread = self._add_read(tasks, reports.read_whole(len(tasks)))
            except LayoutChangedError as error:
                rows.unpersist()
                tasks, attempt = in_one_piece(tasks, error.path), attempt + 1
                continue
            return tasks, self._without(unread, rows) if unread else rows

    def _without(self, unread: Sequence[PieceFound], rows: "DataFrame") -> "DataFrame":
        """Return rows without those of some pieces."""
        from pyspark import StorageLevel

        kept = rows
        for one in unread:
            kept = kept.where(~kept.id.between(one.first, one.end - 1))
        kept.persist(StorageLevel.DISK_ONLY)
        self.rows = kept.count()
        rows.unpersist()
        return kept

    def _add_read(
        self, tasks: Sequence[ReadTask], reports: dict[int, PieceReport]
    ) -> list[PieceFound]:
        """Add the reports of tasks; return the pieces with rows of files that were read in part."""
        self.report, self._unread = DedupReport(), JobReport(self._job)
        problems = Problems(self.report, strict=self.plan.strict)
        pieces: list[PieceFound] = []
        for number, report in reports.items():
            self._unread.add(report)
            found = record_from_json(list[PieceFound], report.values.get(_FOUND, []))
            problems.add(tasks[number].pieces, (one.readings[-1] for one in found))
            pieces += found
        unread = {one.readings[-1].file for one in pieces if one.is_unread}
        for one in pieces:
            if one.readings[-1].file not in unread:
                self.report.add(one.passed)
        return [one for one in pieces if one.readings[-1].file in unread and one.end > one.first]

    def write_duplicates(self, rows: "DataFrame", tasks: int) -> None:
        """Write the captures that are not the best of their key, one part per task."""
        from pyspark import StorageLevel
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        wide = self.rows // _ROWS_A_PARTITION + 1
        partitions = max(self._spark.sparkContext.defaultParallelism, wide)
        ranked = Window.partitionBy("key", "rest").orderBy("rank", "tie", "id")
        # Held captures have rank 0, and are never duplicates.
        is_other = (f.row_number().over(ranked) > 1) & (f.col("rank") > 0)
        judged = (
            rows.repartition(partitions, "key", "rest")
            .withColumn("is_best", f.row_number().over(ranked) == 1)
            .withColumn("is_same", is_other & (f.col("word") == f.first("word").over(ranked)))
            .withColumn("is_listed", is_other & ~f.col("is_same"))
            .drop(*_WORDS[:2], *_WORDS[3:])
            .persist(StorageLevel.DISK_ONLY)
        )
        counts = [f.count_if(name) for name in ("is_best", "is_same", "is_listed")]
        ((self.report.keys, self.report.spared, self.report.duplicates),) = judged.agg(
            *counts
        ).collect()
        self.write_lines(judged.where("is_listed"), tasks)
        judged.unpersist()

    def write_lines(self, listed: "DataFrame", tasks: int) -> None:
        """Write the lines of captures into the parts of their tasks, in the order of their ids."""
        from pyspark.sql import functions as f

        if self.plan.summary:
            saved = listed.groupBy("mime", "host").agg(f.sum("size"), f.count("*"))
            for mime, host, size, duplicates in saved.toLocalIterator():
                self.report.savings.count(mime, host, size, duplicates)
        folder = self.output.folder

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            rows = (
                row
                for batch in batches
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
            )
            for number, lines in groupby(rows, key=itemgetter(0)):
                with folder.new_file(_part_name(number)) as stream:
                    stream.writelines(line + b"\n" for _, line in lines)
            yield from ()

        by_task = listed.withColumn("task", f.shiftright("id", TASK_SHIFT))
        parts = by_task.repartition(max(1, min(tasks, MOST_TASKS)), "task")
        ordered = parts.sortWithinPartitions("id").select("task", "line")
        ordered.mapInArrow(write, "number long").count()

    def finish(self, noun: str) -> JobReport:
        """Finish the output, which is complete if all was read; return the report."""
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
        add_broken_lines(report, found.problems, found.problems_total)
        if self.plan.summary:
            content = json.dumps(record_json(found.savings)).encode()
            self.output.folder.write(_SAVINGS, content)
        if not found.duplicates:  # an empty list still needs one part to concatenate
            self.output.folder.write(_part_name(0), b"")
        self.output.finish(report)
        return report

"""The job `zipnum`: builds a cluster from CDX files, byte-identical to `nwx zipnum build`.

Executors read the lines and compute the shard of each. Spark moves the lines of a shard to one
task, in order, which writes its data file and its index. The driver then writes the index of
the cluster, with its line numbers.
"""

import shutil
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.sorted_file import Distinct, LineBatch
from nwx.bulk.whole_files import is_address
from nwx.cdx.files import format_locations
from nwx.cdx.inputs import ReadTask
from nwx.errors import JobError
from nwx.jobs.inputs import add_readings, task_is_far, task_lines, task_name
from nwx.jobs.output import (
    WORK_FOLDER,
    JobFolder,
    JobOutput,
    JobReport,
    OutputMode,
    PieceReport,
    ReportFolder,
    open_output,
)
from nwx.jobs.pieces import PieceWork, piece_frame, shown_stages, task_context
from nwx.jobs.splits import sample_size, sampled_splits
from nwx.zipnum import ClusterBuildOptions
from nwx.zipnum.publication import SPLITS, STEM, numbered_lines
from nwx.zipnum.shards import data_name, format_splits, part_name, shard_writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINES_SCHEMA = pa.schema([("slot", pa.int64()), ("line", pa.binary())])
_ADAPTIVE = "spark.sql.adaptive.enabled"
_SLOTS_A_SHARD = 40
_UNEVEN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class ShardedLines:
    """Reader of a task's lines, each with its shard's slot; lines without a slot are skipped.

    `slots` are numbers that Spark assigns to the partitions of the shards.
    """

    points: tuple[bytes, ...]
    slots: tuple[int | None, ...]

    def __call__(self, task: ReadTask, report: PieceReport) -> Iterator[pa.RecordBatch]:
        """Yield slots and lines."""
        for lines in task_lines(task, report):
            slots = [self.slots[bisect_right(self.points, line)] for line in lines]
            if None in slots:
                kept = [line for line, slot in zip(lines, slots, strict=True) if slot is not None]
                slots, lines = [slot for slot in slots if slot is not None], kept
            columns = [pa.array(slots, pa.int64()), pa.array(lines, pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, schema=LINES_SCHEMA)


@dataclass(frozen=True, slots=True)
class ShardWork:
    """Writes shards of sorted lines into the folder `work`, with a report for each."""

    work: JobFolder
    reports: ReportFolder
    points: tuple[bytes, ...]
    lines_a_block: int

    def write(self, number: int, batches: Iterator[pa.RecordBatch]) -> None:
        """Write a shard; raises JobError if a line belongs to another one."""
        distinct = Distinct(self._checked(number, batches))
        data, part = data_name(number), part_name(number)
        with TemporaryDirectory(prefix="nwx-shard-") as name:
            folder = Path(name)
            with shard_writer(folder, data, part, self.lines_a_block) as writer:
                for batch in distinct:
                    writer.add(batch)
            for file in (data, part):
                with (folder / file).open("rb") as written, self.work.new_file(file) as stream:
                    shutil.copyfileobj(written, stream, 1 << 20)
        report = PieceReport()
        report.counts.update(lines=writer.lines, blocks=writer.blocks, repeated=distinct.repeated)
        report.counts["shards"] = 1
        self.reports.write({number: report})

    def _checked(self, number: int, batches: Iterator[pa.RecordBatch]) -> Iterator[LineBatch]:
        for batch in batches:
            lines: LineBatch = batch.column(0).to_pylist()
            if lines and {bisect_right(self.points, lines[at]) for at in (0, -1)} != {number}:
                raise JobError(f"Spark put lines of another shard into shard {number}")
            yield lines


def build_cluster_on(
    spark: "SparkSession",
    tasks: Sequence[ReadTask],
    place: str,
    options: ClusterBuildOptions,
    *,
    sample: int | None = None,
    mode: OutputMode = OutputMode.NEW,
    progress: ShowProgress = no_progress,
) -> JobReport:
    """Build a cluster in the folder at `place` from all lines of unsorted files.

    Without split points in the options, they are sampled first. If something cannot be read, no
    cluster appears. A resumed job writes the missing shards.
    """
    plan = _plan(tasks, options, sample)
    output = open_output(place, "zipnum", plan, mode, can_resume=True)
    report = JobReport("zipnum")
    points = _points(spark, tasks, output, options, sample, progress)
    shards = ReportFolder(output.work.inner("shards"))
    done = written_shards(output, shards)
    writing = ShardWork(output.work, shards, points, options.lines_a_block)
    with _without_adaptive_plans(spark), shown_stages(spark, "sorting and writing", progress):
        _written(spark, tasks, output, writing, done).count()
    add_readings(report, tasks, output.reports.read_whole(len(tasks)))
    pieces = shards.read_whole(len(points) + 1).values()
    finish_cluster(output, report, pieces, points, summary=options.summary)
    return report


def finish_cluster(
    output: JobOutput,
    report: JobReport,
    shards: Iterable[PieceReport],
    points: Sequence[bytes],
    *,
    summary: bool,
) -> None:
    """Move the cluster to its place if all was read, and write the report.

    If no line could be read, no cluster is written.
    """
    sizes = []
    for piece in shards:
        report.add(piece)
        sizes.append(piece.counts["lines"])
    if not report.counts["lines"] and report.errors_total:
        report.is_whole = False
    if report.is_whole:
        publish_shards(output, points, summary=summary)
        report.warnings += uneven_shards(sizes)
    else:
        output.work.delete()
    output.finish(report)


def _plan(
    tasks: Sequence[ReadTask], options: ClusterBuildOptions, sample: int | None
) -> dict[str, Any]:
    files: dict[str, int] = {}
    for task in tasks:
        for piece in task.pieces:
            end = piece.end or 0
            files[piece.source.path] = max(end, files.get(piece.source.path, 0))
    return {
        "files": [[path, size, _changed(path)] for path, size in files.items()],
        "bytes": sum(task.size for task in tasks),
        "shards": options.shards,
        "lines": options.lines_a_block,
        "splits": [point.decode("latin-1") for point in options.splits or ()],
        "summary": options.summary,
        "sample": sample_size(options.shards, sample),
    }


def _changed(path: str) -> int:
    """Return the modification time of a local file in ns; 0 for an address."""
    return 0 if is_address(path) else Path(path).stat().st_mtime_ns


def written_shards(output: JobOutput, shards: ReportFolder) -> set[int]:
    """Return the shards that an earlier attempt has written, with the lines of all files.

    If it could not read a file, its shards are deleted: the file may be readable now.
    """
    before = JobReport("zipnum")
    for piece in output.reports.read().values():
        before.add(piece)
    if not before.is_whole:
        shards.folder.delete()
    return set(shards.read())


def _points(
    spark: "SparkSession",
    tasks: Sequence[ReadTask],
    output: JobOutput,
    options: ClusterBuildOptions,
    sample: int | None,
    progress: ShowProgress,
) -> tuple[bytes, ...]:
    """Return the split points: given ones, those of an earlier attempt, or new ones."""
    if options.splits is not None:
        points = list(options.splits)
    elif output.work.exists(SPLITS):
        return tuple(line for line in output.work.read(SPLITS).split(b"\n") if line)
    elif options.shards == 1:
        points = []
    else:
        sampled = ReportFolder(output.work.inner("sampled"))
        points = sampled_splits(
            spark,
            tasks,
            options.shards,
            sampled,
            JobReport("splits"),
            sample=sample,
            progress=progress,
        )
    output.work.write(SPLITS, format_splits(points))
    return tuple(points)


def _written(
    spark: "SparkSession",
    tasks: Sequence[ReadTask],
    output: JobOutput,
    writing: ShardWork,
    done: set[int],
) -> "DataFrame":
    """Return an empty frame whose evaluation writes all shards except those in `done`."""
    count = len(writing.points) + 1
    slots = tuple(
        None if number in done else slot for number, slot in enumerate(_slots(spark, count))
    )
    reading = PieceWork(
        ShardedLines(writing.points, slots), task_name, LINES_SCHEMA, output.reports, task_is_far
    )

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = task_context().partitionId()
        if number not in done:
            writing.write(number, batches)
        yield from ()

    lines = piece_frame(spark, tasks, reading).repartition(count, "slot").select("line")
    return lines.sortWithinPartitions("line").mapInArrow(write, "number long")


def _slots(spark: "SparkSession", count: int) -> list[int]:
    """Return for each shard a number that Spark's hash maps to the shard's partition."""
    found: dict[int, int] = {}
    start, width = 0, _SLOTS_A_SHARD * count
    while len(found) < count:
        numbers = spark.range(start, start + width)
        rows = numbers.selectExpr(f"pmod(hash(id), {count}) AS shard", "id").toArrow()
        shards, first = np.unique(rows.column("shard").to_numpy(), return_index=True)
        for shard, at in zip(shards.tolist(), first.tolist(), strict=True):
            found.setdefault(shard, rows.column("id")[at].as_py())
        start += width
    return [found[shard] for shard in range(count)]


@contextmanager
def _without_adaptive_plans(spark: "SparkSession") -> Iterator[None]:
    """Disable merging and splitting of partitions by Spark in the block: each is a shard."""
    before = spark.conf.get(_ADAPTIVE)
    spark.conf.set(_ADAPTIVE, "false")
    try:
        yield
    finally:
        spark.conf.set(_ADAPTIVE, before or "true")


def publish_shards(output: JobOutput, points: Sequence[bytes], *, summary: bool) -> None:
    """Move the files of all shards to their final places, the index of the cluster last."""
    folder, work = output.folder, output.work
    numbers = range(len(points) + 1)
    names = [data_name(number) for number in numbers]
    parts = [part_name(number) for number in numbers]
    lines = (_there(work, folder, part).splitlines(keepends=True) for part in parts)
    with work.new_file(f"{STEM}.idx") as stream:
        stream.writelines(numbered_lines(lines))
    for name in (*names, *parts):
        if work.exists(name):
            folder.rename(f"{WORK_FOLDER}/{name}", name)
    folder.write(f"{STEM}.loc", format_locations({name: (name,) for name in names}))
    folder.write(f"{STEM}.{SPLITS}", format_splits(points))
    if summary:
        folder.write(f"{STEM}.summary", work.read(f"{STEM}.idx"))
    folder.rename(f"{WORK_FOLDER}/{STEM}.idx", f"{STEM}.idx")


def _there(work: JobFolder, folder: JobFolder, name: str) -> bytes:
    """Return a file's content; an earlier attempt may have moved it to its final place."""
    return work.read(name) if work.exists(name) else folder.read(name)


def uneven_shards(sizes: Sequence[int]) -> list[str]:
    """Return a warning if one of several shards has most lines: the split points do not fit."""
    total, most = sum(sizes), max(sizes, default=0)
    if len(sizes) < 3 or most <= _UNEVEN_SHARE * total:
        return []
    return [
        f"one of {len(sizes)} shards has {most:,} of {total:,} lines; the split points may be "
        "of another collection (nwx spark splits makes new ones)"
    ]

"""The jobs `splits` (split points of CDX lines) and `cc-index` (Common Crawl's index)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from typing import TYPE_CHECKING

import pyarrow as pa

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.sorted_file import Distinct, LineBatch
from nwx.cdx.files import block_key
from nwx.cdx.inputs import ReadTask
from nwx.errors import UsageError
from nwx.exports.cc_index_files import (
    CcIndexReport,
    CcIndexWriter,
    check_layouts,
    frames_of_lines,
)
from nwx.jobs.inputs import add_readings, task_is_far, task_lines, task_name
from nwx.jobs.output import (
    JobFolder,
    JobReport,
    OutputMode,
    PieceReport,
    ReportFolder,
    absolute_place,
    open_output,
)
from nwx.jobs.pieces import PieceWork, piece_frame, shown_stages, task_context
from nwx.model import ReadError
from nwx.zipnum.cluster import open_cluster
from nwx.zipnum.shards import format_splits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SAMPLED_A_SHARD = 1_000
"""The number of sampled lines per shard: the size of a shard is then accurate to 3 %."""

_LEAST_SAMPLE = 10_000
_LOT_BYTES = 8
SAMPLE_SCHEMA = pa.schema([("lot", pa.binary()), ("key", pa.binary())])


def sample_size(shards: int, asked: int | None = None) -> int:
    """Return the number of lines to sample for `shards`, or `asked` if given."""
    return asked or max(_LEAST_SAMPLE, SAMPLED_A_SHARD * shards)


@dataclass(frozen=True, slots=True)
class LineSampler:
    """Yields the sample of a task: the `size` lines with the lowest lots."""

    size: int

    def __call__(self, task: ReadTask, report: PieceReport) -> Iterator[pa.RecordBatch]:
        """Yield lots with the keys of their lines."""
        kept: dict[bytes, bytes] = {}
        limit = b"\xff" * (_LOT_BYTES + 1)
        for lines in task_lines(task, report):
            report.counts["lines"] += len(lines)
            for line in lines:
                lot = blake2b(line, digest_size=_LOT_BYTES).digest()
                if lot < limit:
                    kept[lot] = block_key(line)
            if len(kept) > 2 * self.size:
                kept = dict(nsmallest(self.size, kept.items()))
                limit = max(kept)
        sample = nsmallest(self.size, kept.items())
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, pa.binary()) for column in zip(*sample, strict=True)] or [[], []],
            schema=SAMPLE_SCHEMA,
        )


def sampled_splits(
    spark: "SparkSession",
    tasks: Sequence[ReadTask],
    shards: int,
    reports: ReportFolder,
    report: JobReport,
    *,
    sample: int | None = None,
    progress: ShowProgress = no_progress,
) -> list[bytes]:
    """Return the starts of all shards but the first, for about equal numbers of lines.

    Read errors go to the report. Returns fewer than asked for if the sample has too few distinct
    keys.
    """
    size = sample_size(shards, sample)
    work = PieceWork(LineSampler(size), task_name, SAMPLE_SCHEMA, reports, task_is_far)
    with shown_stages(spark, "sampling", progress):
        frame = piece_frame(spark, tasks, work).dropDuplicates(["lot"])
        rows = frame.orderBy("lot").limit(size).collect()
    add_readings(report, tasks, reports.read_whole(len(tasks)))
    return even_splits([bytes(row["key"]) for row in rows], shards)


def even_splits(keys: Iterable[bytes], shards: int) -> list[bytes]:
    """Return ascending keys that split sampled keys into parts of equal size."""
    ordered = sorted(keys)
    points: list[bytes] = []
    for number in range(1, shards):
        place = number * len(ordered) // shards
        if ordered and ordered[0] < ordered[place] and (not points or points[-1] < ordered[place]):
            points.append(ordered[place])
    return points


def cluster_splits(place: str, shards: int) -> list[bytes]:
    """Return split points from the blocks of an existing cluster: folder, index or address.

    Raises SourceError or FormatError if it cannot be read.
    """
    with open_cluster(place) as cluster:
        return even_splits([block.key for block in cluster.blocks()], shards)


def sampled_split_file(
    spark: "SparkSession",
    tasks: Sequence[ReadTask],
    place: str,
    shards: int,
    *,
    sample: int | None = None,
    overwrite: bool = False,
    progress: ShowProgress = no_progress,
) -> JobReport:
    """Write the split points of CDX files to a file, which appears once all files are read.

    Raises UsageError if it exists and `overwrite` is off.
    """
    folder, name = _placed(place, overwrite=overwrite)
    report = JobReport("splits")
    work = folder.inner(f"_{name}-work")
    work.delete()
    points = sampled_splits(
        spark, tasks, shards, ReportFolder(work), report, sample=sample, progress=progress
    )
    work.delete()
    if not points and report.errors_total:
        report.is_whole = False
    return _written(folder, name, points, shards, report)


def cluster_split_file(
    place: str, cluster: str, shards: int, *, overwrite: bool = False
) -> JobReport:
    """Write split points from a cluster's blocks to a file; raises as `sampled_split_file`."""
    folder, name = _placed(place, overwrite=overwrite)
    points = cluster_splits(cluster, shards)
    return _written(folder, name, points, shards, JobReport("splits"))


def _placed(place: str, *, overwrite: bool) -> tuple[JobFolder, str]:
    above, _, name = absolute_place(place).rpartition("/")
    folder = JobFolder(above or "/")
    if folder.exists(name) and not overwrite:
        raise UsageError(f"{place} already exists; --overwrite replaces it")
    return folder, name


def _written(
    folder: JobFolder, name: str, points: Sequence[bytes], shards: int, report: JobReport
) -> JobReport:
    report.counts["split points"] = len(points)
    if report.is_whole:
        folder.write(name, format_splits(points))
        if len(points) < shards - 1:
            report.warnings.append(
                f"{len(points) + 1} shards, not {shards}: there are too few different keys"
            )
    return report


LINE_SCHEMA = pa.schema([("line", pa.binary())])
_PARTITION_BYTES = 512 << 20


def _read_lines(task: ReadTask, report: PieceReport) -> Iterator[pa.RecordBatch]:
    for lines in task_lines(task, report):
        yield pa.RecordBatch.from_pydict({"line": lines}, schema=LINE_SCHEMA)


@dataclass(frozen=True, slots=True)
class IndexPartWork:
    """Writes sorted lines into the table in a folder, and a report of each part."""

    folder: JobFolder
    reports: ReportFolder
    crawl: str

    def write(self, number: int, batches: Iterator[pa.RecordBatch]) -> None:
        """Write the files of a part."""
        made = CcIndexReport()
        lines: Iterator[LineBatch] = (batch.column(0).to_pylist() for batch in batches)
        with CcIndexWriter(self.folder.new_file, self.crawl, made, number) as writer:
            for frame in frames_of_lines(Distinct(lines), made.add_problem):
                writer.add(frame)
        report = PieceReport()
        report.counts.update(captures=made.rows, files=made.files)
        report.add_errors(ReadError("", None, "line", str(one)) for one in made.problems)
        report.errors_total = made.problems_total
        self.reports.write({number: report})


def build_cc_index_on(
    spark: "SparkSession",
    tasks: Sequence[ReadTask],
    place: str,
    crawl: str = "",
    *,
    mode: OutputMode = OutputMode.NEW,
    progress: ShowProgress = no_progress,
) -> JobReport:
    """Write the table of all lines of unsorted files into the folder at `place`."""
    check_layouts(
        {piece.source.path: piece.source for task in tasks for piece in task.pieces}.values()
    )
    output = open_output(place, "cc-index", {"crawl": crawl}, mode)
    report = JobReport("cc-index")
    reading = PieceWork(_read_lines, task_name, LINE_SCHEMA, output.reports, task_is_far)
    work = IndexPartWork(output.folder, ReportFolder(output.work.inner("parts")), crawl)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        work.write(task_context().partitionId(), batches)
        yield from ()

    size = sum(task.size for task in tasks)
    partitions = max(spark.sparkContext.defaultParallelism, size // _PARTITION_BYTES + 1)
    lines = piece_frame(spark, tasks, reading).repartitionByRange(partitions, "line")
    with shown_stages(spark, "sorting and writing", progress):
        lines.sortWithinPartitions("line").mapInArrow(write, "number long").count()
    add_readings(report, tasks, output.reports.read_whole(len(tasks)))
    for piece in work.reports.read_whole(partitions).values():
        report.add(piece)
    output.finish(report)
    return report

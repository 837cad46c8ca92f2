"""The job `cc-index`: Common Crawl's columnar index of CDX files, as `nwx export cc-index` has it.

Executors read the lines. Spark brings those of a range of keys to one task, in order, which
writes a file into the folder of each crawl and subset.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.sorted_file import Distinct, LineBatch
from nwx.cdx.inputs import ReadTask
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
    open_output,
)
from nwx.jobs.pieces import PieceWork, piece_frame, shown_stages, task_context
from nwx.model import ReadError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    """Write the table of all lines of files in any order into the folder at `place`."""
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

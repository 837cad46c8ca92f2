"""The job `cdx`: an index of each archive file, in a folder of its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from nwx.bulk.gc_tuning import rare_collections
from nwx.bulk.pool import keep_memory
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.indexing.cdx_files import IndexOptions, header_of, index_of
from nwx.indexing.index_lines import IndexLineForm
from nwx.jobs.folders import JobFolder
from nwx.jobs.inputs import ArchiveInputs
from nwx.jobs.output import OutputMode, open_output
from nwx.jobs.pieces import UnreachableError
from nwx.jobs.reports import UNREAD_KINDS, JobReport, PieceReport
from nwx.jobs.targets import FileTarget, file_targets, write_missing
from nwx.model import ReadError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTENSION = re.compile(r"\.(?:w?arc(?:\.(?:wat|wet))?)(?:\.(?:gz|zst|zstd))?$", re.I)


@dataclass(frozen=True, slots=True)
class IndexWriter:
    """Writes the index of a file into a folder, byte for byte as `nwx cdx --beside` does.

    Of a file that a file system does not give in whole nothing is written.
    """

    folder: JobFolder
    options: IndexOptions

    def __call__(self, index: FileTarget, report: PieceReport) -> Iterator[pa.RecordBatch]:
        """Write an index; yields nothing.

        Raises UnreachableError, and JobError where it cannot be written.
        """
        errors: list[ReadError] = []
        keep_memory()
        with rare_collections():
            lines = index_of(index.source, self.options, errors, report.note)
        unread = [error for error in errors if error.kind in UNREAD_KINDS]
        if unread and index.is_far:
            raise UnreachableError(unread[0].message)
        report.add_errors(errors)
        report.counts["files"] += 1
        report.counts["lines"] += len(lines)
        if not unread and (lines or not errors):
            with self.folder.new_file(index.target) as stream:
                stream.write(header_of(self.options.form))
                stream.writelines(lines)
        yield from ()


def index_archives(
    spark: "SparkSession",
    inputs: ArchiveInputs,
    place: str,
    options: IndexOptions,
    *,
    base: str = "",
    append_extension: bool = False,
    mode: OutputMode = OutputMode.RESUME,
    progress: ShowProgress = no_progress,
) -> JobReport:
    """Write the index of each archive file into the folder at `place`, at its path below `base`.

    `.cdx` (`.cdxj`) stands in place of the extension, or behind it. Files
    whose index is there already are skipped. Raises UsageError where two
    files would have the same index.
    """
    indexes = file_indexes(inputs, options.form, base=base, append_extension=append_extension)
    plan = {"form": options.form.value, "sorted": options.in_order, "post": options.post_append}
    output = open_output(place, "cdx", plan, mode)
    report = JobReport("cdx")
    report.add_errors(inputs.errors)
    writer = IndexWriter(output.folder, options)
    write_missing(spark, indexes, writer, output, report, "indexing", progress)
    output.finish(report)
    return report


def file_indexes(
    inputs: ArchiveInputs, form: IndexLineForm, *, base: str = "", append_extension: bool = False
) -> list[FileTarget]:
    """Return the index of each file; raises UsageError where two would be the same."""
    end = ".cdxj" if form is IndexLineForm.CDXJ else ".cdx"

    def name(path: str) -> str:
        return (path if append_extension else _EXTENSION.sub("", path)) + end

    return file_targets(inputs, base, name, "--append-extension keeps them apart")

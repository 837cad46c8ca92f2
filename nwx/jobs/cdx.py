"""The job `cdx`: an index of each archive file, in a folder of its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from nwx.bulk.addresses import is_address
from nwx.bulk.gc_tuning import rare_collections
from nwx.bulk.pool import keep_memory
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.errors import UsageError
from nwx.indexing.cdx_files import IndexOptions, header_of, index_of
from nwx.indexing.index_lines import IndexLineForm
from nwx.jobs.folders import JobFolder
from nwx.jobs.frames import piece_frame
from nwx.jobs.inputs import ArchiveInputs
from nwx.jobs.output import OutputMode, open_output
from nwx.jobs.pieces import PieceWork, UnreachableError
from nwx.jobs.reports import UNREAD_KINDS, JobReport, PieceReport
from nwx.jobs.stages import shown_stages
from nwx.model import ReadError
from nwx.warc.sources import ArchiveSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTENSION = re.compile(r"\.(?:w?arc(?:\.(?:wat|wet))?)(?:\.(?:gz|zst|zstd))?$", re.I)
_NOTHING = pa.schema([("number", pa.int64())])


@dataclass(frozen=True, slots=True)
class FileIndex:
    """An archive file, and the name of its index in the output."""

    source: ArchiveSource
    target: str


@dataclass(frozen=True, slots=True)
class IndexWriter:
    """Writes the index of a file into a folder, byte for byte as `nwx cdx --beside` does.

    Of a file that a file system does not give in whole nothing is written.
    """

    folder: JobFolder
    options: IndexOptions

    def __call__(self, index: FileIndex, report: PieceReport) -> Iterator[pa.RecordBatch]:
        """Write an index; yields nothing.

        Raises UnreachableError, and JobError where it cannot be written.
        """
        errors: list[ReadError] = []
        keep_memory()
        with rare_collections():
            lines = index_of(index.source, self.options, errors, report.note)
        unread = [error for error in errors if error.kind in UNREAD_KINDS]
        if unread and _is_far(index):
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
    output.work.delete()
    there = set(output.folder.names())
    to_do = [index for index in indexes if index.target not in there]
    work = PieceWork(IndexWriter(output.folder, options), _shown, _NOTHING, output.reports, _is_far)
    report = JobReport("cdx")
    report.counts["skipped"] = len(indexes) - len(to_do)
    report.add_errors(inputs.errors)
    with shown_stages(spark, "indexing", progress):
        piece_frame(spark, to_do, work).count()
    for piece in output.reports.read_whole(len(to_do)).values():
        report.add(piece)
    output.finish(report)
    return report


def _is_far(index: FileIndex) -> bool:
    return is_address(index.source.path)


def _shown(index: FileIndex) -> str:
    return index.source.name


def file_indexes(
    inputs: ArchiveInputs, form: IndexLineForm, *, base: str = "", append_extension: bool = False
) -> list[FileIndex]:
    """Return the index of each file; raises UsageError where two would be the same."""
    end = ".cdxj" if form is IndexLineForm.CDXJ else ".cdx"
    found: dict[str, ArchiveSource] = {}
    for source in inputs.sources:
        path = path_below(source.path, base or inputs.base)
        path = f"{path}/{source.member}" if source.member else path
        target = (path if append_extension else _EXTENSION.sub("", path)) + end
        if target in found:
            raise UsageError(
                f"{found[target].path} and {source.path} would both be indexed in {target}; "
                "--append-extension keeps them apart"
            )
        found[target] = source
    return [FileIndex(source, target) for target, source in found.items()]


def path_below(path: str, base: str) -> str:
    """Return a path below a folder, all of it for one that is not; it leads nowhere else."""
    start = base.rstrip("/") + "/"
    inner = path[len(start) :] if path.startswith(start) else path.partition("://")[2] or path
    return "/".join(part for part in inner.split("/") if part not in ("", ".", ".."))

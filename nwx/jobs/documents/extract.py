"""The job `extract`: the documents of archive files as Parquet, for `nwx import --documents`."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.importing.extracted.extraction import (
    Extracted,
    extract_file,
    shared_extractor,
    write_faults,
)
from nwx.importing.extracted.notes import DOCUMENTS_FORMAT
from nwx.importing.options import ImportOptions
from nwx.importing.report import Outcome
from nwx.jobs.folders import JobFolder
from nwx.jobs.inputs import ArchiveInputs
from nwx.jobs.output import OutputMode, open_output
from nwx.jobs.pieces import UnreachableError
from nwx.jobs.reports import JobReport, PieceReport
from nwx.jobs.targets import FileTarget, file_targets, write_missing
from nwx.warc.sources import FileError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAULTS = "_faults.parquet"
"""The documents file that tells what is wrong with files as a whole."""

_ENDING = ".parquet"
_UNREAD = frozenset(("read", "open"))
_PLANNED = ("collection", "deduplicate", "parser", "verify", "external", "extractors")


@dataclass(frozen=True, slots=True)
class DocumentsJobWriter:
    """Writes the documents file of an archive file into a folder.

    Of a file that cannot be opened, or that a file system does not give in
    whole, nothing is written.
    """

    folder: JobFolder
    options: ImportOptions

    def __call__(self, file: FileTarget, report: PieceReport) -> Iterator[pa.RecordBatch]:
        """Extract a file; yields nothing. Raises UnreachableError."""
        try:
            with self.folder.new_file(file.target) as stream:
                extractor = shared_extractor(self.options)
                found = extract_file(file.source, stream, extractor, self.options)
                if unread := _unread(found):
                    raise UnreachableError(unread)
        except UnreachableError:
            if file.is_far:
                raise
        else:
            report.counts["files"] += 1
            report.counts["captures"] += found.captures
            report.counts["documents"] += found.documents
        report.add_errors(found.errors.kept)
        report.errors_total += found.errors.total - len(found.errors.kept)
        yield from ()


def _unread(found: Extracted) -> str:
    """Return why a file was not read to its end, "" where nothing but its own bytes is to blame."""
    if found.outcome not in (Outcome.PARTIAL, Outcome.UNREADABLE):
        return ""
    return next((error.message for error in found.errors.kept if error.kind in _UNREAD), "")


def extract_archives(
    spark: "SparkSession",
    inputs: ArchiveInputs,
    place: str,
    options: ImportOptions,
    *,
    base: str = "",
    mode: OutputMode = OutputMode.RESUME,
    progress: ShowProgress = no_progress,
) -> JobReport:
    """Write a documents file of each archive file into the folder at `place`.

    It has the path of its file below `base`, and the ending `.parquet`
    behind. Files whose documents are there already are skipped. Of
    `options` those that say how files are read are used.
    """
    targets = documents_targets(inputs, base)
    output = open_output(place, "extract", _plan(options), mode)
    report = JobReport("extract")
    report.add_errors(inputs.errors)
    writer = DocumentsJobWriter(output.folder, options)
    write_missing(spark, targets, writer, output, report, "extracting", progress)
    with output.folder.new_file(FAULTS) as stream:
        faults = [error for error in inputs.errors if isinstance(error, FileError)]
        write_faults(stream, faults, options)
    written = set(output.folder.names())
    missing = any(not isinstance(error, FileError) for error in inputs.errors)
    report.is_whole = not missing and all(file.target in written for file in targets)
    output.finish(report)
    return report


def _plan(options: ImportOptions) -> dict[str, Any]:
    found = asdict(options)
    return {"format": DOCUMENTS_FORMAT} | {name: _json(found[name]) for name in _PLANNED}


def _json(value: Any) -> Any:
    return [str(one) for one in value] if isinstance(value, tuple) else value


def documents_targets(inputs: ArchiveInputs, base: str = "") -> list[FileTarget]:
    """Return the documents file of each archive file; raises UsageError where two are the same."""
    return file_targets(inputs, base, lambda path: path + _ENDING, "extract them into two folders")

"""The job `extract`: the documents of archive files as Parquet, for `nwx import --documents`."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nwx.bulk.addresses import is_address
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.errors import UsageError
from nwx.importing.extracted.extraction import (
    Extracted,
    extract_file,
    shared_extractor,
    write_faults,
)
from nwx.importing.extracted.notes import DOCUMENTS_FORMAT
from nwx.importing.options import ImportOptions
from nwx.importing.report import Outcome
from nwx.jobs.cdx import path_below
from nwx.jobs.folders import JobFolder
from nwx.jobs.frames import piece_frame
from nwx.jobs.inputs import ArchiveInputs
from nwx.jobs.output import OutputMode, open_output
from nwx.jobs.pieces import PieceWork, UnreachableError
from nwx.jobs.reports import JobReport, PieceReport
from nwx.jobs.stages import shown_stages
from nwx.warc.sources import ArchiveSource, FileError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAULTS = "_faults.parquet"
"""The documents file that tells what is wrong with files as a whole."""

_ENDING = ".parquet"
_UNREAD = frozenset(("read", "open"))
_NOTHING = pa.schema([("number", pa.int64())])
_PLANNED = ("collection", "deduplicate", "parser", "verify", "external", "extractors")


@dataclass(frozen=True, slots=True)
class DocumentsTarget:
    """An archive file, and the name of its documents file in the output."""

    source: ArchiveSource
    target: str


@dataclass(frozen=True, slots=True)
class DocumentsJobWriter:
    """Writes the documents file of an archive file into a folder.

    Of a file that cannot be opened, or that a file system does not give in
    whole, nothing is written.
    """

    folder: JobFolder
    options: ImportOptions

    def __call__(self, file: DocumentsTarget, report: PieceReport) -> Iterator[pa.RecordBatch]:
        """Extract a file; yields nothing. Raises UnreachableError."""
        try:
            with self.folder.new_file(file.target) as stream:
                extractor = shared_extractor(self.options)
                found = extract_file(file.source, stream, extractor, self.options)
                if unread := _unread(found):
                    raise UnreachableError(unread)
        except UnreachableError:
            if _is_far(file):
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
    output.work.delete()
    there = set(output.folder.names())
    to_do = [file for file in targets if file.target not in there]
    writer = DocumentsJobWriter(output.folder, options)
    work = PieceWork(writer, _shown, _NOTHING, output.reports, _is_far)
    report = JobReport("extract")
    report.counts["skipped"] = len(targets) - len(to_do)
    report.add_errors(inputs.errors)
    with shown_stages(spark, "extracting", progress):
        piece_frame(spark, to_do, work).count()
    for piece in output.reports.read_whole(len(to_do)).values():
        report.add(piece)
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


def documents_targets(inputs: ArchiveInputs, base: str = "") -> list[DocumentsTarget]:
    """Return the documents file of each archive file, at its path below a folder.

    Raises UsageError where two would have the same.
    """
    found: dict[str, ArchiveSource] = {}
    for source in inputs.sources:
        target = _target(source, base or inputs.base)
        if target in found:
            raise UsageError(
                f"{found[target].path} and {source.path} would both be extracted to {target}; "
                "extract them into two folders"
            )
        found[target] = source
    return [DocumentsTarget(source, target) for target, source in found.items()]


def _target(source: ArchiveSource, base: str) -> str:
    path = path_below(source.path, base)
    return (f"{path}/{source.member}" if source.member else path) + _ENDING


def _is_far(file: DocumentsTarget) -> bool:
    return is_address(file.source.path)


def _shown(file: DocumentsTarget) -> str:
    return file.source.name

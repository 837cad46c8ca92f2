"""The jobs `cdx` and `extract`: write an index or a documents file for each archive file."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nwx.archive_cdx import IndexLineForm, IndexOptions, header_of, index_of
from nwx.bulk.process_limits import keep_memory, rare_collections
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.whole_files import is_address
from nwx.errors import UsageError
from nwx.importing.extracted.extraction import (
    Extracted,
    extract_file,
    shared_extractor,
    write_faults,
)
from nwx.importing.extracted.notes import DOCUMENTS_FORMAT
from nwx.importing.messages import Outcome
from nwx.importing.options import ImportOptions
from nwx.jobs.inputs import ArchiveInputs
from nwx.jobs.output import (
    UNREAD_KINDS,
    JobFolder,
    JobOutput,
    JobReport,
    OutputMode,
    PieceReport,
    absolute_place,
    open_output,
)
from nwx.jobs.pieces import PieceReader, PieceWork, UnreachableError, piece_frame, shown_stages
from nwx.model import ReadError
from nwx.warc.sources import ArchiveSource, FileError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_NOTHING = pa.schema([("number", pa.int64())])


@dataclass(frozen=True, slots=True)
class FileTarget:
    """An archive file, and the name of its file in the output."""

    source: ArchiveSource
    target: str

    @property
    def is_far(self) -> bool:
        """Whether the archive file is read over the network."""
        return is_address(self.source.path)


def file_targets(
    inputs: ArchiveInputs, base: str, name: Callable[[str], str], advice: str
) -> list[FileTarget]:
    """Return the target of each archive file, named `name` of its path below `base`.

    Raises UsageError, with `advice`, if two files have the same target.
    """
    found: dict[str, ArchiveSource] = {}
    for source in inputs.sources:
        path = path_below(source.path, absolute_place(base) if base else inputs.base)
        target = name(f"{path}/{source.member}" if source.member else path)
        if target in found:
            both = f"{found[target].path} and {source.path}"
            raise UsageError(f"{both} would both be written to {target}; {advice}")
        found[target] = source
    return [FileTarget(source, target) for target, source in found.items()]


def path_below(path: str, base: str) -> str:
    """Return a path relative to a folder, or the whole path if it is outside; without `..`."""
    start = base.rstrip("/") + "/"
    inner = path[len(start) :] if path.startswith(start) else path.partition("://")[2] or path
    return "/".join(part for part in inner.split("/") if part not in ("", ".", ".."))


def write_missing(
    spark: "SparkSession",
    targets: Sequence[FileTarget],
    writer: PieceReader[FileTarget],
    output: JobOutput,
    report: JobReport,
    step: str,
    progress: ShowProgress,
) -> None:
    """Write the targets missing in an output, each in a task; add the results to the report."""
    output.work.delete()
    there = set(output.folder.names())
    to_do = [one for one in targets if one.target not in there]
    report.counts["skipped"] = len(targets) - len(to_do)
    work = PieceWork(writer, _shown, _NOTHING, output.reports, _is_far)
    with shown_stages(spark, step, progress):
        piece_frame(spark, to_do, work).count()
    for piece in output.reports.read_whole(len(to_do)).values():
        report.add(piece)


def _shown(file: FileTarget) -> str:
    return file.source.name


def _is_far(file: FileTarget) -> bool:
    return file.is_far


_EXTENSION = re.compile(r"\.(?:w?arc(?:\.(?:wat|wet))?)(?:\.(?:gz|zst|zstd))?$", re.I)


@dataclass(frozen=True, slots=True)
class IndexWriter:
    """Writer of one file's index into a folder, byte for byte as `nwx cdx --beside`.

    Writes nothing for a file that the file system does not deliver completely.
    """

    folder: JobFolder
    options: IndexOptions

    def __call__(self, index: FileTarget, report: PieceReport) -> Iterator[pa.RecordBatch]:
        """Write an index; yield nothing.

        Raises UnreachableError, and JobError if the index cannot be written.
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
    """Write the index of each archive file into the folder at `place`, at its path in `base`.

    `.cdx` (`.cdxj`) replaces the extension, or is appended to it. Files with an existing index are
    skipped. Raises UsageError if two files have the same index.
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
    """Return the index of each file; raises UsageError if two would be the same."""
    end = ".cdxj" if form is IndexLineForm.CDXJ else ".cdx"

    def name(path: str) -> str:
        return (path if append_extension else _EXTENSION.sub("", path)) + end

    return file_targets(inputs, base, name, "--append-extension keeps them apart")


FAULTS = "_faults.parquet"
"""The documents file with the errors of whole files."""

_ENDING = ".parquet"
_UNREAD = frozenset(("read", "open"))
_PLANNED = ("collection", "deduplicate", "parser", "verify", "external", "extractors")


@dataclass(frozen=True, slots=True)
class DocumentsJobWriter:
    """Writer of one archive file's documents file into a folder.

    Writes nothing for a file that cannot be opened, or that the file system does not deliver
    completely.
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
    """Return why a file could not be read to its end, "" if it could or is damaged itself."""
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
    """Write a documents file for each archive file into the folder at `place`.

    Its name is the file's path in `base` with `.parquet` appended. Files with existing documents
    are skipped. Only the `options` on reading files are used.
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
    """Return the documents file of each archive file; raises UsageError if two are the same."""
    return file_targets(inputs, base, lambda path: path + _ENDING, "extract them into two folders")

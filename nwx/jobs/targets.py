"""What jobs write of each archive file: a file of the output, at the path of the archive file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from nwx.bulk.addresses import is_address
from nwx.bulk.progress import ShowProgress
from nwx.errors import UsageError
from nwx.jobs.frames import piece_frame
from nwx.jobs.inputs import ArchiveInputs
from nwx.jobs.output import JobOutput
from nwx.jobs.pieces import PieceReader, PieceWork
from nwx.jobs.reports import JobReport
from nwx.jobs.stages import shown_stages
from nwx.warc.sources import ArchiveSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOTHING = pa.schema([("number", pa.int64())])


@dataclass(frozen=True, slots=True)
class FileTarget:
    """An archive file, and the name of the file that is written of it in the output."""

    source: ArchiveSource
    target: str

    @property
    def is_far(self) -> bool:
        """Tell whether the archive file is read over the network."""
        return is_address(self.source.path)


def file_targets(
    inputs: ArchiveInputs, base: str, name: Callable[[str], str], advice: str
) -> list[FileTarget]:
    """Return what is written of each archive file: `name` of its path below a folder.

    Raises UsageError, with advice, where two would have the same.
    """
    found: dict[str, ArchiveSource] = {}
    for source in inputs.sources:
        path = path_below(source.path, base or inputs.base)
        target = name(f"{path}/{source.member}" if source.member else path)
        if target in found:
            both = f"{found[target].path} and {source.path}"
            raise UsageError(f"{both} would both be written to {target}; {advice}")
        found[target] = source
    return [FileTarget(source, target) for target, source in found.items()]


def path_below(path: str, base: str) -> str:
    """Return a path below a folder, all of it for one that is not; it leads nowhere else."""
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
    """Write the targets that are not in an output yet, each in a task; add what came of it."""
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

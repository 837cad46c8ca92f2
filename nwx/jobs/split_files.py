"""Files of split points, as the job `splits` writes them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.cdx.inputs import ReadTask
from nwx.errors import UsageError
from nwx.jobs.folders import JobFolder
from nwx.jobs.reports import JobReport, ReportFolder
from nwx.jobs.splits import cluster_splits, sampled_splits
from nwx.zipnum.split_points import format_splits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    """Write the split points of CDX files to a file, which appears when all was read.

    Raises UsageError where it is there and is not to be overwritten.
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
    """Write split points by the blocks of a cluster to a file; raises UsageError as the other."""
    folder, name = _placed(place, overwrite=overwrite)
    points = cluster_splits(cluster, shards)
    return _written(folder, name, points, shards, JobReport("splits"))


def _placed(place: str, *, overwrite: bool) -> tuple[JobFolder, str]:
    above, _, name = place.rpartition("/")
    folder = JobFolder(above or "/")
    if folder.exists(name) and not overwrite:
        raise UsageError(f"{place} is there already; --overwrite replaces it")
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

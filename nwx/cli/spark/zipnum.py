"""nwx spark zipnum"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli.cluster_options import cluster_options, cluster_options_of
from nwx.cli.spark.job_options import JobOptions, job_options, run_job
from nwx.cli.spark.splits import SAMPLE_OPTION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from nwx.bulk.progress import ShowProgress
    from nwx.jobs.output import JobReport


@click.command("zipnum")
@click.argument("out", metavar="OUT")
@click.argument("files", metavar="CDX...", nargs=-1)
@cluster_options
@SAMPLE_OPTION
@job_options()
def command(
    out: str,
    files: tuple[str, ...],
    shards: int,
    splits: Path | None,
    sample: int | None,
    lines: int,
    summary: bool,
    **given: Any,
) -> int:
    """Build a ZipNum cluster in the folder OUT from CDX or CDXJ files.

    The files may be plain, gzip or zstd, sorted or not; of folders, those
    named .cdx and .cdxj are read. The cluster is byte for byte what nwx
    zipnum build makes with the same split points. With --resume, shards that
    are written are kept.
    """
    from nwx.jobs.inputs import absolute_place, cdx_tasks
    from nwx.jobs.zipnum import build_cluster_on

    asked = JobOptions(**given)
    mode = asked.mode
    options = cluster_options_of(shards, splits, lines, summary=summary)
    tasks = cdx_tasks(files)

    def work(spark: "SparkSession", progress: "ShowProgress") -> "JobReport":
        place = absolute_place(out)
        return build_cluster_on(
            spark, tasks, place, options, sample=sample, mode=mode, progress=progress
        )

    return run_job("zipnum", asked, work)

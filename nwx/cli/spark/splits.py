"""nwx spark splits"""

from typing import TYPE_CHECKING, Any

import click

from nwx.cli.spark.job_options import JobOptions, job_options, print_job, run_job
from nwx.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from nwx.bulk.progress import ShowProgress
    from nwx.jobs.output import JobReport

SAMPLE_OPTION = click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Lines to sample.  [default: 1,000 a shard, at least 10,000]",
)


@click.command("splits")
@click.argument("out", metavar="FILE")
@click.argument("files", metavar="CDX...", nargs=-1)
@click.option(
    "--shards", type=click.IntRange(2, 100_000), required=True, help="Number of shards to cut into."
)
@SAMPLE_OPTION
@click.option(
    "--cluster",
    metavar="PLACE",
    default="",
    help="Take the split points from a cluster that is there, in place of CDX files.",
)
@job_options(resume=False)
def command(
    out: str,
    files: tuple[str, ...],
    shards: int,
    sample: int | None,
    cluster: str,
    **given: Any,
) -> int:
    """Write split points for ZipNum clusters to FILE, one a line.

    They cut the lines of CDX files into shards of about the same number of
    lines, by a sample. Clusters of the same collection, and those that are
    merged later, can share the file: nwx spark zipnum and nwx zipnum build
    take it with --splits.
    """
    from nwx.jobs.inputs import absolute_place, cdx_tasks
    from nwx.jobs.splits import cluster_split_file, sampled_split_file

    asked = JobOptions(**given)
    place = absolute_place(out)
    if cluster:
        if files:
            raise UsageError("--cluster takes no CDX files")
        report = cluster_split_file(place, cluster, shards, overwrite=asked.overwrite)
        return print_job(report, asked)
    tasks = cdx_tasks(files)

    def work(spark: "SparkSession", progress: "ShowProgress") -> "JobReport":
        return sampled_split_file(
            spark, tasks, place, shards, sample=sample, overwrite=asked.overwrite, progress=progress
        )

    return run_job("splits", asked, work)

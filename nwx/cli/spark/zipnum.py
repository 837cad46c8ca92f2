"""nwx spark zipnum"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli.spark.job_options import JobOptions, job_options, run_job
from nwx.cli.spark.splits import SAMPLE_OPTION
from nwx.zipnum.options import LINES_A_BLOCK, ClusterBuildOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from nwx.bulk.progress import ShowProgress
    from nwx.jobs.reports import JobReport


@click.command("zipnum")
@click.argument("out", metavar="OUT")
@click.argument("files", metavar="CDX...", nargs=-1)
@click.option(
    "--shards",
    type=click.IntRange(1, 100_000),
    default=1,
    show_default=True,
    help="Number of data files, of about the same number of lines.",
)
@click.option(
    "--splits",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File of split points, one a line, as nwx spark splits and each build write it.",
)
@SAMPLE_OPTION
@click.option(
    "--lines",
    type=click.IntRange(1),
    default=LINES_A_BLOCK,
    show_default=True,
    help="Lines per block.",
)
@click.option("--summary", is_flag=True, help="Also write the index as cluster.summary.")
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
    from nwx.zipnum.split_points import read_splits

    asked = JobOptions(**given)
    mode = asked.mode
    points = None if splits is None else tuple(read_splits(splits))
    options = ClusterBuildOptions(shards, lines, points, summary)
    tasks = cdx_tasks(files)

    def work(spark: "SparkSession", progress: "ShowProgress") -> "JobReport":
        place = absolute_place(out)
        return build_cluster_on(
            spark, tasks, place, options, sample=sample, mode=mode, progress=progress
        )

    return run_job("zipnum", asked, work)

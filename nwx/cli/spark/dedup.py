"""nwx spark dedup"""

from typing import TYPE_CHECKING, Any

import click

from nwx.cli.dedup_options import (
    SELECTION_OPTIONS,
    archives_of,
    dedup_options,
    held_lines,
    selection_of,
)
from nwx.cli.list_commands import FIELDS_OPTION, STRICT, layout_of
from nwx.cli.spark.job_options import JobOptions, job_options, run_job
from nwx.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from nwx.bulk.progress import ShowProgress
    from nwx.jobs.output import JobReport

SUMMARY = click.option(
    "--summary", is_flag=True, help="Write to _savings.json what would be saved, by type and host."
)


@click.command("dedup")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@dedup_options
@FIELDS_OPTION
@SUMMARY
@STRICT
@job_options(resume=False)
@click.pass_obj
def command(
    settings: Settings,
    /,
    out: str,
    files: tuple[str, ...],
    against: tuple[str, ...],
    fields: str | None,
    summary: bool,
    strict: bool,
    **given: Any,
) -> int:
    """List the duplicates in CDX files into the folder OUT.

    FILES are CDX and CDXJ files, folders and globs of them, or addresses
    (s3://…, hdfs://…); @FILE is a manifest. The files part-*.txt in OUT, one
    behind the other, are the list that nwx dedup-cdx writes. A URL with very
    many captures, in whatever files, is no more work for one executor than
    others.
    """
    from nwx.jobs.dedup_lists import ListOptions, list_duplicates
    from nwx.jobs.inputs import absolute_place, cdx_tasks, held_tasks

    selection = selection_of(**{name: given.pop(name) for name in SELECTION_OPTIONS})
    asked = JobOptions(**given)
    tasks = cdx_tasks(files, layout_of(fields))
    archives = archives_of(against)
    if places := [place for place in against if place not in archives]:
        tasks += held_tasks(places, len(tasks))
    options = ListOptions(strict, summary, asked.overwrite)

    def work(spark: "SparkSession", progress: "ShowProgress") -> "JobReport":
        held = held_lines(settings, archives, progress) if archives else None
        place = absolute_place(out)
        return list_duplicates(
            spark, tasks, place, selection, options, held=held, progress=progress
        )

    return run_job("dedup", asked, work)

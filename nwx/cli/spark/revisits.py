"""nwx spark revisits"""

from typing import Any

import click

from nwx.cli.list_commands import FIELDS_OPTION, STRICT, layout_of
from nwx.cli.spark.dedup import SUMMARY
from nwx.cli.spark.job_options import JobOptions, job_options, run_job


@click.command("revisits")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@FIELDS_OPTION
@SUMMARY
@STRICT
@job_options(resume=False)
def command(
    out: str,
    files: tuple[str, ...],
    fields: str | None,
    summary: bool,
    strict: bool,
    **given: Any,
) -> int:
    """List the revisit records in CDX files into the folder OUT.

    FILES are those of nwx spark dedup. The files part-*.txt in OUT, one behind
    the other, are the list that nwx revisits writes.
    """
    from nwx.jobs.dedup_lists import ListOptions, list_revisits
    from nwx.jobs.inputs import absolute_place, cdx_tasks

    asked = JobOptions(**given)
    tasks = cdx_tasks(files, layout_of(fields))
    options = ListOptions(strict, summary, asked.overwrite)
    return run_job(
        "revisits",
        asked,
        lambda spark, progress: list_revisits(
            spark, tasks, absolute_place(out), options, progress=progress
        ),
    )

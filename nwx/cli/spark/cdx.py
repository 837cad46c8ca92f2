"""nwx spark cdx"""

from typing import Any

import click

from nwx.cli.index_options import index_options, index_options_of
from nwx.cli.spark.job_options import JobOptions, base_option, job_options, run_job


@click.command("cdx")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@index_options
@base_option
@click.option(
    "--append-extension", is_flag=True, help="Write FILE.warc.gz.cdx in place of FILE.cdx."
)
@job_options(resume=False)
def command(
    out: str,
    files: tuple[str, ...],
    fields: str,
    cdxj: bool,
    in_order: bool,
    post_append: bool,
    base: str,
    append_extension: bool,
    **given: Any,
) -> int:
    """Write an index of each archive file into the folder OUT.

    FILES are WARC, ARC and WACZ files, named as for nwx import; folders and
    globs may be addresses (s3://…, hdfs://…). Each index is what nwx cdx
    --beside writes, at the path of its file. Indexes that are there are
    skipped, so a stopped job goes on when run again.
    """
    from nwx.jobs.archive_files import index_archives
    from nwx.jobs.inputs import absolute_place, archive_inputs
    from nwx.jobs.output import OutputMode

    asked = JobOptions(**given)
    mode = OutputMode.OVERWRITE if asked.overwrite else OutputMode.RESUME
    inputs = archive_inputs(files)
    options = index_options_of(fields, cdxj=cdxj, in_order=in_order, post_append=post_append)
    return run_job(
        "cdx",
        asked,
        lambda spark, progress: index_archives(
            spark,
            inputs,
            absolute_place(out),
            options,
            base=absolute_place(base) if base else "",
            append_extension=append_extension,
            mode=mode,
            progress=progress,
        ),
    )

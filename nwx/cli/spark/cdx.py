"""nwx spark cdx"""

from typing import TYPE_CHECKING, Any

import click

from nwx.cli.spark.job_options import JobOptions, job_options, run_job

if TYPE_CHECKING:
    from nwx.indexing.cdx_files import IndexOptions


@click.command("cdx")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@click.option(
    "--fields",
    type=click.Choice(["9", "11"]),
    default="11",
    show_default=True,
    help="Fields of a CDX line.",
)
@click.option("--cdxj", is_flag=True, help="Write CDXJ.")
@click.option(
    "--sort/--no-sort",
    "in_order",
    default=True,
    show_default=True,
    help="Sort lines by bytes, as CDX look-ups need, or keep the order of the records.",
)
@click.option(
    "--post-append", is_flag=True, help="Add method and body of POST requests to the urlkey."
)
@click.option(
    "--base",
    metavar="FOLDER",
    default="",
    help="Folder whose inner paths are kept in OUT.  [default: the folder named, or the one"
    " that all files named have in common]",
)
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
    from nwx.jobs.cdx import index_archives
    from nwx.jobs.inputs import absolute_place, archive_inputs
    from nwx.jobs.output import OutputMode

    asked = JobOptions(**given)
    mode = OutputMode.OVERWRITE if asked.overwrite else OutputMode.RESUME
    inputs = archive_inputs(files)
    options = _options(fields, cdxj=cdxj, in_order=in_order, post_append=post_append)
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


def _options(fields: str, *, cdxj: bool, in_order: bool, post_append: bool) -> "IndexOptions":
    from nwx.indexing.cdx_files import IndexOptions
    from nwx.indexing.index_lines import IndexLineForm

    form = IndexLineForm.CDXJ if cdxj else IndexLineForm(f"cdx{fields}")
    return IndexOptions(form, in_order, post_append)

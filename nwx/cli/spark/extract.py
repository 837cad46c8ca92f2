"""nwx spark extract"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nwx.cli.extractor_option import extractor_option
from nwx.cli.reading_options import item_seconds_option, parser_option, verify_option
from nwx.cli.spark.job_options import JobOptions, base_option, job_options, run_job
from nwx.model import DEFAULT_COLLECTION

if TYPE_CHECKING:
    from nwx.extract.extractors import Extractor


@click.command("extract")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@click.option(
    "--collection",
    default=DEFAULT_COLLECTION,
    show_default=True,
    metavar="NAME",
    help="Collection of the captures.",
)
@click.option(
    "--no-dedup",
    "deduplicate",
    flag_value=False,
    default=True,
    help="Extract each capture, even if its URL and digest are known; for imports with --no-dedup.",
)
@verify_option
@parser_option
@item_seconds_option
@click.option(
    "--external",
    multiple=True,
    metavar="DIR",
    help="Read payloads that records of type message/external-body name, in DIR and below only.",
)
@extractor_option
@base_option
@job_options(resume=False)
def command(
    out: str,
    files: tuple[str, ...],
    collection: str,
    deduplicate: bool,
    verify: bool,
    parser: str,
    item_seconds: float,
    external: tuple[str, ...],
    extractors: "tuple[Extractor, ...]",
    base: str,
    **given: Any,
) -> int:
    """Extract the documents of archive files, as Parquet, into the folder OUT.

    FILES are WARC, ARC and WACZ files, named as for nwx import; folders and
    globs may be addresses (s3://…, hdfs://…). Each has one Parquet file at
    its path: a row a capture, with title, text, links and all other fields
    where nwx import would make a document of it. nwx import --documents OUT
    makes the same archive of these as nwx import of FILES. What is there is
    skipped, so a stopped job goes on when run again.
    """
    from nwx.importing.options import ImportOptions
    from nwx.jobs.archive_files import extract_archives
    from nwx.jobs.inputs import absolute_place, archive_inputs
    from nwx.jobs.output import OutputMode

    asked = JobOptions(**given)
    mode = OutputMode.OVERWRITE if asked.overwrite else OutputMode.RESUME
    inputs = archive_inputs(files)
    options = ImportOptions(collection, verify=verify, deduplicate=deduplicate, parser=parser)
    options = replace(options, item_seconds=item_seconds, external=external, extractors=extractors)
    return run_job(
        "extract",
        asked,
        lambda spark, progress: extract_archives(
            spark,
            inputs,
            absolute_place(out),
            options,
            base=absolute_place(base) if base else "",
            mode=mode,
            progress=progress,
        ),
    )

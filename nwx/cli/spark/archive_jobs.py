"""nwx spark cdx, extract, links: jobs that read archive files, or documents of these"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.options import (
    extractor_option,
    index_options,
    index_options_of,
    item_seconds_option,
    parser_option,
    verify_option,
)
from nwx.cli.spark.job_options import JobOptions, base_option, job_options, run_job
from nwx.errors import UsageError

if TYPE_CHECKING:
    from nwx.extract.extractors import Extractor


@click.command("cdx")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@index_options
@base_option
@option.flag("--append-extension", "Write FILE.warc.gz.cdx in place of FILE.cdx.")
@job_options(resume=False)
def spark_cdx(
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
    from nwx.jobs.inputs import archive_inputs

    asked = JobOptions(**given)
    options = index_options_of(fields, cdxj=cdxj, in_order=in_order, post_append=post_append)
    named = {"base": base, "append_extension": append_extension, "mode": asked.resuming_mode}
    return run_job("cdx", asked, index_archives, archive_inputs(files), out, options, **named)


@click.command("extract")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@option.INTO_COLLECTION
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
@option.repeated(
    "--external",
    "DIR",
    "Read payloads that records of type message/external-body name, in DIR and below only.",
)
@extractor_option
@base_option
@job_options(resume=False)
def spark_extract(
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
    from nwx.jobs.inputs import archive_inputs

    asked = JobOptions(**given)
    options = ImportOptions(collection, verify=verify, deduplicate=deduplicate, parser=parser)
    options = replace(options, item_seconds=item_seconds, external=external, extractors=extractors)
    named = {"base": base, "mode": asked.resuming_mode}
    return run_job("extract", asked, extract_archives, archive_inputs(files), out, options, **named)


@click.command("links")
@click.argument("out", metavar="OUT")
@click.argument("documents", nargs=-1, metavar="DOCUMENTS...")
@job_options(resume=False)
def spark_links(out: str, documents: tuple[str, ...], **given: Any) -> int:
    """Invert the links of documents into the folder OUT.

    DOCUMENTS are outputs of nwx spark extract. OUT gets what nwx export
    links writes as Parquet of an archive of these documents: all links by
    linked URL (links), and the graphs of hosts and domains with their
    centralities; and the number of pages, hosts and domains that link to
    each URL (targets). An archive of these documents takes the links as its
    own by nwx invert-links --from OUT.
    """
    from nwx.jobs.links import documents_inputs, invert_links_on

    if not documents:
        raise UsageError("there is nothing to read; name the output of `nwx spark extract`")
    asked = JobOptions(**given)
    paths = documents_inputs(documents)
    return run_job("links", asked, invert_links_on, paths, out, mode=asked.mode)

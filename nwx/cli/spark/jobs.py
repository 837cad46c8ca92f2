"""The jobs of nwx spark, which read archive files, documents, or CDX files"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import (
    FIELDS_OPTION,
    SELECTION_OPTIONS,
    STRICT,
    dedup_options,
    layout_of,
    selection_of,
)
from nwx.cli.measure.build import MIN_CAPTURES, SITES, show_faults
from nwx.cli.options import (
    cluster_options,
    cluster_options_of,
    extractor_option,
    index_options,
    index_options_of,
    item_seconds_option,
    parser_option,
    verify_option,
)
from nwx.cli.spark import JobOptions, base_option, job_options, print_job, run_job
from nwx.errors import UsageError
from nwx.model import DEFAULT_COLLECTION
from nwx.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from nwx.bulk.progress import ShowProgress
    from nwx.extract.extractors import Extractor
    from nwx.jobs.output import JobReport


@click.command("cdx")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@index_options
@base_option
@option.flag("--append-extension", "Write FILE.warc.gz.cdx instead of FILE.cdx.")
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

    FILES are WARC, ARC and WACZ files, named as for nwx import; folders and globs may be
    addresses (s3://…, hdfs://…). Each index is what nwx cdx --beside writes, at the path of
    its file. Existing indexes are skipped; run again to resume a stopped job.
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
    "Read payloads named by message/external-body records, only in DIR and below.",
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

    FILES are WARC, ARC and WACZ files, named as for nwx import; folders and globs may be
    addresses (s3://…, hdfs://…). Each gets one Parquet file at its path: one row per
    capture, with title, text, links and all other fields where nwx import would create a
    document. nwx import --documents OUT makes the same archive of these as nwx import of
    FILES. Existing files are skipped; run again to resume a stopped job.
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

    DOCUMENTS are outputs of nwx spark extract. OUT gets what nwx export links writes as
    Parquet of an archive of these documents: all links by linked URL (links), and the
    graphs of hosts and domains with their centralities; and the number of pages, hosts and
    domains that link to each URL (targets). nwx invert-links --from OUT loads the links
    into an archive of these documents.
    """
    from nwx.jobs.inputs import documents_inputs
    from nwx.jobs.links import invert_links_on

    if not documents:
        raise UsageError("there is nothing to read; name the output of `nwx spark extract`")
    asked = JobOptions(**given)
    paths = documents_inputs(documents)
    return run_job("links", asked, invert_links_on, paths, out, mode=asked.mode)


SUMMARY = option.flag("--summary", "Write to _savings.json what would be saved, by type and host.")


@click.command("dedup")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@dedup_options
@FIELDS_OPTION
@SUMMARY
@STRICT
@job_options(resume=False)
@click.pass_obj
def spark_dedup(
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

    FILES are CDX and CDXJ files, folders and globs of them, or addresses (s3://…,
    hdfs://…); @FILE is a manifest. The files part-*.txt in OUT, concatenated, are the list
    that nwx dedup-cdx writes. A URL with very many captures does not slow down one
    executor.
    """
    from nwx.dedup.sorted_input import held_lines, is_archive
    from nwx.jobs.dedup_lists import ListOptions, list_duplicates
    from nwx.jobs.inputs import cdx_tasks, held_tasks

    selection = selection_of(**{name: given.pop(name) for name in SELECTION_OPTIONS})
    asked = JobOptions(**given)
    tasks = cdx_tasks(files, layout_of(fields))
    archives = list(filter(is_archive, against))
    if places := [place for place in against if place not in archives]:
        tasks += held_tasks(places, len(tasks))
    options = ListOptions(strict, summary, asked.overwrite)

    def work(spark: "SparkSession", progress: "ShowProgress") -> "JobReport":
        held = held_lines(settings, archives, progress) if archives else None
        return list_duplicates(spark, tasks, out, selection, options, held=held, progress=progress)

    return run_job("dedup", asked, work)


@click.command("revisits")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@FIELDS_OPTION
@SUMMARY
@STRICT
@job_options(resume=False)
def spark_revisits(
    out: str,
    files: tuple[str, ...],
    fields: str | None,
    summary: bool,
    strict: bool,
    **given: Any,
) -> int:
    """List the revisit records in CDX files into the folder OUT.

    FILES are those of nwx spark dedup. The files part-*.txt in OUT, concatenated, are the
    list that nwx revisits writes.
    """
    from nwx.jobs.dedup_lists import ListOptions, list_revisits
    from nwx.jobs.inputs import cdx_tasks

    asked = JobOptions(**given)
    tasks = cdx_tasks(files, layout_of(fields))
    options = ListOptions(strict, summary, asked.overwrite)
    return run_job("revisits", asked, list_revisits, tasks, out, options)


SAMPLE_OPTION = option.count(
    "--sample", "N", "Lines to sample.  [default: 1,000 a shard, at least 10,000]"
)


@click.command("splits")
@click.argument("out", metavar="FILE")
@click.argument("files", metavar="CDX...", nargs=-1)
@click.option("--shards", type=click.IntRange(2, 100_000), required=True, help="Number of shards.")
@SAMPLE_OPTION
@option.string(
    "--cluster",
    "PLACE",
    "Take the split points from an existing cluster instead of CDX files.",
)
@job_options(resume=False)
def spark_splits(
    out: str,
    files: tuple[str, ...],
    shards: int,
    sample: int | None,
    cluster: str,
    **given: Any,
) -> int:
    """Write split points for ZipNum clusters to FILE, one per line.

    They split the lines of CDX files into shards of about the same number of lines,
    estimated from a sample. Clusters of the same collection, and those merged later, can
    share the file: nwx spark zipnum and nwx zipnum build read it with --splits.
    """
    from nwx.jobs.inputs import cdx_tasks
    from nwx.jobs.splits import cluster_split_file, sampled_split_file

    asked = JobOptions(**given)
    if cluster:
        if files:
            raise UsageError("--cluster cannot be combined with CDX files")
        report = cluster_split_file(out, cluster, shards, overwrite=asked.overwrite)
        return print_job(report, asked)
    named = {"sample": sample, "overwrite": asked.overwrite}
    return run_job("splits", asked, sampled_split_file, cdx_tasks(files), out, shards, **named)


@click.command("zipnum")
@click.argument("out", metavar="OUT")
@click.argument("files", metavar="CDX...", nargs=-1)
@cluster_options
@SAMPLE_OPTION
@job_options()
def spark_zipnum(
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

    The files may be plain, gzip or zstd, sorted or not; in folders, files named .cdx and
    .cdxj are read. The cluster is byte for byte what nwx zipnum build makes with the same
    split points. With --resume, finished shards are kept.
    """
    from nwx.jobs.inputs import cdx_tasks
    from nwx.jobs.zipnum import build_cluster_on

    asked = JobOptions(**given)
    named = {"sample": sample, "mode": asked.mode}
    options = cluster_options_of(shards, splits, lines, summary=summary)
    return run_job("zipnum", asked, build_cluster_on, cdx_tasks(files), out, options, **named)


@click.command("cc-index")
@click.argument("out", metavar="OUT")
@click.argument("files", metavar="CDX...", nargs=-1)
@option.string("--crawl", "NAME", "Crawl of files that do not name theirs.")
@job_options(resume=False)
def spark_cc_index(out: str, files: tuple[str, ...], crawl: str, **given: Any) -> int:
    """Write Common Crawl's columnar index of CDX or CDXJ files into OUT.

    The table is that of nwx export cc-index.
    """
    from nwx.jobs.inputs import cdx_tasks
    from nwx.jobs.splits import build_cc_index_on

    asked = JobOptions(**given)
    tasks = cdx_tasks(files)
    return run_job("cc-index", asked, build_cc_index_on, tasks, out, crawl, mode=asked.mode)


@click.command("facets")
@click.argument("out", metavar="OUT")
@click.argument("files", nargs=-1)
@MIN_CAPTURES
@SITES
@option.string(
    "--collection",
    "NAME",
    "Collection of the captures in CDX files.",
    default=DEFAULT_COLLECTION,
    show_default=True,
)
@job_options(resume=False)
def spark_facets(
    out: str,
    files: tuple[str, ...],
    min_captures: int,
    sites_file: Path | None,
    collection: str,
    **given: Any,
) -> int:
    """Count the facets of captures into the folder OUT.

    FILES are one folder that nwx export captures wrote, or CDX and CDXJ files as for nwx
    spark dedup. combinations.parquet in OUT has the combinations with many captures, all
    features counted exactly. nwx build-facets --from OUT loads them, and the columns of all
    captures, into an archive: the one that was exported, or one that loaded the same CDX
    files.
    """
    from nwx.facets.sites import read_sites
    from nwx.jobs.facet_rows import capture_inputs
    from nwx.jobs.facets import FacetJobOptions, count_facets
    from nwx.keys import check_collection

    check_collection(collection)
    asked = JobOptions(**given)
    sites = read_sites(sites_file) if sites_file else None
    show_faults(sites_file, sites)
    inputs = capture_inputs(files)
    options = FacetJobOptions(min_captures, sites, collection, asked.overwrite)
    return run_job("facets", asked, count_facets, inputs, out, options)

"""The job `links`: inverts the links of documents files, as `nwx export links` writes them.

For each id, the document of the earliest capture counts, as in an archive. Each grouping step
first counts within tasks, and distinct counts first remove duplicates by all columns: a URL or a
host with half of all links is spread over all tasks.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.whole_files import is_address
from nwx.errors import SourceError
from nwx.exports.links import graph_tables, write_parquet
from nwx.importing.extracted.documents_file import SUCCESS_NAME, documents_notes, documents_paths
from nwx.jobs.inputs import addresses_below
from nwx.jobs.link_rows import LINK_ROWS_SCHEMA, read_link_rows
from nwx.jobs.output import JobFolder, JobOutput, JobReport, OutputMode, open_output
from nwx.jobs.pieces import PieceWork, piece_frame, shown_stages, write_frame
from nwx.links.host_graph import centrality, domain_graph, host_graph
from nwx.links.inverted import (
    INVERTED_DOCUMENTS,
    INVERTED_LINKS,
    INVERTED_NOTES,
    INVERTED_UNMET,
    InvertedNotes,
)
from nwx.values.urls import domain_of_host

if TYPE_CHECKING:
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame, SparkSession


_LINK = ("target", "source", "kind", "anchor")
_HOSTS = ("source_host", "source_domain", "target_host")
_LINK_COLUMNS = ("id", "rank", *_LINK, *_HOSTS)
_PARTITIONS, _USUAL_PARTITIONS = "spark.sql.shuffle.partitions", "200"
_SHARES_OF_A_FILE, _MOST_PARTITIONS = 2, 10_000


def documents_inputs(arguments: Sequence[str]) -> list[str]:
    """Return the documents files that folders, files and addresses name.

    Raises SourceError if they are missing, incomplete, of another version, or were extracted with
    --no-dedup.
    """
    found: list[str] = []
    for argument in arguments:
        if is_address(argument):
            if not JobFolder(argument).exists(SUCCESS_NAME):
                raise SourceError(f"{argument} has no {SUCCESS_NAME}: the job did not finish")
            found += addresses_below(argument, lambda name: name.endswith(".parquet"))
        else:
            found += [str(path.absolute()) for path in documents_paths([argument])]
    for path in found:
        if not is_address(path) and not documents_notes(Path(path)).deduplicated:
            raise SourceError(
                f"{path} was extracted with --no-dedup; links need an extraction without it"
            )
    return list(dict.fromkeys(found))


def invert_links_on(
    spark: "SparkSession",
    paths: Sequence[str],
    place: str,
    *,
    mode: OutputMode = OutputMode.NEW,
    progress: ShowProgress = no_progress,
) -> JobReport:
    """Write the links of documents files into the folder at `place`.

    `links` has all links in the order of target, source, kind and anchor, `targets` the counts of
    each linked URL. The folder also holds the graphs of hosts and domains, and the input of `nwx
    invert-links --from` (`nwx.links.inverted`).
    """
    output = open_output(place, "links", {"documents": list(paths)}, mode)
    work = PieceWork(read_link_rows, str, LINK_ROWS_SCHEMA, output.reports, is_address)
    report = JobReport("links")
    with shown_stages(spark, "inverting links", progress), _partitions_for(spark, len(paths)):
        rows = piece_frame(spark, paths, work).persist(_on_disk())
        documents = _documents(rows).persist(_on_disk())
        links = _dated_links(rows, documents).persist(_on_disk())
        report.counts["links"] = _write_links(links, output)
        report.counts["targets"] = _write_targets(links, output)
        report.counts["hosts"] = _write_hosts(links, output)
        _write_inverted(rows, documents, links, output.folder)
        for frame in (links, documents, rows):
            frame.unpersist()
    for piece in output.reports.read_whole(len(paths)).values():
        report.add(piece)
    output.finish(report)
    return report


@contextmanager
def _partitions_for(spark: "SparkSession", files: int) -> Iterator[None]:
    """Set the number of tasks for groupings by the number of files, unless configured."""
    held = str(spark.conf.get(_PARTITIONS))
    if held != _USUAL_PARTITIONS:
        yield
        return
    cores = spark.sparkContext.defaultParallelism
    spark.conf.set(_PARTITIONS, str(max(cores, min(_MOST_PARTITIONS, _SHARES_OF_A_FILE * files))))
    try:
        yield
    finally:
        spark.conf.set(_PARTITIONS, held)


def _on_disk() -> "StorageLevel":
    from pyspark import StorageLevel

    return StorageLevel.DISK_ONLY


def _documents(rows: "DataFrame") -> "DataFrame":
    """Return the documents that count: for each id, that of the earliest capture (by rank)."""
    from pyspark.sql import functions as f

    documents = rows.where(f.col("refused").isNotNull())
    best = {"urlkey": "source", "url": "url", "refused": "refused"}
    return documents.groupBy("id").agg(
        f.max("rank").alias("precedence"),
        *(f.max_by(column, "rank").alias(name) for name, column in best.items()),
    )


def _dated_links(rows: "DataFrame", documents: "DataFrame") -> "DataFrame":
    """Return the links of the documents that count, with the dates of the documents."""
    from pyspark.sql import functions as f

    best = documents.select("id", f.col("precedence").alias("rank"))
    dates = rows.where(f.col("year").isNotNull()).groupBy("id")
    dated = dates.agg(f.min("first").alias("first"), f.max("last").alias("last"))
    links = rows.where(f.col("target").isNotNull()).select(*_LINK_COLUMNS)
    return links.join(best, ["id", "rank"]).join(dated, "id").drop("rank")


def _write_links(links: "DataFrame", output: JobOutput) -> int:
    from pyspark.sql import functions as f

    distinct = links.groupBy(*_LINK).agg(f.min("first").alias("timestamp"))
    ordered = distinct.orderBy(*_LINK)
    columns = ("source", "target", "timestamp", "kind", "anchor")
    return write_frame(ordered.select(*columns), output.folder.inner("links"))


def _write_inverted(
    rows: "DataFrame", documents: "DataFrame", links: "DataFrame", folder: JobFolder
) -> None:
    """Write the inverted links in the format that archives load."""
    from pyspark.sql import functions as f

    of_documents = links.select("target", f.col("id").alias("document"), "kind", "anchor")
    unmet = rows.where(f.col("id").isNull()).select("url", f.col("first").alias("timestamp"))
    notes = InvertedNotes(
        documents=write_frame(documents.orderBy("id"), folder.inner(INVERTED_DOCUMENTS)),
        document_links=write_frame(
            of_documents.orderBy("target", "document", "kind", "anchor"),
            folder.inner(INVERTED_LINKS),
        ),
        unmet=write_frame(unmet.distinct(), folder.inner(INVERTED_UNMET)),
    )
    folder.write(INVERTED_NOTES, notes.to_json())


def _write_targets(links: "DataFrame", output: JobOutput) -> int:
    """Write the counts of URLs, hosts and domains that link to each URL; return their number."""
    from pyspark.sql import functions as f

    others = links.where(f.col("source") != f.col("target"))
    counted = others.groupBy("target").agg(
        f.min("first").alias("first"), f.max("last").alias("last")
    )
    levels = (("source", "documents"), ("source_host", "hosts"), ("source_domain", "domains"))
    for column, name in levels:
        distinct = others.select("target", column).distinct()
        counted = counted.join(distinct.groupBy("target").agg(f.count("*").alias(name)), "target")
    named = counted.withColumnRenamed("target", "urlkey").orderBy("urlkey")
    columns = ("urlkey", "documents", "hosts", "domains", "first", "last")
    return write_frame(named.select(*columns), output.folder.inner("targets"))


def _write_hosts(links: "DataFrame", output: JobOutput) -> int:
    """Write the graphs of hosts and domains; return the number of hosts."""
    from pyspark.sql import functions as f

    pairs = (
        links.where(f.col("source") != f.col("target"))
        .select("source", "target", "source_host", "target_host")
        .distinct()
        .groupBy("source_host", "target_host")
        .agg(f.count("*").alias("links"))
    )
    hosts = host_graph(tuple(row) for row in pairs.toLocalIterator())
    domains = domain_graph(hosts, domain_of_host)
    with TemporaryDirectory(prefix="nwx-hosts-") as name:
        for noun, graph in (("host", hosts), ("domain", domains)):
            for path in write_parquet(graph_tables(noun, graph, centrality(graph)), Path(name)):
                output.folder.write(path.name, path.read_bytes())
    return len(hosts.hosts)

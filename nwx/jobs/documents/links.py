"""The job `links`: the links of documents files inverted, as `nwx export links` writes them.

Of the documents of an id the one of the earliest capture counts, as in an
archive. Each step that groups counts within tasks first, and what is
counted distinct is made distinct by all columns before: a URL or a host
with half of all links is spread over all tasks.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from nwx.bulk.addresses import is_address
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.errors import SourceError
from nwx.exports.graphs.tables import graph_tables, write_parquet
from nwx.importing.extracted.documents_file import documents_notes
from nwx.importing.extracted.sources import SUCCESS_NAME, documents_paths
from nwx.jobs.documents.link_rows import LINK_ROWS_SCHEMA, read_link_rows
from nwx.jobs.folders import JobFolder
from nwx.jobs.frames import piece_frame
from nwx.jobs.inputs import addresses_below
from nwx.jobs.output import JobOutput, OutputMode, open_output
from nwx.jobs.pieces import PieceWork
from nwx.jobs.reports import JobReport
from nwx.jobs.stages import shown_stages
from nwx.links.graphs.centrality import centrality
from nwx.links.graphs.host_graph import domain_graph, host_graph
from nwx.values.link_places import domain_of_host

if TYPE_CHECKING:
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame, SparkSession

_TEXT = pa.string()
LINKS_SCHEMA = pa.schema(
    [(name, _TEXT) for name in ("source", "target", "timestamp", "kind", "anchor")]
)
TARGETS_SCHEMA = pa.schema(
    [
        ("urlkey", _TEXT),
        *((name, pa.int64()) for name in ("documents", "hosts", "domains")),
        ("first", _TEXT),
        ("last", _TEXT),
    ]
)
_LINK = ("target", "source", "kind", "anchor")
_PARTITIONS, _USUAL_PARTITIONS = "spark.sql.shuffle.partitions", "200"
_SHARES_OF_A_FILE, _MOST_PARTITIONS = 2, 10_000
_DONE = pa.schema([("rows", pa.int64())])


@dataclass(frozen=True, slots=True)
class OrderedPartWriter:
    """Writes the rows of a task as a Parquet file of its number into a folder."""

    folder: JobFolder
    schema: pa.Schema

    def write(self, number: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows, in a file that appears when it is whole; yield how many there are."""
        rows = 0
        first = next(batches, None)
        if first is not None:
            with (
                self.folder.new_file(f"part-{number:05}.parquet") as stream,
                pq.ParquetWriter(stream, self.schema, compression="zstd") as writer,
            ):
                for batch in chain([first], batches):
                    writer.write_batch(batch.cast(self.schema))
                    rows += batch.num_rows
        yield pa.RecordBatch.from_pydict({"rows": [rows]}, schema=_DONE)


def documents_inputs(arguments: Sequence[str]) -> list[str]:
    """Return the documents files that folders, files and addresses name.

    Raises SourceError where they are not there, not whole, of another
    version, or were extracted with --no-dedup.
    """
    found: list[str] = []
    for argument in arguments:
        if is_address(argument):
            if not JobFolder(argument).exists(SUCCESS_NAME):
                raise SourceError(f"{argument} has no {SUCCESS_NAME}: the job did not end")
            found += addresses_below(argument, lambda name: name.endswith(".parquet"))
        else:
            found += [str(path.absolute()) for path in documents_paths([argument])]
    for path in found:
        if not is_address(path) and not documents_notes(Path(path)).deduplicated:
            raise SourceError(f"{path} was extracted with --no-dedup; links need it without")
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

    `links` has all links in the order of target, source, kind and anchor,
    `targets` the counts of each linked URL; beside them are the graphs of
    hosts and domains.
    """
    output = open_output(place, "links", {"documents": list(paths)}, mode)
    work = PieceWork(read_link_rows, str, LINK_ROWS_SCHEMA, output.reports, is_address)
    report = JobReport("links")
    with shown_stages(spark, "inverting links", progress), _partitions_for(spark, len(paths)):
        rows = piece_frame(spark, paths, work).persist(_on_disk())
        links = _dated_links(rows).persist(_on_disk())
        report.counts["links"] = _write_links(links, output)
        report.counts["targets"] = _write_targets(links, output)
        report.counts["hosts"] = _write_hosts(links, output)
        links.unpersist()
        rows.unpersist()
    for piece in output.reports.read_whole(len(paths)).values():
        report.add(piece)
    output.finish(report)
    return report


@contextmanager
def _partitions_for(spark: "SparkSession", files: int) -> Iterator[None]:
    """Let what is grouped come in as many tasks as so many files need, unless the user said."""
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


def _dated_links(rows: "DataFrame") -> "DataFrame":
    """Return the links of the documents that count, with the dates of these."""
    from pyspark.sql import functions as f

    is_link, is_date = f.col("target").isNotNull(), f.col("year").isNotNull()
    best = rows.where(~is_link & ~is_date).groupBy("id").agg(f.max("rank").alias("rank"))
    dates = rows.where(is_date).groupBy("id")
    dated = dates.agg(f.min("first").alias("first"), f.max("last").alias("last"))
    links = rows.where(is_link).drop("year", "first", "last")
    return links.join(best, ["id", "rank"]).join(dated, "id").drop("id", "rank")


def _write_links(links: "DataFrame", output: JobOutput) -> int:
    from pyspark.sql import functions as f

    distinct = links.groupBy(*_LINK).agg(f.min("first").alias("timestamp"))
    return _written(distinct.orderBy(*_LINK), output.folder.inner("links"), LINKS_SCHEMA)


def _write_targets(links: "DataFrame", output: JobOutput) -> int:
    """Write for each URL how many others link to it; each level is made distinct first."""
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
    return _written(named, output.folder.inner("targets"), TARGETS_SCHEMA)


def _written(frame: "DataFrame", folder: JobFolder, schema: pa.Schema) -> int:
    """Write a frame in its order, a file for each task; return the number of rows."""
    from pyspark import TaskContext

    writer = OrderedPartWriter(folder, schema)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        yield from writer.write(context.partitionId(), batches)

    ordered = frame.select(*schema.names)
    return sum(row["rows"] for row in ordered.mapInArrow(write, "rows long").collect())


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

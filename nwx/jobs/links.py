"""The job `links`: inverts the links of documents files, as `nwx export links` writes them.

For each id, the document of the earliest capture counts, as in an archive. Each grouping step
first counts within tasks, and distinct counts first remove duplicates by all columns: a URL or a
host with half of all links is spread over all tasks.

Executors read the links as rows of four kinds. A *document* has an id, its rank among documents of
the same id, its URL, its urlkey as `source`, and the number of its links without a urlkey
(`refused`). A *link* has id, rank and source too, and `target`, `kind` and `anchor`, with the
hosts of both ends. A *date* has an id, a year, and the first and last capture of the document in
that year. A row without an id has the URL and date (`first`) of a capture that is missing in the
file, although the file has its outlinks.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from cachetools import LRUCache

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.whole_files import is_address
from nwx.errors import FormatError, SourceError, UrlError
from nwx.exports.links import graph_tables, write_parquet
from nwx.importing.extracted.documents_file import DocumentsFile, extract_of, row_capture
from nwx.importing.extracted.notes import FileNotes
from nwx.importing.late_outlinks import CUT, outlink_links, with_links
from nwx.jobs.output import JobFolder, JobOutput, JobReport, OutputMode, PieceReport, open_output
from nwx.jobs.pieces import PieceWork, UnreachableError, piece_frame, shown_stages, write_frame
from nwx.keys import precedence
from nwx.links.host_graph import centrality, domain_graph, host_graph
from nwx.links.inverted import (
    INVERTED_DOCUMENTS,
    INVERTED_LINKS,
    INVERTED_NOTES,
    INVERTED_UNMET,
    InvertedNotes,
)
from nwx.links.parts import clean_anchor, kind_name
from nwx.model import Capture, Extract, ReadError
from nwx.values.http import to_text
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url, domain_of_host, host_of_urlkey
from nwx.warc.record_groups import RecordedOutlinks
from nwx.warc.sources import open_path

if TYPE_CHECKING:
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame, SparkSession

LINK_ROWS_SCHEMA = pa.schema(
    [
        ("id", pa.binary()),
        ("rank", pa.int64()),
        ("source", pa.string()),
        ("source_host", pa.string()),
        ("source_domain", pa.string()),
        ("target", pa.string()),
        ("target_host", pa.string()),
        ("kind", pa.string()),
        ("anchor", pa.string()),
        ("url", pa.string()),
        ("refused", pa.int64()),
        ("year", pa.int32()),
        ("first", pa.string()),
        ("last", pa.string()),
    ]
)
_COLUMNS = tuple(LINK_ROWS_SCHEMA.names)
_ROWS_AT_ONCE = 20_000
_REMEMBERED_KEYS = 100_000
_Row = dict[str, Any]
_LINK = ("target", "source", "kind", "anchor")
_HOSTS = ("source_host", "source_domain", "target_host")
_LINK_COLUMNS = ("id", "rank", *_LINK, *_HOSTS)
_PARTITIONS, _USUAL_PARTITIONS = "spark.sql.shuffle.partitions", "200"
_SHARES_OF_A_FILE, _MOST_PARTITIONS = 2, 10_000


def read_link_rows(path: str, report: PieceReport) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a documents file; raises UnreachableError if an address fails."""
    with _local(path) as local:
        documents = DocumentsFile(local)
        if not documents.notes.deduplicated:
            raise SourceError(
                f"{path} was extracted with --no-dedup; links need an extraction without it"
            )
        rows: list[_Row] = []
        for number, notes in enumerate(documents.notes.files):
            for row in _FileRows(notes, report).read(documents, number):
                rows.append(row)
                if len(rows) >= _ROWS_AT_ONCE:
                    yield _batch(rows)
                    rows = []
        if rows:
            yield _batch(rows)


def _batch(rows: Sequence[_Row]) -> pa.RecordBatch:
    columns = {name: [row.get(name) for row in rows] for name in _COLUMNS}
    return pa.RecordBatch.from_pydict(columns, schema=LINK_ROWS_SCHEMA)


@contextmanager
def _local(path: str) -> Iterator[Path]:
    """Yield a local file with the content at a path or an address."""
    if not is_address(path):
        yield Path(path)
        return
    with NamedTemporaryFile(suffix=".parquet") as copy:
        with (
            UnreachableError.instead_of((OSError, SourceError), f"{path} cannot be read"),
            open_path(path) as stream,
        ):
            shutil.copyfileobj(stream, copy, 1 << 20)
        copy.flush()
        yield Path(copy.name)


@dataclass(slots=True)
class _FileRows:
    """Rows of one archive file, with outlinks from separate metadata records."""

    notes: FileNotes
    report: PieceReport
    _keys: LRUCache[str, str] = field(default_factory=lambda: LRUCache(_REMEMBERED_KEYS))
    _dates: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)

    def read(self, documents: DocumentsFile, number: int) -> Iterator[_Row]:
        by_offset, by_date = self._late_outlinks()
        first = documents.first_row(number)
        for part in self.notes.parts:
            for row in documents.rows(first, part.rows):
                capture, extract = row_capture(row), extract_of(row)
                self._note_date(capture)
                late = by_offset.get(capture.source_file_offset, [])
                late = late + by_date.pop((capture.url, capture.timestamp), [])
                if extract is not None:
                    yield from self._of_document(capture, _with_outlinks(capture, extract, late))
            first += part.rows
        for (id, year), (begin, end) in self._dates.items():
            yield {"id": bytes.fromhex(id), "year": year, "first": begin, "last": end}
        yield from self._unmet(by_date)

    def _late_outlinks(
        self,
    ) -> tuple[Mapping[int, list[RecordedOutlinks]], dict[tuple[str, str], list[RecordedOutlinks]]]:
        """Return the outlinks of late metadata records, by record offset or by URL and date."""
        by_offset: dict[int, list[RecordedOutlinks]] = defaultdict(list)
        by_date: dict[tuple[str, str], list[RecordedOutlinks]] = defaultdict(list)
        for part in self.notes.parts:
            for late in (one.late_outlinks() for one in part.late):
                if late.offset is not None:
                    by_offset[late.offset].append(late.recorded)
                elif (key := _url_and_date(late.recorded)) is not None:
                    by_date[key].append(late.recorded)
        return by_offset, by_date

    def _note_date(self, capture: Capture) -> None:
        if not capture.document_id:
            return
        key = capture.document_id, int(capture.timestamp[:4])
        begin, end = self._dates.get(key, (capture.timestamp, capture.timestamp))
        self._dates[key] = min(begin, capture.timestamp), max(end, capture.timestamp)

    def _of_document(self, capture: Capture, extract: Extract) -> Iterator[_Row]:
        host = host_of_urlkey(capture.urlkey)
        document = {
            "id": bytes.fromhex(capture.document_id),
            "rank": precedence(capture),
            "source": capture.urlkey,
            "source_host": host,
            "source_domain": domain_of_host(host),
        }
        self.report.counts["documents"] += 1
        found: dict[tuple[str, str, str], None] = {}
        refused = 0
        for url, text, kind in extract.links:
            if target := self._urlkey(url):
                found[target, kind_name(kind), clean_anchor(text)] = None
            else:
                refused += 1
        yield document | {"url": capture.url, "refused": refused}
        for target, kind, anchor in found:
            yield document | {
                "target": target,
                "target_host": host_of_urlkey(target),
                "kind": kind,
                "anchor": anchor,
            }

    def _urlkey(self, url: str) -> str:
        """Return the urlkey of a linked URL, "" if it has none."""
        key = self._keys.get(url)
        if key is None:
            try:
                key = urlkey(url)
                key.encode()
            except (UrlError, UnicodeEncodeError):
                key = ""
            self._keys[url] = key
        return key

    def _unmet(self, by_date: Mapping[tuple[str, str], list[RecordedOutlinks]]) -> Iterator[_Row]:
        """Report outlinks whose capture is not in the file, and yield rows for these captures."""
        unmet = [recorded for late in by_date.values() for recorded in late]
        self.report.add_errors(
            ReadError(
                self.notes.name,
                recorded.offset,
                "outlink",
                f"the file lacks the capture that the {len(recorded.outlinks):,} outlinks "
                "of the record belong to; they are not counted",
            )
            for recorded in unmet
        )
        for url, timestamp in by_date:
            if self._urlkey(url):
                yield {"url": url, "first": timestamp}


def _url_and_date(recorded: RecordedOutlinks) -> tuple[str, str] | None:
    try:
        return clean_url(recorded.url), normal_timestamp(to_text(recorded.date))
    except FormatError:
        return None


def _with_outlinks(capture: Capture, extract: Extract, late: Sequence[RecordedOutlinks]) -> Extract:
    for recorded in late:
        links = outlink_links(capture.url, recorded.outlinks)
        extract = with_links(extract, links, CUT if recorded.cut else "")
    return extract


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

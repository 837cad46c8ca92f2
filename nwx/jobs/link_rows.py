"""Executor step that reads the links of documents files as rows; without Spark.

A row is one of four kinds. A *document* has an id, its rank among documents of the same id, its
URL, its urlkey as `source`, and the number of its links without a urlkey (`refused`). A *link*
has id, rank and source too, and `target`, `kind` and `anchor`, with the hosts of both ends. A
*date* has an id, a year, and the first and last capture of the document in that year. A row
without an id has the URL and date (`first`) of a capture that is missing in the file, although
the file has its outlinks.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pyarrow as pa
from cachetools import LRUCache

from nwx.bulk.whole_files import is_address
from nwx.errors import FormatError, SourceError, UrlError
from nwx.importing.extracted.documents_file import DocumentsFile, extract_of, row_capture
from nwx.importing.extracted.notes import FileNotes
from nwx.importing.late_outlinks import CUT, outlink_links, with_links
from nwx.jobs.output import PieceReport
from nwx.jobs.pieces import UnreachableError
from nwx.keys import precedence
from nwx.links.parts import clean_anchor, kind_name
from nwx.model import Capture, Extract, ReadError
from nwx.values.http import to_text
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url, domain_of_host, host_of_urlkey
from nwx.warc.record_groups import RecordedOutlinks
from nwx.warc.sources import open_path

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
        try:
            with open_path(path) as stream:
                shutil.copyfileobj(stream, copy, 1 << 20)
        except (OSError, SourceError) as error:
            raise UnreachableError(f"{path} cannot be read: {error}") from error
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

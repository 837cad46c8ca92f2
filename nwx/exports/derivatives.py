"""Tables of pages, links and files, as made and named by the Archives Unleashed Toolkit."""

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import polars as pl

from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import processors
from nwx.bulk.whole_files import parquet_bytes, whole_folder
from nwx.errors import FormatError, TimestampError, UrlError, system_reason
from nwx.exports.archive_inputs import (
    FILE_FAILURES,
    ExtractReport,
    InputFile,
    Inputs,
    Visibility,
    VisibleRecords,
)
from nwx.exports.wat import page_text
from nwx.extract import extract
from nwx.model import Extract, ReadError
from nwx.quality.images import opened
from nwx.values.http import charset_of, decode_body, is_coded, media_type, to_text
from nwx.values.media_types import POOR_PAGES, detected_type, file_extension, file_name
from nwx.values.records import add_counts, csv_lines
from nwx.values.timestamps import normal_timestamp, parse_timestamp
from nwx.values.urls import IMG, A, clean_url, url_parts
from nwx.warc.captures import is_capture
from nwx.warc.record import Record

_FILE = ("crawl_date", "last_modified_date", "url", "filename", "extension")
_FILE_TYPES = ("mime_type_web_server", "mime_type_tika")
_FILE_COLUMNS = (*_FILE, *_FILE_TYPES, "md5", "sha1", "size")

DERIVATIVES: Mapping[str, tuple[str, ...]] = {
    "web-pages": (
        *("crawl_date", "last_modified_date", "domain", "url", *_FILE_TYPES),
        *("language", "content"),
    ),
    "web-graph": ("crawl_date", "src", "dest", "anchor"),
    "image-graph": ("crawl_date", "src", "image_url", "alt_text"),
    "image-information": (*_FILE, *_FILE_TYPES, "width", "height", "md5", "sha1", "size"),
    "audio-information": _FILE_COLUMNS,
    "video-information": _FILE_COLUMNS,
    "pdf-information": _FILE_COLUMNS,
    "presentation-information": _FILE_COLUMNS,
    "spreadsheet-information": _FILE_COLUMNS,
    "word-information": _FILE_COLUMNS,
    "text-information": (*_FILE_COLUMNS, "content"),
}
"""The columns of each table: as in the Archives Unleashed Toolkit, plus `size` in bytes."""

_PAYLOAD_BYTES = 16 << 20
_WWW = re.compile(r"^\s*www\.")
_TSV = ("text/csv", "text/tab-separated-values")
_OPEN, _XML = "application/vnd.oasis.opendocument.", "application/vnd.openxmlformats-"
_FILE_TABLES: Mapping[str, tuple[str, ...]] = {
    "image-information": ("image/",),
    "audio-information": ("audio/",),
    "video-information": ("video/",),
    "pdf-information": ("application/pdf",),
    "presentation-information": (
        *("application/vnd.ms-powerpoint", "application/vnd.apple.keynote"),
        *(f"{_OPEN}presentation", f"{_XML}officedocument.presentationml"),
        *("application/vnd.sun.xml.impress", "application/vnd.stardivision.impress"),
    ),
    "spreadsheet-information": (
        *("application/vnd.ms-excel", "application/vnd.lotus-1-2-3", *_TSV),
        *(f"{_OPEN}spreadsheet", f"{_XML}officedocument.spreadsheetml"),
    ),
    "word-information": (
        *("application/msword", "application/vnd.ms-word", "application/rtf"),
        *(f"{_OPEN}text", f"{_XML}officedocument.wordprocessingml", "application/vnd.wordperfect"),
        *("application/vnd.apple.pages", "application/vnd.ms-works"),
    ),
}
"""The tables of files, with the prefixes of their media types."""


@dataclass(frozen=True, slots=True)
class PayloadRows:
    """The domain of a record, and its rows: table, and values in the order of its columns."""

    domain: str
    rows: list[tuple[str, tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class _Payload:
    url: str
    crawl_date: str
    last_modified: str
    served: str
    charset: str
    detected: str
    data: bytes
    content_type: str
    size: int | None
    digests: tuple[str, str]


def payload_rows(record: Record, name: str, errors: list[ReadError]) -> PayloadRows | None:
    """Return the rows of an HTTP(S) capture, None for any other record and for revisits.

    Faults are added to `errors`, with the name of the file.
    """
    if record.kind == "revisit" or not is_capture(record):
        return None
    try:
        url = clean_url(record.fields.get(b"warc-target-uri"))
        date = _iso(normal_timestamp(to_text(record.fields.get(b"warc-date"))))
        place = url_parts(url)
    except (UrlError, TimestampError) as error:
        errors.append(ReadError(name, record.offset, "url", str(error)))
        return None
    if not url.lower().startswith(("http:", "https:")):
        return None
    domain = _WWW.sub("", place.host)
    problems: list[str] = []
    payload = _payload(record, url, date, problems)
    rows = list(_tables(payload, record, domain, problems))
    errors += [
        ReadError(name, record.offset, "extract", problem)
        for problem in problems
        if problem not in POOR_PAGES
    ]
    return PayloadRows(domain, rows)


def _payload(record: Record, url: str, date: str, problems: list[str]) -> _Payload:
    head = record.http_head()
    content_type = head.text(b"content-type") or to_text(record.fields.get(b"content-type"))
    served = media_type(content_type if head.size or record.kind == "resource" else "")
    decoded = decode_body(head, record.body(), _PAYLOAD_BYTES)
    problems += [f"coding: {decoded.problem}"] if decoded.problem else []
    size: int | None = len(decoded.data)
    digests = (_digest(decoded.data, "md5"), _digest(decoded.data, "sha1"))
    if decoded.cut or not record.kept_whole:
        problems.append(f"size: the first {size} bytes of the payload were read")
        coded = is_coded(head)
        size = None if coded else record.block_length - head.size
        found = (None if coded else record.digest(name, head.size) for name in ("md5", "sha1"))
        md5, sha1 = ("" if one is None else one.hex() for one in found)
        digests = md5, sha1
    return _Payload(
        url,
        date,
        _last_modified(head.text(b"last-modified")),
        served,
        charset_of(content_type),
        detected_type(decoded.data, served),
        decoded.data,
        content_type,
        size,
        digests,
    )


def _tables(
    one: _Payload, record: Record, domain: str, problems: list[str]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    if _is_page(one, record):
        yield from _page_rows(one, domain, problems)
    table = next(
        (name for name, types in _FILE_TABLES.items() if one.detected.startswith(types)), ""
    )
    if one.detected == "text/plain" and one.served in _TSV:
        table = "spreadsheet-information"
    elif one.detected == one.served == "text/plain":
        table = "text-information"
    if not table:
        return
    is_csv = table == "spreadsheet-information" and one.served in _TSV
    extension = file_extension(one.url, one.served if is_csv else one.detected)
    named = (file_name(one.url), extension)
    about = (one.crawl_date, one.last_modified, one.url, *named, one.served, one.detected)
    pixels = _pixels(one, problems) if table == "image-information" else ()
    content = (_extracted(one, "text").content,) if table == "text-information" else ()
    yield table, (*about, *pixels, *one.digests, one.size, *content)


def _is_page(one: _Payload, record: Record) -> bool:
    is_html = one.served in ("text/html", "application/xhtml+xml")
    is_named = one.url.lower().endswith(("htm", "html"))
    is_shown = record.http_head().status == 200 and not one.url.endswith("robots.txt")
    return is_shown and (is_html or is_named)


def _page_rows(
    one: _Payload, domain: str, problems: list[str]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    found = _extracted(one, "html")
    problems += found.problems
    about = (one.crawl_date, one.last_modified, domain, one.url, one.served, one.detected)
    yield "web-pages", (*about, found.content_language, page_text(found))
    for link in found.links:
        if link.kind in (A, IMG):
            table = "web-graph" if link.kind == A else "image-graph"
            yield table, (one.crawl_date, one.url, link.url, link.text)


def _extracted(one: _Payload, family: str) -> Extract:
    return extract(
        one.data,
        url=one.url,
        content_type_norm=family,
        content_type=one.content_type,
        charset=one.charset,
    )


def _pixels(one: _Payload, problems: list[str]) -> tuple[int | None, int | None]:
    """Return width and height of a picture, None for SVG drawings and damaged pictures."""
    if one.detected == "image/svg+xml":
        return None, None
    try:
        return opened(one.data).size
    except FormatError as error:
        problems.append(f"picture: {error}")
        return None, None


def _digest(data: bytes, algorithm: str) -> str:
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def _iso(timestamp: str) -> str:
    return f"{parse_timestamp(timestamp):%Y-%m-%dT%H:%M:%SZ}"


def _last_modified(value: str) -> str:
    try:
        found = parsedate_to_datetime(value)
        found = found.astimezone(UTC) if found.tzinfo else found
    except (ValueError, TypeError, OverflowError):
        return ""
    return f"{found:%Y-%m-%dT%H:%M:%SZ}"


DOMAINS = "domain-frequency"
_LINK_TARGETS = {"web-graph": "dest", "image-graph": "image_url"}
_PART_ROWS, _PART_CHARACTERS = 50_000, 16 << 20
_TYPES: Mapping[str, Any] = dict.fromkeys(("count", "width", "height", "size"), pl.Int64)


def export_derivatives(
    inputs: Inputs,
    folder: Path,
    *,
    workers: int | None = None,
    progress: ShowProgress = no_progress,
) -> ExtractReport:
    """Write the tables in DERIVATIVES and that of domains to a new folder, as CSV and Parquet.

    Each file is read once. The folder appears when it is complete. Raises SourceError if it exists
    already or cannot be written.
    """
    began = time.monotonic()
    report = ExtractReport(errors=list(inputs.errors))
    domains: Counter[str] = Counter()
    with whole_folder(folder) as new:
        for name in (DOMAINS, *DERIVATIVES):
            (new / "parquet" / name).mkdir(parents=True)
        tasks = [(one, number, new, inputs.shown) for number, one in enumerate(inputs.files)]
        sizes = [one.source.size or 1 for one in inputs.files]
        with Pool(min(workers or processors(), len(tasks)) or 1) as pool:
            for result in pool.map_shown(_export_file, tasks, progress, "exporting", sizes):
                add_counts(report, result.report)
                domains += result.domains
        counted = sorted(domains.items(), key=lambda pair: (-pair[1], pair[0]))
        _write_part(new, DOMAINS, 0, 0, counted)
        for name, target in () if inputs.shown.is_all else _LINK_TARGETS.items():
            report.written -= _remove_hidden(new / "parquet" / name, target, inputs.hidden_urls)
        for name in (DOMAINS, *DERIVATIVES):
            _write_csv(new, name)
        report.bytes = sum(one.stat().st_size for one in new.rglob("*") if one.is_file())
    report.seconds = time.monotonic() - began
    return report


@dataclass(slots=True)
class _FileResult:
    report: ExtractReport
    domains: Counter[str] = field(default_factory=Counter)


def _export_file(one: InputFile, number: int, folder: Path, shown: Visibility) -> _FileResult:
    result = _FileResult(ExtractReport())
    records = VisibleRecords(one.source, one.collection, shown)
    parts = _Parts(folder, number)
    try:
        for record in records:
            result.report.records += 1
            found = payload_rows(record, one.source.name, records.errors)
            if found is not None:
                result.domains[found.domain] += 1
                for table, row in found.rows:
                    parts.add(table, row)
                    result.report.written += 1
        result.report.files = 1
    except FILE_FAILURES as error:
        message = f"cannot be read: {system_reason(error)}"
        records.errors.append(ReadError(one.source.name, None, "read", message))
    parts.finish()
    result.report.hidden, result.report.errors = records.hidden, records.errors
    return result


class _Parts:
    """Buffers a bounded number of rows of one archive file, and writes Parquet files."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number = folder, number
        self._held: dict[str, list[tuple[Any, ...]]] = {name: [] for name in DERIVATIVES}
        self._written: Counter[str] = Counter()
        self._rows = self._characters = 0

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        self._held[table].append(row)
        self._rows += 1
        self._characters += sum(len(value) for value in row if isinstance(value, str))
        if self._rows >= _PART_ROWS or self._characters >= _PART_CHARACTERS:
            self.finish()

    def finish(self) -> None:
        """Write the buffered rows."""
        for table, rows in self._held.items():
            if rows:
                _write_part(self._folder, table, self._number, self._written[table], rows)
                self._written[table] += 1
                rows.clear()
        self._rows = self._characters = 0


def _write_part(
    folder: Path, table: str, file: int, part: int, rows: Sequence[tuple[Any, ...]]
) -> None:
    columns = ("domain", "count") if table == DOMAINS else DERIVATIVES[table]
    schema = {name: _TYPES.get(name, pl.String) for name in columns}
    frame = pl.DataFrame(rows, schema, orient="row")
    path = folder / "parquet" / table / f"part-{file:06}-{part:05}.parquet"
    path.write_bytes(parquet_bytes(frame))


def _remove_hidden(
    place: Path, target: str, hidden_urls: Callable[[Collection[str]], set[str]]
) -> int:
    """Remove links to hidden URLs from the parts of a table; return how many."""
    removed = 0
    for path in place.iterdir():
        frame = pl.read_parquet(path)
        if hidden := hidden_urls(frame[target].unique().to_list()):
            shown = frame.filter(~pl.col(target).is_in(list(hidden)))
            removed += len(frame) - len(shown)
            path.write_bytes(parquet_bytes(shown))
    return removed


def _write_csv(folder: Path, table: str) -> None:
    """Write the parts of a table to one CSV file; a table without rows gets an empty part."""
    place = folder / "parquet" / table
    if not any(place.iterdir()):
        _write_part(folder, table, 0, 0, [])
    columns = ("domain", "count") if table == DOMAINS else DERIVATIVES[table]
    path = folder / "csv" / f"{table}.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(csv_lines(columns, _rows(sorted(place.iterdir()))))


def _rows(parts: Sequence[Path]) -> Iterator[tuple[Any, ...]]:
    for part in parts:
        yield from pl.read_parquet(part).iter_rows()

"""CDX and CDXJ of archive files, as written by pywb's cdx-indexer and cdxj-indexer.

The two tools disagree on a status for DNS responses (cdx-indexer: 200), the status of revisits
(cdx-indexer: none), `sha1:` before a digest, and crawler metadata of type text/anvl (listed by
cdxj-indexer). Each form follows its own tool. `wget` is the CDX that wget writes, and reads with
--warc-dedup: responses with their record ids.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import BinaryIO

from nwx.bulk.pool import Pool
from nwx.bulk.process_limits import keep_memory, rare_collections
from nwx.bulk.progress import Note, ShowProgress, Tally, no_progress
from nwx.bulk.resources import processors, temporary_folder
from nwx.bulk.sorted_runs import SortedRun, joined_runs, read_runs
from nwx.bulk.whole_files import whole_file
from nwx.cdx.layouts import CDX9, CDX11, Layout, format_header
from nwx.cdx.rows import REVISIT, CdxRow, format_cdxj, safe_field
from nwx.errors import DigestError, FormatError, SourceError, UrlError
from nwx.model import ReadError
from nwx.values.digests import digest_of, normal_digest
from nwx.values.http import request_method, to_text
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import METHODS_WITH_QUERY, body_query, urlkey, with_method_query
from nwx.values.urls import clean_url
from nwx.warc.captures import request_body
from nwx.warc.checksums import contents_of
from nwx.warc.members import READ_FAILURES, open_members
from nwx.warc.record import Record
from nwx.warc.record_groups import record_groups
from nwx.warc.scanner import Scanner
from nwx.warc.sources import ArchiveSource

_FIELDS_TYPE = b"application/warc-fields"
_NOTES_TYPE = b"text/anvl"
_NO_CAPTURES = frozenset(("request", "warcinfo", "unknown"))
_NOTED = frozenset(("resource", "metadata"))
_JSON_KINDS = frozenset(("response", "revisit", "resource", "metadata"))
_NOTHING: dict[str, str] = {}
_LONGEST_KNOWN = 64  # bytes of a date
_SHA1 = "sha1:"
_AFTER_TYPE = re.compile(r"[;\s]")


class IndexLineForm(StrEnum):
    """The forms of an index."""

    CDX9 = "cdx9"
    CDX11 = "cdx11"
    CDXJ = "cdxj"
    WGET = "wget"


def index_line(
    record: Record, file: str, form: IndexLineForm, beside: Sequence[Record] = ()
) -> str:
    """Return the index line of a record without newline, "" if the record is not indexed.

    `beside` are the records that may hold the request: with them, the urlkey of a POST includes its
    body, as with `--post-append`. Raises UrlError or TimestampError on a record that cannot be
    indexed.
    """
    if record.kind in _NO_CAPTURES or _is_note(record, form):
        return ""
    if form is IndexLineForm.WGET:
        return _wget_line(record, file)
    url = clean_url(record.fields.get(b"warc-target-uri"))
    date = record.fields.get(b"warc-date")
    timestamp = _known_date(date) if len(date) <= _LONGEST_KNOWN else _date(date)
    key, extra = _asked(url, beside) if beside else (urlkey(url), _NOTHING)
    mime, status, digest = _mime(record, form), _status(record, form), _digest(record, form)
    if form is IndexLineForm.CDXJ:
        return format_cdxj(
            CdxRow(
                urlkey=key,
                timestamp=timestamp,
                url=url,
                mime=mime,
                status=status,
                digest=digest,
                length=str(record.length),
                offset=str(record.offset),
                filename=file,
                extra=json.dumps(extra) if extra else "",
            )
        )
    # `format_cdx` inlined for this case, for speed
    size = f" - {record.length}" if form is IndexLineForm.CDX11 else ""
    start = f"{key} {timestamp} {url} {mime} {status or '-'} {safe_field(digest)}"
    return f"{start} -{size} {record.offset} {safe_field(file)}"


def _wget_line(record: Record, file: str) -> str:
    """Return the line by which wget refers to a response, "" for records it cannot refer to."""
    record_id = to_text(record.fields.get(b"warc-record-id"))
    try:
        digest = normal_digest(_digest(record, IndexLineForm.CDXJ))
    except DigestError:
        return ""
    if record.kind != "response" or not record_id or not digest.startswith(_SHA1):
        return ""
    url = clean_url(record.fields.get(b"warc-target-uri"))
    head = record.http_head()
    values = (
        *(url, _date(record.fields.get(b"warc-date")), url),
        *(_mime(record, IndexLineForm.CDX11), _status(record, IndexLineForm.CDXJ)),
        *(digest.removeprefix(_SHA1), head.text(b"location"), "", str(record.offset), file),
    )
    return " ".join(map(safe_field, (*values, record_id)))


def _is_note(record: Record, form: IndexLineForm) -> bool:
    content_type = record.fields.get(b"content-type")
    if form is IndexLineForm.CDXJ:
        noted = record.kind in _NOTED and content_type == _FIELDS_TYPE
        return noted or record.kind not in _JSON_KINDS
    return content_type == _FIELDS_TYPE or (
        record.kind == "metadata" and content_type.startswith(_NOTES_TYPE)
    )


def _mime(record: Record, form: IndexLineForm) -> str:
    if record.kind == "revisit":
        return REVISIT
    head = record.http_head()
    if form is IndexLineForm.CDXJ:
        told = record.kind != "response"
        value = record.fields.get(b"content-type") if told else head.fields.get(b"content-type")
        return _media_type(value.strip())
    told = record.format == "arc" or not head.size
    value = record.fields.get(b"content-type") if told else head.fields.get(b"content-type")
    return _media_type(value) or "unk"


@lru_cache(maxsize=1024)
def _media_type(content_type: bytes) -> str:
    """Return a Content-Type without its parameters."""
    return _AFTER_TYPE.split(to_text(content_type), maxsplit=1)[0]


def _date(date: bytes) -> str:
    return normal_timestamp(to_text(date))


_known_date = lru_cache(maxsize=1024)(_date)


def _status(record: Record, form: IndexLineForm) -> str:
    head = record.http_head()
    if form is IndexLineForm.CDXJ:
        return "" if head.status is None else str(head.status)
    if record.kind != "response":
        return ""
    return str(head.status) if head.status is not None else "" if head.size else "200"


def _digest(record: Record, form: IndexLineForm) -> str:
    """Return the payload digest as the record spells it, computed if missing."""
    digest = to_text(record.fields.get(b"warc-payload-digest"))
    if not digest and record.kind != "revisit":
        computed = record.digest("sha1", record.http_head().size)
        digest = digest_of("sha1", computed) if computed else ""
    return digest if form is IndexLineForm.CDXJ else digest.removeprefix("sha1:")


def _asked(url: str, beside: Sequence[Record]) -> tuple[str, dict[str, str]]:
    """Return the urlkey of a URL for its request method and body, and the CDXJ fields of these."""
    for record in beside:
        method = request_method(record.block) if record.kind == "request" else ""
        if method in METHODS_WITH_QUERY:
            head = record.http_head()
            content_type, body = head.text(b"content-type"), request_body(record, head)
            key = urlkey(with_method_query(url, method, content_type, body))
            return key, {"requestBody": body_query(content_type, body), "method": method}
    return urlkey(url), {}


_LAYOUTS = {
    IndexLineForm.CDX9: CDX9,
    IndexLineForm.CDX11: CDX11,
    IndexLineForm.WGET: Layout("abamskrMVgu"),
}
_KEPT_BYTES = 1 << 20
_MERGED_BYTES = 64 << 20
_WORTH_PROCESSES_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """The form of an index; `post_append` puts the bodies of POST requests into urlkeys."""

    form: IndexLineForm = IndexLineForm.CDX11
    in_order: bool = True
    post_append: bool = False


@dataclass(slots=True)
class IndexReport:
    """The number of files read and lines written, and the read errors."""

    files: int = 0
    lines: int = 0
    errors: list[ReadError] = field(default_factory=list)


def index_together(
    sources: Sequence[ArchiveSource | ReadError],
    output: BinaryIO,
    options: IndexOptions,
    *,
    jobs: int | None = None,
    tmp: Path | None = None,
    progress: ShowProgress = no_progress,
) -> IndexReport:
    """Write one index of all files, with a header line if the form has one.

    `output` is written only after all files are read. Raises SourceError if a file cannot be
    written; the report lists unreadable parts.
    """
    with temporary_folder(tmp) as folder:
        targets = [folder / str(number) for number in range(len(sources))]
        work = _Work(options, Tally(folder / "tally"), header=False)
        report = _index(sources, targets, work, jobs, progress)
        parts = [path for path in targets if path.exists()]
        output.write(header_of(options.form))
        if options.in_order:
            runs: Sequence[SortedRun] = [SortedRun(one.name, one.stat().st_size) for one in parts]
            with Pool(1) as pool:
                runs = joined_runs(folder, runs, _MERGED_BYTES, pool)
            for batch in read_runs(folder, runs, _MERGED_BYTES):
                output.write(b"\n".join([*batch, b""]))
        else:
            for part in parts:
                output.write(part.read_bytes())
    return report


def index_beside(
    sources: Sequence[ArchiveSource | ReadError],
    options: IndexOptions,
    *,
    jobs: int | None = None,
    progress: ShowProgress = no_progress,
) -> IndexReport:
    """Write the index of each file next to it: `NAME.cdx` or `NAME.cdxj`.

    A WACZ gets one index for each WARC in it. An index appears only when it is complete.
    """
    targets = [_beside(source, options.form) for source in sources]
    with temporary_folder(None) as folder:
        work = _Work(options, Tally(folder / "tally"), header=True)
        return _index(sources, targets, work, jobs, progress)


def header_of(form: IndexLineForm) -> bytes:
    """Return the header line of a form, b"" if it has none."""
    layout = _LAYOUTS.get(form)
    return format_header(layout).encode() + b"\n" if layout else b""


def index_lines(
    source: ArchiveSource,
    options: IndexOptions,
    errors: list[ReadError],
    note: Note = lambda done: None,
) -> Iterator[str]:
    """Stream the index lines of a file, without newlines, in file order.

    Faults are added to `errors`. `note` is called at intervals with the bytes read so far.
    """
    file = source.member.rpartition("/")[2] or source.name
    try:
        with source.open() as handle:
            members = open_members(handle)
            scanner = Scanner(members, _KEPT_BYTES, _ask)
            for record, beside in _records(scanner, joined=options.post_append):
                try:
                    line = index_line(record, file, options.form, beside)
                except FormatError as error:
                    kind = "url" if isinstance(error, UrlError) else "date"
                    errors.append(ReadError(source.name, record.offset, kind, str(error)))
                    continue
                if line:
                    note(members.raw.offset)
                    yield line
            errors += [
                ReadError(source.name, fault.offset, fault.kind, fault.message)
                for fault in scanner.faults
            ]
            if members.raw.failure:
                raw = members.raw
                errors.append(ReadError(source.name, raw.offset, raw.failure_kind, raw.failure))
            if source.places:
                errors += contents_of(source).errors
    except (SourceError, *READ_FAILURES) as error:
        errors.append(ReadError(source.name, None, "read", f"cannot be read: {error}"))


def index_of(
    source: ArchiveSource,
    options: IndexOptions,
    errors: list[ReadError],
    note: Note = lambda done: None,
) -> list[bytes]:
    """Return the index lines of a file with newlines, sorted if `options.in_order`."""
    lines = [
        line.encode("utf-8", "surrogateescape") + b"\n"
        for line in index_lines(source, options, errors, note)
    ]
    if options.in_order:
        lines.sort()
    return lines


def _ask(record: Record) -> None:
    """Request the payload digest of a record too long to keep, if it declares none."""
    if record.kind != "request" and not record.fields.get(b"warc-payload-digest"):
        record.ask("sha1", record.http_head().size)


def _records(scanner: Scanner, *, joined: bool) -> Iterator[tuple[Record, Sequence[Record]]]:
    if not joined:
        yield from zip(scanner, repeat(()))
        return
    for group in record_groups(scanner):
        for record in group.beside:
            yield record, ()
        if group.capture is not None:
            yield group.capture, group.beside


@dataclass(frozen=True, slots=True)
class _Work:
    """The state shared by indexing processes."""

    options: IndexOptions
    tally: Tally
    header: bool


def _index(
    sources: Sequence[ArchiveSource | ReadError],
    targets: Sequence[Path],
    work: _Work,
    jobs: int | None,
    progress: ShowProgress,
) -> IndexReport:
    report = IndexReport()
    given = zip(sources, targets, strict=True)
    files = [(source, target) for source, target in given if isinstance(source, ArchiveSource)]
    tasks = [(number, *file, work) for number, file in enumerate(files)]
    sizes = [source.size or 0 for source, _ in files]
    report.errors += [source for source in sources if isinstance(source, ReadError)]
    with (
        work.tally.shown("reading", sizes, progress),
        Pool(_workers([source for source, _ in files], jobs), preload=[__name__]) as pool,
    ):
        for lines, errors in pool.map(_index_one, tasks):
            report.files += 1
            report.lines += lines
            report.errors += errors
    return report


def _workers(sources: Sequence[ArchiveSource], jobs: int | None) -> int:
    worth = sum(source.size or 0 for source in sources) >= _WORTH_PROCESSES_BYTES
    return min(jobs or (processors() if worth else 1), max(1, len(sources)))


def _index_one(
    number: int, source: ArchiveSource, target: Path, work: _Work
) -> tuple[int, list[ReadError]]:
    errors: list[ReadError] = []
    options = work.options
    keep_memory()
    with rare_collections(), work.tally.noting(number) as note:
        lines = index_of(source, options, errors, note)
        note(source.size or 0)
    if lines or not errors:
        with whole_file(target) as stream:
            stream.write(header_of(options.form) if work.header else b"")
            stream.writelines(lines)
    return len(lines), errors


def _beside(source: ArchiveSource | ReadError, form: IndexLineForm) -> Path:
    if isinstance(source, ReadError):
        return Path(source.file)
    end = "cdxj" if form is IndexLineForm.CDXJ else "cdx"
    inner = f".{source.member.rpartition('/')[2]}" if source.member else ""
    return Path(f"{source.path}{inner}.{end}")

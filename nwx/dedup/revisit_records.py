"""Parts of a WARC rewrite: revisit records, checks of replay, and the journal of the run."""

import fcntl
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from nwx.bulk.whole_files import writing
from nwx.errors import FormatError, NwxError, SourceError
from nwx.model import Capture, ReadError
from nwx.warc.members import ZSTD_MAGIC
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource

GZIP_START = b"\x1f\x8b\x08"

_BLOCK_BYTES = 1 << 20
_DROPPED = frozenset(
    (
        "warc-type",
        "warc-target-uri",
        "warc-payload-digest",
        "warc-block-digest",
        "warc-truncated",
        "warc-identified-payload-type",
        "warc-segment-number",
        "content-length",
        "content-type",
    )
)
_WITH_PAYLOAD = ("response", "resource")


@dataclass(frozen=True, slots=True)
class WarcLocation:
    """The location of a stored record, and the URL, timestamp and digest of its capture."""

    path: str
    offset: int
    length: int
    url: str
    timestamp: str
    digest: str


@dataclass(frozen=True, slots=True)
class Original:
    """The capture that a revisit refers to; `record_id` is its WARC-Record-ID, "" if unknown."""

    url: str
    timestamp: str
    record_id: str = ""

    @property
    def warc_date(self) -> str:
        """The timestamp as a WARC-Date."""
        t = self.timestamp
        return f"{t[:4]}-{t[4:6]}-{t[6:8]}T{t[8:10]}:{t[10:12]}:{t[12:14]}Z"


def revisit_record(handle: BinaryIO, digest: str, original: Original) -> bytes:
    """Return a WARC 1.1 revisit record for the response or resource record at `handle`.

    It is stored like the old record, as a gzip member or plain, and keeps its id, date and HTTP
    head, so that references stay valid. Raises FormatError for other records.
    """
    start = handle.tell()
    compressed = handle.read(len(GZIP_START)) == GZIP_START
    handle.seek(start)
    record = stored_record(handle)
    if record.format != "warc":
        raise FormatError(
            f"only WARC records can become revisits, this is an {record.format} record"
        )
    out = BytesIO()
    writer = WARCWriter(out, gzip=False, warc_version="WARC/1.1")
    revisit = writer.create_revisit_record(
        record.rec_headers.get_header("WARC-Target-URI"),
        digest,
        original.url,
        original.warc_date,
        http_headers=record.http_headers and _StoredHead(_head_bytes(handle, start, record)),
        warc_headers_dict=dict(_kept_fields(record)),
    )
    if original.record_id:
        revisit.rec_headers.add_header("WARC-Refers-To", original.record_id)
    writer.write_record(revisit)
    return gzip.compress(out.getvalue(), mtime=0) if compressed else out.getvalue()


class _StoredHead(StatusAndHeaders):  # type: ignore[misc]
    """An HTTP head written as it was stored: warcio would escape values that are not ASCII."""

    def __init__(self, head: bytes) -> None:
        super().__init__("as stored", [])  # warcio takes one without a status for none
        self._head = head

    def compute_headers_buffer(self, header_filter: object = None) -> None:
        """Set the bytes to write."""
        self.headers_buff = self._head


def _head_bytes(handle: BinaryIO, start: int, record: ArcWarcRecord) -> bytes:
    """Return the stored HTTP head of the record at `start`."""
    handle.seek(start)
    block = next(iter(ArchiveIterator(handle, no_record_parse=True))).raw_stream
    head, left = b"", record.length - record.payload_length
    while left and (piece := block.read(left)):
        head += piece
        left -= len(piece)
    return head


def stored_record(handle: BinaryIO) -> ArcWarcRecord:
    """Return the response or resource record at the position of `handle`, payload unread.

    Raises FormatError if there is no such record.
    """
    start = handle.tell()
    if handle.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC:
        raise FormatError("the record is compressed with zstd; decompress the file first")
    handle.seek(start)
    try:
        record = next(iter(ArchiveIterator(handle)), None)
    except (ArchiveLoadFailed, AttributeError) as error:  # the latter for a missing URL
        raise FormatError(f"the stored record cannot be read: {str(error)[:100]}") from error
    if record is None or record.rec_type not in _WITH_PAYLOAD:
        found = "nothing" if record is None else f"{record.format} {record.rec_type}"
        raise FormatError(f"expected a response or a resource, found {found}")
    return record


def _kept_fields(record: ArcWarcRecord) -> Iterator[tuple[str, str]]:
    for name, value in record.rec_headers.headers:
        if name.lower() not in _DROPPED:
            yield name, value


def payload_hash(place: WarcLocation) -> bytes:
    """Return the SHA-256 of a payload without its transfer encoding."""
    with Path(place.path).open("rb") as handle:
        handle.seek(place.offset)
        record = stored_record(handle)
        stream = record.raw_stream
        if _is_chunked(record):
            stream = ChunkedDataReader(stream, decomp_type=None)
        digest = hashlib.sha256()
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.digest()


def _is_chunked(record: ArcWarcRecord) -> bool:
    head = record.http_headers
    return bool(head) and "chunked" in (head.get_header("Transfer-Encoding") or "").lower()


Find = Callable[[str, str, str], WarcLocation | None]
"""Returns the location of the capture with a URL, timestamp and digest, if it is an original."""


def prove(old: ArchiveSource, new: Path, find: Find) -> None:
    """Raise FormatError unless all captures in `new` replay to the same payloads as in `old`.

    Both files are read again from disk. A copied record must be identical byte for byte; a revisit
    that replaces a record must refer, by its own headers, to the same payload.
    """
    pairs = zip_longest(
        replayed_captures(old), replayed_captures(ArchiveSource(old.name, str(new), None))
    )
    for was, now in pairs:
        if was is None or now is None or _identity(was) != _identity(now):
            found = now or was
            raise FormatError(
                f"the capture at {found and found.source_file_offset} is a different one"
            )
        if was.record_type == now.record_type:
            good = _stored(old.path, was) == _stored(str(new), now)
        else:
            found = find(now.refers_to_url, now.refers_to_timestamp, now.digest)
            good = found is not None and payload_hash(found) == payload_hash(
                location_of(old.path, was)
            )
        if not good:
            raise FormatError(f"the capture at {was.source_file_offset} would replay differently")


def replayed_captures(source: ArchiveSource) -> Iterator[Capture]:
    """Return the captures of a file whose records have a known length."""
    return (capture for capture, _ in digested_captures(source, further=False))


def digested_captures(
    source: ArchiveSource, *, further: bool = True
) -> Iterator[tuple[Capture, tuple[str, ...]]]:
    """Yield the captures of `replayed_captures`, with the additional digests of their payloads."""
    for found in ArchiveReader(source, "", keep=lambda capture: False, further=further):
        if isinstance(found, CaptureRecord) and found.capture.record_length:
            yield found.capture, found.further


def location_of(path: str, capture: Capture) -> WarcLocation:
    """Return the location of a capture in the file at `path`."""
    return WarcLocation(
        path,
        capture.source_file_offset,
        capture.record_length or 0,
        capture.url,
        capture.timestamp,
        capture.digest,
    )


def _identity(capture: Capture) -> tuple[str, str, str]:
    return capture.url, capture.timestamp, capture.digest


def _stored(path: str, capture: Capture) -> bytes:
    """Return the SHA-256 of the stored bytes of a record."""
    left, digest = capture.record_length or 0, hashlib.sha256()
    with Path(path).open("rb") as handle:
        handle.seek(capture.source_file_offset)
        while left and (block := handle.read(min(_BLOCK_BYTES, left))):
            digest.update(block)
            left -= len(block)
    return digest.digest()


JOURNAL = ".nwx-dedup-warc"
"""The journal in the output folder; it is kept, so that a finished run is recognised."""

_FINISHED = b"finished\n"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The result for one file; `left` has the duplicates that had to stay, with the reasons.

    `revisits` counts the records that became revisits, `before` listed captures that already were
    revisits. `never_met` counts the entries of the lists that matched no capture of any file.
    """

    source_file: str
    output: str
    revisits: int
    before: int
    bytes_before: int
    bytes_after: int
    left: tuple[ReadError, ...] = ()
    never_met: int = 0

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """Return a report from JSON values."""
        return cls(**found | {"left": tuple(ReadError(**one) for one in found["left"])})


class RewriteJournal:
    """The journal of a run: its files and the reports of finished ones.

    `goes_on` means that an earlier run on the same files was started or finished.
    """

    def __init__(self, stream: IO[bytes], done: dict[str, Rewritten], *, goes_on: bool) -> None:
        self._stream = stream
        self._done = done
        self.goes_on = goes_on

    @property
    def is_begun(self) -> bool:
        """Whether at least one file was written."""
        return bool(self._done)

    def report_of(self, output: Path) -> Rewritten | None:
        """Return the report of a file written by an earlier run, None if it wrote none."""
        report = self._done.get(output.name)
        if report is None or not output.is_file():
            return None
        return report if output.stat().st_size == report.bytes_after else None

    def note(self, report: Rewritten) -> None:
        """Record that a file was written."""
        with writing(Path(self._stream.name)):
            self._stream.write(json.dumps(asdict(report)).encode() + b"\n")
            self._stream.flush()
        self._done[Path(report.output).name] = report


@contextmanager
def rewrite_journal(folder: Path, inputs: Sequence[str]) -> Iterator[RewriteJournal]:
    """Open the journal of a run on these inputs (files and lists).

    Raises SourceError if another process uses the folder, or if it has an unfinished run on other
    inputs.
    """
    path = folder / JOURNAL
    plan = json.dumps(_states(inputs)).encode() + b"\n"
    with writing(path):
        stream = path.open("a+b")
    with stream:
        try:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SourceError(
                f"another process is writing to {folder}; wait for it to end"
            ) from error
        stream.seek(0)
        first, *rest = stream.read().splitlines(keepends=True) or [b""]
        goes_on = first == plan
        if not goes_on and first.endswith(b"\n") and _FINISHED not in rest:
            raise SourceError(
                f"{folder} has an unfinished run on other files or lists;"
                " run that command again, or choose an empty folder"
            )
        if not goes_on:
            with writing(path):
                stream.truncate(0)
                stream.write(plan)
                stream.flush()
        journal = RewriteJournal(stream, _reports(rest) if goes_on else {}, goes_on=goes_on)
        try:
            yield journal
        except NwxError:
            if not journal.is_begun:
                path.unlink(missing_ok=True)
            raise
        with writing(path):
            stream.write(_FINISHED)


def _states(inputs: Sequence[str]) -> list[list[str | int]]:
    """Return the inputs, each with size and modification time, to detect changes."""
    states: list[list[str | int]] = []
    for name in inputs:
        path = Path(name)
        if path.is_file():
            found = path.stat()
            states.append([str(path.resolve()), found.st_size, found.st_mtime_ns])
        else:
            states.append([name])
    return states


def _reports(lines: Sequence[bytes]) -> dict[str, Rewritten]:
    whole = (line for line in lines if line.endswith(b"}\n"))
    reports = [Rewritten.from_json(json.loads(line)) for line in whole]
    return {Path(report.output).name: report for report in reports}

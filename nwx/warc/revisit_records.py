"""A stored record made into a revisit record of another capture of the same payload."""

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord
from warcio.warcwriter import WARCWriter

from nwx.errors import FormatError
from nwx.warc.zstd_members import ZSTD_MAGIC

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
    """Where a stored record lies."""

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
    """Return a WARC 1.1 revisit record for the response or resource record where `handle` stands.

    What is returned is stored as the old record is, as a gzip member or
    plain. It keeps the id, the date and the HTTP head of the old one, so
    that what refers to it still does. Raises FormatError for other records.
    """
    start = handle.tell()
    compressed = handle.read(len(GZIP_START)) == GZIP_START
    handle.seek(start)
    record = stored_record(handle)
    if record.format != "warc":
        raise FormatError(f"only WARC records become revisits, this is of an {record.format}")
    out = BytesIO()
    writer = WARCWriter(out, gzip=False, warc_version="WARC/1.1")
    revisit = writer.create_revisit_record(
        record.rec_headers.get_header("WARC-Target-URI"),
        digest,
        original.url,
        original.warc_date,
        http_headers=record.http_headers,
        warc_headers_dict=dict(_kept_fields(record)),
    )
    if original.record_id:
        revisit.rec_headers.add_header("WARC-Refers-To", original.record_id)
    writer.write_record(revisit)
    return gzip.compress(out.getvalue(), mtime=0) if compressed else out.getvalue()


def stored_record(handle: BinaryIO) -> ArcWarcRecord:
    """Return the response or resource record where `handle` stands, its payload unread.

    Raises FormatError where there is none.
    """
    start = handle.tell()
    if handle.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC:
        raise FormatError("the record is compressed with zstd; decompress the file first")
    handle.seek(start)
    try:
        record = next(iter(ArchiveIterator(handle)), None)
    except ArchiveLoadFailed as error:
        raise FormatError(f"the stored record cannot be read: {str(error)[:100]}") from error
    if record is None or record.rec_type not in _WITH_PAYLOAD:
        found = "nothing" if record is None else f"{record.format} {record.rec_type}"
        raise FormatError(f"a response or a resource is needed, this is {found}")
    return record


def _kept_fields(record: ArcWarcRecord) -> Iterator[tuple[str, str]]:
    for name, value in record.rec_headers.headers:
        if name.lower() not in _DROPPED:
            yield name, value


def payload_hash(place: WarcLocation) -> bytes:
    """Return a hash of a payload without its transfer encoding."""
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

"""A stored record made into a revisit record of another capture of the same payload."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord
from warcio.warcwriter import WARCWriter

from nwx.errors import FormatError

GZIP_MAGIC = b"\x1f\x8b\x08"
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
_MADE_INTO_REVISITS = ("response", "resource")


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
    compressed = handle.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    handle.seek(start)
    record = stored_record(handle)
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
    """Return the WARC response or resource record where `handle` stands, its payload unread.

    Raises FormatError where there is none.
    """
    try:
        record = next(iter(ArchiveIterator(handle)), None)
    except ArchiveLoadFailed as error:
        raise FormatError(f"the stored record cannot be read: {error}") from error
    if record is None or record.format != "warc" or record.rec_type not in _MADE_INTO_REVISITS:
        found = "nothing" if record is None else f"{record.format} {record.rec_type}"
        raise FormatError(f"only WARC responses and resources become revisits, this is {found}")
    return record


def _kept_fields(record: ArcWarcRecord) -> Iterator[tuple[str, str]]:
    for name, value in record.rec_headers.headers:
        if name.lower() not in _DROPPED:
            yield name, value

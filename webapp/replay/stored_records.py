"""Stored records for playback: their bytes, whatever the compression of the file, and headers."""

import io
from contextlib import suppress
from string import printable
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from warcio.recordloader import ArcWarcRecordLoader
from warcio.statusandheaders import StatusAndHeaders
from warcio.timeutils import timestamp_to_iso_date

from nwx.errors import SourceError, TimestampError
from nwx.values.timestamps import normal_timestamp
from nwx.warc.members import record_at
from nwx.warc.sources import ArchiveSource

SCHEME = "nwx"


def stored_address(path: str, member: str) -> str:
    """Return an address for a local archive file, or for a WARC inside the WACZ at `path`."""
    query = f"?{urlencode({'member': member})}" if member else ""
    return f"{SCHEME}://{quote(path)}{query}"


def file_key(collection: str, name: str) -> str:
    """Return the key of a file in playback; two collections may have files of the same name."""
    return f"{quote(collection, safe='')}/{quote(name, safe='')}"


def open_record(address: str, offset: int) -> io.BufferedReader:
    """Return a stream of the record at an offset and all after it, decompressed.

    Raises SourceError, without the file's folder, if it cannot be read or has no record there.
    """
    parts = urlsplit(address)
    member = parse_qs(parts.query).get("member", [""])[0]
    path = unquote(parts.netloc + parts.path)
    name = path.rpartition("/")[2]
    try:
        handle = ArchiveSource(path, path, None, member).open()
    except SourceError as error:
        raise SourceError(str(error).replace(path, name)) from error
    try:
        record = record_at(handle, offset)
        if record is None:
            raise SourceError(
                f"{name} has no record at {offset}: it has changed since its import,"
                " or several of its gzip members hold several records"
            )
    except BaseException:
        handle.close()
        raise
    return record


def complete_headers(record: Any) -> None:
    """Complete the headers of a stored record that pywb needs.

    WARC 1.1 allows dates such as `2021`; an empty response has no HTTP head. Unreadable dates stay.
    pywb sends the URL as a header, in Latin-1, and parses the heads of http and https URLs only.
    """
    headers = record.rec_headers
    url = headers.get_header("WARC-Target-URI") or ""
    headers.replace_header("WARC-Target-URI", quote(url, safe=printable))
    if date := headers.get_header("WARC-Date"):
        with suppress(TimestampError):
            headers.replace_header("WARC-Date", timestamp_to_iso_date(normal_timestamp(date)))
    if record.rec_type != "response" or record.http_headers:
        return
    if url.startswith(ArcWarcRecordLoader.HTTP_SCHEMES):
        head = record.http_headers = StatusAndHeaders("200 OK", [], "HTTP/1.0")
        length = (record.length or 0) + len(head.to_bytes())
        headers.replace_header("Content-Length", str(length))
    else:
        record.rec_type = "resource"

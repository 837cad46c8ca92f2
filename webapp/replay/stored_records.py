"""Stored records for playback: the bytes of one record, whatever its file is compressed with."""

import io
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from nwx.errors import SourceError
from nwx.warc.members import record_at
from nwx.warc.sources import ArchiveSource

SCHEME = "nwx"


def stored_address(path: str, member: str) -> str:
    """Return an address for a local archive file, or for a WARC inside the WACZ at `path`."""
    query = f"?{urlencode({'member': member})}" if member else ""
    return f"{SCHEME}://{quote(path)}{query}"


def file_key(collection: str, name: str) -> str:
    """Return what playback knows a file by; two collections may have files of one name."""
    return f"{quote(collection, safe='')}/{quote(name, safe='')}"


def open_record(address: str, offset: int) -> io.BufferedReader:
    """Return the bytes of the record at an offset and of those after it, decompressed.

    Raises SourceError where the file cannot be read or no record is there.
    """
    parts = urlsplit(address)
    member = parse_qs(parts.query).get("member", [""])[0]
    path = unquote(parts.netloc + parts.path)
    handle = ArchiveSource(path, path, None, member).open()
    try:
        record = record_at(handle, offset)
        if record is None:
            raise SourceError(
                f"{path} has no record at {offset}: it has changed since its import,"
                " or several of its gzip members hold several records"
            )
    except BaseException:
        handle.close()
        raise
    return record

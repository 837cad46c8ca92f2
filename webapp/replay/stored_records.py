"""Stored records for playback: the bytes of one record, whatever the compression of its file."""

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
    """Return the key of a file in playback; two collections may have files of the same name."""
    return f"{quote(collection, safe='')}/{quote(name, safe='')}"


def open_record(address: str, offset: int) -> io.BufferedReader:
    """Return a stream of the record at an offset and all after it, decompressed.

    Raises SourceError if the file cannot be read or has no record there.
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

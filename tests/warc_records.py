"""WARC records built field by field."""

import gzip
from collections.abc import Iterable
from pathlib import Path

RESPONSE = "application/http; msgtype=response"
FIELDS = "application/warc-fields"


def warc_bytes(
    kind: str,
    block: bytes,
    *,
    id: str,
    url: str = "http://a.example/",
    date: str = "2015-01-01T00:00:00Z",
    content_type: str = RESPONSE,
    **fields: str,
) -> bytes:
    """Return a record; additional fields are passed by name, with underscores for hyphens."""
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:x:{id}>",
        *([f"WARC-Target-URI: {url}"] if url else []),
        f"WARC-Date: {date}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items()),
        f"Content-Type: {content_type}",
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def http_response(
    body: bytes, content_type: str = "text/html; charset=utf-8", *headers: str
) -> bytes:
    """Return the block of a response; additional headers are lines."""
    lines = ("HTTP/1.1 200 OK", f"Content-Type: {content_type}", f"Content-Length: {len(body)}")
    return "\r\n".join((*lines, *headers, "", "")).encode() + body


def outlink_lines(*urls: str, context: str = "L a/@href") -> bytes:
    """Return the block of a metadata record as written by Heritrix."""
    head = "via: http://a.example/seed\r\nhopsFromSeed: L\r\nfetchTimeMs: 11\r\n"
    return (head + "".join(f"outlink: {url} {context}\r\n" for url in urls) + "\r\n").encode()


def write_records(path: Path, records: Iterable[bytes]) -> Path:
    """Write records, one gzip member each, and return the path of the file."""
    path.write_bytes(b"".join(gzip.compress(record, 6, mtime=0) for record in records))
    return path

"""Small archive files, built record by record."""

import base64
import gzip
import hashlib
import io
import struct
from dataclasses import dataclass
from typing import BinaryIO

import zstandard

from nwx.model import Capture, ReadError
from nwx.warc.reader import ArchiveReader, CaptureRecord


@dataclass(frozen=True, slots=True)
class Stored:
    """An archive file in memory."""

    data: bytes
    name: str = "made.warc.gz"

    def open(self) -> BinaryIO:
        """Return a stream of its bytes."""
        return io.BytesIO(self.data)


class Piped(io.BytesIO):
    """An unseekable stream, like a pipe."""

    def seekable(self) -> bool:
        return False

    def seek(self, offset: int, whence: int = 0) -> int:
        raise io.UnsupportedOperation("a pipe")


def sha1(data: bytes) -> str:
    """Return the normalized digest of data."""
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def warc(
    block: bytes,
    kind: str = "response",
    url: str = "http://www.example.org/",
    *,
    date: str = "2020-01-02T03:04:05Z",
    length: int | str | None = None,
    version: str = "WARC/1.0",
    **fields: str,
) -> bytes:
    """Return a WARC record; underscores in names of additional fields stand for hyphens."""
    size = len(block) if length is None else length
    lines = [version, f"WARC-Type: {kind}", f"WARC-Target-URI: {url}", f"WARC-Date: {date}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    head = "\r\n".join([*lines, f"Content-Length: {size}", "", ""]).encode()
    return head + block + b"\r\n\r\n"


def http(body: bytes, *lines: str, status: str = "HTTP/1.1 200 OK") -> bytes:
    """Return an HTTP response."""
    head = "\r\n".join([status, *(lines or ("Content-Type: text/html",)), "", ""])
    return head.encode() + body


def zipped(*records: bytes) -> bytes:
    """Return records as gzip members."""
    return b"".join(gzip.compress(record, mtime=0) for record in records)


def read(data: bytes, **options: object) -> tuple[list[CaptureRecord], list[ReadError]]:
    """Return the captures and the errors of a file."""
    found = list(ArchiveReader(Stored(data), "test", **options))  # type: ignore[arg-type]
    captures = [item for item in found if isinstance(item, CaptureRecord)]
    return captures, [item for item in found if isinstance(item, ReadError)]


def one(data: bytes) -> Capture:
    """Return the only capture of a file without errors."""
    (found,), errors = read(data)
    assert not errors
    return found.capture


def pages(count: int = 10) -> list[bytes]:
    """Return response records of different pages."""
    return [
        warc(http(f"<p>{number}</p>".encode() * 50), url=f"http://example.org/{number}")
        for number in range(count)
    ]


def _dictionary() -> zstandard.ZstdCompressionDict:
    return zstandard.train_dictionary(2048, [f"WARC/1.0 {n} ".encode() * 20 for n in range(200)])


def zstd_with_dictionary(records: list[bytes], *, compressed: bool) -> bytes:
    """Return records as zstd frames after a dictionary, which is raw or compressed."""
    dictionary = _dictionary()
    stored = dictionary.as_bytes()
    if compressed:
        stored = zstandard.ZstdCompressor().compress(stored)
    head = struct.pack("<II", 0x184D2A5D, len(stored)) + stored
    return head + b"".join(
        zstandard.ZstdCompressor(dict_data=dictionary).compress(record) for record in records
    )


def zstd(records: list[bytes]) -> bytes:
    """Return each record as a frame with a checksum."""
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    return b"".join(compressor.compress(record) for record in records)

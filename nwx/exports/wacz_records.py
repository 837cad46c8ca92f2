"""Copying of stored records into gzipped WARCs: unchanged if possible, else rewritten."""

import hashlib
import io
import json
import re
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, BinaryIO

from isal import igzip_lib, isal_zlib

from nwx.errors import FormatError
from nwx.model import Capture
from nwx.values.codings import INFLATE_ERRORS
from nwx.values.timestamps import parse_timestamp
from nwx.warc.gzip_members import GZIP_MAGIC
from nwx.warc.members import is_damaged, record_at
from nwx.warc.sources import ArchiveSource

WACZ_VERSION = "1.1.1"


@dataclass(frozen=True, slots=True)
class Resource:
    """A file of the WACZ."""

    path: str
    hash: str
    bytes: int


class HashedFile:
    """A file that is being written; `size` is the number of bytes written so far."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write bytes and return their offset."""
        begin = self.size
        self._stream.write(data)
        self._hash.update(data)
        self.size += len(data)
        return begin

    def digest(self) -> str:
        """Return the checksum of the bytes written."""
        return f"sha256:{self._hash.hexdigest()}"


class WaczWriter:
    """Writes files into a WACZ one after the other; `finish` adds the list of them.

    `stream` must be seekable.
    """

    def __init__(self, stream: BinaryIO, made: datetime) -> None:
        self._zip = zipfile.ZipFile(stream, "w", allowZip64=True)
        self._made = made
        self.resources: list[Resource] = []

    @contextmanager
    def entry(self, path: str, *, deflated: bool = False) -> Iterator[HashedFile]:
        """Yield a new file to write, compressed if `deflated`, else stored."""
        info = zipfile.ZipInfo(path, self._made.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
        with self._zip.open(info, "w", force_zip64=True) as stream:
            entry = HashedFile(stream)
            yield entry
        self.resources.append(Resource(path, entry.digest(), entry.size))

    def finish(self, about: dict[str, Any]) -> None:
        """Write `datapackage.json`, with `about` and all files, and its checksum; close."""
        package = {
            "profile": "data-package",
            "resources": [
                {
                    "name": each.path.rpartition("/")[2],
                    "path": each.path,
                    "hash": each.hash,
                    "bytes": each.bytes,
                }
                for each in self.resources
            ],
            "wacz_version": WACZ_VERSION,
            "created": f"{self._made:%Y-%m-%dT%H:%M:%SZ}",
            **{name: value for name, value in about.items() if value},
        }
        with self.entry("datapackage.json", deflated=True) as entry:
            entry.write(json.dumps(package, indent=2, ensure_ascii=False).encode())
        digest = {"path": "datapackage.json", "hash": entry.digest()}
        with self.entry("datapackage-digest.json", deflated=True) as last:
            last.write(json.dumps(digest, indent=2).encode())
        self.close()

    def close(self) -> None:
        """Close the zip file; may be called twice."""
        self._zip.close()


_BLOCK_BYTES = 1 << 18
_MOST_HEAD_BYTES = 1 << 20
_LENGTH = re.compile(rb"\nContent-Length:[ \t]*([0-9]{1,15})[ \t]*\r?\n", re.I)
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_ARC_LENGTH = re.compile(rb".*[ ]([0-9]{1,15})\r?\n", re.S)
_BREAKS = re.compile(r"[\x00-\x1f]+")
_RECORD_END = b"\r\n\r\n"
_HTTP = b"HTTP"
_LEVEL = 2


def copied_record(source: ArchiveSource, handle: BinaryIO, capture: Capture) -> Iterator[bytes]:
    """Yield the record of a capture as a separate gzip member, in pieces.

    `handle` is the stored file `source`, open. Raises FormatError if no whole record exists at the
    capture's place, possibly after some pieces.
    """
    offset, length = capture.source_file_offset, capture.record_length
    if length and _stands_alone(handle, offset, length):
        handle.seek(offset)
        yield from _exactly(handle, length)
        return
    stored = source.open()
    record = record_at(stored, offset)
    if record is None:
        stored.close()
        raise FormatError.translated(
            "no record at its offset; has the file changed since its import?"
        )
    with record:
        yield from _compressed(_whole(record, capture))


def new_record(kind: str, fields: dict[str, str], block: bytes, version: str = "1.1") -> bytes:
    """Return a WARC record as a gzip member."""
    head = _head(kind, fields, len(block), version)
    return b"".join(_compressed(iter([head, block, _RECORD_END])))


def _stands_alone(handle: BinaryIO, offset: int, length: int) -> bool:
    """Return whether these bytes are one gzip member of one WARC record."""
    handle.seek(0)
    if handle.read(len(GZIP_MAGIC)) != GZIP_MAGIC:
        return False
    handle.seek(offset)
    decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    head, size, left = b"", 0, length
    while not decoder.eof:
        given = b""
        if decoder.needs_input:
            given = handle.read(min(_BLOCK_BYTES, left))
            left -= len(given)
            if not given:
                return False
        try:
            piece = decoder.decompress(given, _BLOCK_BYTES)
        except INFLATE_ERRORS:
            return False
        size += len(piece)
        if len(head) < _MOST_HEAD_BYTES and not _HEAD_END.search(head):
            head += piece
    found = _HEAD_END.search(head)
    if left or decoder.unused_data or not found or not head.startswith(b"WARC/"):
        return False
    told = _LENGTH.search(head[: found.end()])
    return told is not None and size == found.end() + int(told[1]) + len(_RECORD_END)


def _exactly(stream: BinaryIO, length: int) -> Iterator[bytes]:
    """Yield `length` bytes of a stream; raises FormatError if it ends before."""
    while length > 0:
        block = stream.read(min(_BLOCK_BYTES, length))
        if not block:
            raise FormatError.translated("the record is %(length)s bytes too short", length=length)
        length -= len(block)
        yield block


def _whole(record: io.BufferedReader, capture: Capture) -> Iterator[bytes]:
    """Yield a WARC record unchanged, an ARC record converted to WARC."""
    line = record.readline(_MOST_HEAD_BYTES)
    if line.startswith(b"WARC/"):
        head = line
        while line not in (b"\r\n", b"\n"):
            line = record.readline(_MOST_HEAD_BYTES)
            head += line
            if not line or len(head) > _MOST_HEAD_BYTES:
                raise FormatError.translated("the header of the record is not terminated")
        told = _LENGTH.search(head)
        length = int(told[1]) if told else 0
    else:
        told = _ARC_LENGTH.fullmatch(line)
        if told is None:
            raise FormatError.translated(
                "%(line)s is not the start of a record", line=repr(line[:40])
            )
        length = int(told[1])
        start = b"".join(_exactly(record, min(length, len(_HTTP))))
        head = _arc_record_head(capture, length, has_head=start.upper() == _HTTP) + start
        length -= len(start)
    yield head
    yield from _exactly(record, length)
    record.read(len(_RECORD_END) + 1)  # to the end of the member, where its checksum is compared
    if is_damaged(record):
        raise FormatError.translated("the compressed data of the record are damaged")
    yield _RECORD_END


def _arc_record_head(capture: Capture, length: int, *, has_head: bool) -> bytes:
    """Return a WARC head with the values of an ARC record.

    A block without an HTTP head is a resource: in a response, tools expect a head.
    """
    is_http = capture.record_type == "response" and capture.url.lower().startswith("http")
    fields = {
        "WARC-Target-URI": capture.url,
        "WARC-Date": f"{parse_timestamp(capture.timestamp):%Y-%m-%dT%H:%M:%SZ}",
        "Content-Type": capture.content_type,
        "WARC-Payload-Digest": capture.digest,
    }
    if is_http and has_head:
        fields["Content-Type"] = "application/http; msgtype=response"
    kind = "resource" if is_http and not has_head else capture.record_type
    return _head(kind, fields, length)


def _head(kind: str, fields: dict[str, str], length: int, version: str = "1.1") -> bytes:
    lines = [
        f"WARC/{version}",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>",
        *(f"{name}: {_BREAKS.sub(' ', value)}" for name, value in fields.items() if value),
        f"Content-Length: {length}",
    ]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"


def _compressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    encoder: Any = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, 31)
    for piece in pieces:
        if data := encoder.compress(piece):
            yield data
    yield encoder.flush()

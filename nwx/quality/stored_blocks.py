"""Reading of the block of a stored record by the place of its capture, and of images."""

import io
from collections.abc import Callable
from typing import NamedTuple

from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.errors import FormatError, SourceError, TimestampError, UrlError
from nwx.model import Capture
from nwx.values.http import NO_HEAD, decode_body, response_head
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url
from nwx.warc.members import is_damaged, record_at
from nwx.warc.record import MAX_HEAD_BYTES, WARC_MAGIC, Head, arc_head, warc_head
from nwx.warc.sources import ArchiveSource, FilePlaces

_RECORD_END = 5


class StoredBlock(NamedTuple):
    """The head of a record, its block, and the lines of the head as they are stored."""

    head: Head
    block: bytes
    lines: bytes


def block_of_capture(places: FilePlaces, capture: Capture, limit: int) -> StoredBlock:
    """Return the stored block of a capture, of at most `limit` bytes.

    Raises SourceError if its file cannot be read, and FormatError if another or a damaged record is
    in its place, or the block is longer.
    """
    path = places.path(capture.collection, capture.source_file)
    if path is None:
        raise SourceError.translated(
            "the location of %(source_file)s is unknown", source_file=capture.source_file
        )
    member = capture.source_file.partition("#")[2]
    source = ArchiveSource(capture.source_file, path, None, member)
    offset = capture.source_file_offset
    return block_at(source, offset, limit, lambda uri: uri == capture.url)


def block_at(
    source: ArchiveSource, offset: int, limit: int, is_wanted: Callable[[str], bool]
) -> StoredBlock:
    """Return the block of the record at an offset, if `is_wanted` accepts its target URI.

    Raises as `block_of_capture` does.
    """
    try:
        with _record(source, offset) as record:
            return _parts(record, limit, is_wanted)
    except FormatError as error:
        raise FormatError(error.text, source.name, offset) from error
    except (OSError, EOFError) as error:
        raise SourceError.translated(
            "%(path)s cannot be read: %(reason)s", path=source.path, reason=error
        ) from error


def _record(source: ArchiveSource, offset: int) -> io.BufferedReader:
    handle = source.open()
    try:
        record = record_at(handle, offset)
        if record is None:
            raise FormatError.translated("there is no record at its place")
    except BaseException:
        handle.close()
        raise
    return record


def _parts(record: io.BufferedReader, limit: int, is_wanted: Callable[[str], bool]) -> StoredBlock:
    """Return the head and the block of a record; raises FormatError above `limit`."""
    head, lines = _head(record)
    if head is None or not is_wanted(target_uri_of(head)):
        raise FormatError.translated("there is another record at its place")
    length = head.length or 0
    if length > limit:
        raise FormatError.translated(
            "the record has %(length)s bytes; at most %(limit)s are read",
            length=length,
            limit=limit,
        )
    block = record.read(length)
    record.read(_RECORD_END)  # so that the checksum of the member is compared
    if len(block) < length or is_damaged(record):
        raise FormatError.translated("the record is damaged")
    return StoredBlock(head, block, lines)


def _head(record: io.BufferedReader) -> tuple[Head | None, bytes]:
    lines = record.readline(MAX_HEAD_BYTES)
    if not lines.startswith(WARC_MAGIC):
        return arc_head(lines), lines
    while (line := record.readline(MAX_HEAD_BYTES)) not in (b"\r\n", b"\n", b""):
        lines += line
        if len(lines) > MAX_HEAD_BYTES:
            return None, lines
    return warc_head(lines, 0, len(lines)), lines


def target_uri_of(head: Head) -> str:
    """Return the target URI of a record as in captures, "" if it has none."""
    try:
        return clean_url(head.fields.get(b"warc-target-uri"))
    except UrlError:
        return ""


MOST_IMAGE_BYTES = 32 << 20
"""The longest image that is read, stored and decoded."""

DECODED_TYPES = frozenset(
    (
        "image/png",
        "image/apng",
        "image/jpeg",
        "image/jpg",
        "image/pjpeg",
        "image/gif",
        "image/webp",
        "image/bmp",
        "image/x-ms-bmp",
        "image/x-icon",
        "image/vnd.microsoft.icon",
        "image/avif",
    )
)
"""The content types of images that can be decoded."""

_NEAR = 16
_SUCCESS = 200
_REVISIT = "revisit"


def find_image(engine: Engine, url: str, timestamp: str) -> Capture | None:
    """Return the capture of an image nearest to a time, None for a URL without one.

    For a revisit, it is the capture with the same payload.
    """
    try:
        asked = KeysAtTime((urlkey(url),), normal_timestamp(timestamp))
    except (UrlError, TimestampError):
        return None
    (near,) = engine.captures_near([asked], _NEAR)
    for capture in near:
        if capture.record_type == _REVISIT:
            original = next(engine.originals_of(capture), None)
            if original is not None and is_decoded(original):
                return original
        elif is_decoded(capture):
            return capture
    return None


def is_decoded(capture: Capture) -> bool:
    """Return whether a capture is a decodable image, by its media type and status."""
    return capture.content_type in DECODED_TYPES and capture.status_code in (_SUCCESS, None)


def read_image(places: FilePlaces, capture: Capture, limit: int = MOST_IMAGE_BYTES) -> bytes:
    """Return the payload of a captured image, with its content codings decoded.

    Raises SourceError if its file cannot be read, and FormatError if another or a damaged record is
    in its place, or the payload is longer than `limit`.
    """
    head, block, _ = block_of_capture(places, capture, limit)
    http = response_head(block) if head.kind == "response" else NO_HEAD
    decoded = decode_body(http, memoryview(block)[http.size :], limit)
    if decoded.cut:
        raise FormatError.translated("the image has more than %(limit)s bytes", limit=limit)
    return decoded.data

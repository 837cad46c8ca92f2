"""The bytes of renders, read from the archive's files."""

import io
from dataclasses import dataclass

from nwx.engine.file_places import FilePlaces
from nwx.errors import FormatError, SourceError, UrlError
from nwx.model import Capture
from nwx.values.http import media_type, to_text
from nwx.values.render_names import RenderKind, render_name
from nwx.values.urls import clean_url
from nwx.warc.placed_record import is_damaged, record_at
from nwx.warc.record_heads import MAX_HEAD_BYTES, Head, warc_head
from nwx.warc.sources import ArchiveSource

MOST_RENDER_BYTES = 64 << 20
"""The longest render that is read: a picture of a very long page, a HAR with all bodies."""

RENDERED_FROM = b"nwx-rendered-from"
"""The field of a record that says what was rendered: playback, or the live web."""

_RECORD_END = 5


@dataclass(frozen=True, slots=True)
class StoredRender:
    """A render with its bytes.

    `media_type` is lower case, without parameters. `rendered_from` is
    "playback" or "live" for renders that nwx made, "" for those of crawls.
    """

    kind: RenderKind
    url: str
    timestamp: str
    media_type: str
    payload: bytes
    rendered_from: str = ""


def read_render(
    places: FilePlaces, capture: Capture, limit: int = MOST_RENDER_BYTES
) -> StoredRender:
    """Return the render that a capture is.

    Raises SourceError where its file cannot be read, and FormatError where
    another record or a damaged one is in its place, and for one with more
    than `limit` bytes.
    """
    name = render_name(capture.url)
    if name is None:
        raise FormatError(f"{capture.url[:80]!r} is no render of a page")
    path = places.path(capture.collection, capture.source_file)
    if path is None:
        raise SourceError(f"nobody knows where {capture.source_file} is")
    head, payload = _read(path, capture, limit)
    content_type = media_type(to_text(head.fields.get(b"content-type")))
    origin = to_text(head.fields.get(RENDERED_FROM))
    return StoredRender(name.kind, name.url, capture.timestamp, content_type, payload, origin)


def _read(path: str, capture: Capture, limit: int) -> tuple[Head, bytes]:
    member = capture.source_file.partition("#")[2]
    source = ArchiveSource(capture.source_file, path, None, member)
    offset = capture.source_file_offset
    try:
        handle = source.open()
        try:
            record = record_at(handle, offset)
        except BaseException:
            handle.close()
            raise
        if record is None:
            handle.close()
            raise FormatError("no record is at its place", capture.source_file, offset)
        with record:
            return _parts(record, capture, limit)
    except (OSError, EOFError) as error:
        raise SourceError(f"{path} cannot be read: {error}") from error


def _parts(record: io.BufferedReader, capture: Capture, limit: int) -> tuple[Head, bytes]:
    """Return the head and the block of a record, looked at before more is read."""
    head = _head(record)
    file, offset = capture.source_file, capture.source_file_offset
    if head is None or not _is_of(head, capture):
        raise FormatError("another record is in the place of the render", file, offset)
    length = head.length or 0
    if length > limit:
        message = f"the render has {length:,} bytes, {limit:,} are read"
        raise FormatError(message, file, offset)
    block = record.read(length)
    record.read(_RECORD_END)  # up to where the checksum of a member is compared
    if len(block) < length or is_damaged(record):
        raise FormatError("the record of the render is damaged", file, offset)
    return head, block


def _head(record: io.BufferedReader) -> Head | None:
    lines = record.readline(MAX_HEAD_BYTES)
    while (line := record.readline(MAX_HEAD_BYTES)) not in (b"\r\n", b"\n", b""):
        lines += line
        if len(lines) > MAX_HEAD_BYTES:
            return None
    return warc_head(lines, 0, len(lines))


def _is_of(head: Head, capture: Capture) -> bool:
    try:
        return clean_url(head.fields.get(b"warc-target-uri")) == capture.url
    except UrlError:
        return False

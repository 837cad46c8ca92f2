"""The bytes of renders, read from the archive's files."""

import io
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from nwx.engine.file_places import FilePlaces
from nwx.errors import FormatError, SourceError, TimestampError, UrlError
from nwx.model import Capture, RenderPlace
from nwx.values.http import media_type, to_text
from nwx.values.render_names import RenderKind, RenderName, render_keys, render_name
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey
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

    `timestamp` is "" where the record has a damaged date. `media_type` is
    lower case, without parameters. `rendered_from` is "playback" or "live"
    for renders that nwx made, "" for those of crawls.
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
    if render_name(capture.url) is None:
        raise FormatError(f"{capture.url[:80]!r} is no render of a page")
    path = places.path(capture.collection, capture.source_file)
    if path is None:
        raise SourceError(f"nobody knows where {capture.source_file} is")
    member = capture.source_file.partition("#")[2]
    source = ArchiveSource(capture.source_file, path, None, member)
    found = _read(source, capture.source_file_offset, limit, lambda uri: uri == capture.url)
    return replace(found, timestamp=capture.timestamp)


def read_placed_render(
    place: RenderPlace, url: str, kinds: Collection[RenderKind], limit: int = MOST_RENDER_BYTES
) -> StoredRender:
    """Return the render at a place, one of some kinds of a page.

    The render may be named after another spelling of `url` (http, https,
    with or without www). Raises SourceError and FormatError as
    `read_render` does.
    """
    path, member = place.path, ""
    if not Path(path).exists() and "#" in path:
        path, _, member = path.partition("#")
    source = ArchiveSource(Path(path).name, path, None, member)

    keys = render_keys(url, kinds)
    return _read(source, place.offset, limit, lambda uri: urlkey(uri) in keys)


def _read(
    source: ArchiveSource, offset: int, limit: int, is_wanted: Callable[[str], bool]
) -> StoredRender:
    """Return the render at an offset, if its target URI is wanted."""
    try:
        handle = source.open()
        try:
            record = record_at(handle, offset)
        except BaseException:
            handle.close()
            raise
        if record is None:
            handle.close()
            raise FormatError("no record is at its place", source.name, offset)
        with record:
            head = _head(record)
            uri = _target_uri(head) if head else ""
            name = render_name(uri)
            if head is None or name is None or not is_wanted(uri):
                message = "another record is in the place of the render"
                raise FormatError(message, source.name, offset)
            return _stored(name, head, _block(record, head, limit, source.name, offset))
    except (OSError, EOFError) as error:
        raise SourceError(f"{source.path} cannot be read: {error}") from error


def _stored(name: RenderName, head: Head, payload: bytes) -> StoredRender:
    content_type = media_type(to_text(head.fields.get(b"content-type")))
    origin = to_text(head.fields.get(RENDERED_FROM))
    return StoredRender(name.kind, name.url, _timestamp(head), content_type, payload, origin)


def _timestamp(head: Head) -> str:
    try:
        return normal_timestamp(to_text(head.fields.get(b"warc-date")))
    except TimestampError:
        return ""


def _block(record: io.BufferedReader, head: Head, limit: int, file: str, offset: int) -> bytes:
    length = head.length or 0
    if length > limit:
        message = f"the render has {length:,} bytes, {limit:,} are read"
        raise FormatError(message, file, offset)
    block = record.read(length)
    record.read(_RECORD_END)  # up to where the checksum of a member is compared
    if len(block) < length or is_damaged(record):
        raise FormatError("the record of the render is damaged", file, offset)
    return block


def _head(record: io.BufferedReader) -> Head | None:
    lines = record.readline(MAX_HEAD_BYTES)
    while (line := record.readline(MAX_HEAD_BYTES)) not in (b"\r\n", b"\n", b""):
        lines += line
        if len(lines) > MAX_HEAD_BYTES:
            return None
    return warc_head(lines, 0, len(lines))


def _target_uri(head: Head) -> str:
    try:
        return clean_url(head.fields.get(b"warc-target-uri"))
    except UrlError:
        return ""

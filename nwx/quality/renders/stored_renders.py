"""The bytes of renders, read from the archive's files."""

from dataclasses import dataclass

from nwx.engine.file_places import FilePlaces
from nwx.errors import FormatError, TimestampError
from nwx.model import Capture, RenderPlace
from nwx.quality.stored_blocks import StoredBlock, block_at, block_of_capture
from nwx.values.http import media_type, to_text
from nwx.values.render_names import RenderKind, RenderName, render_name
from nwx.values.timestamps import normal_timestamp
from nwx.warc.sources import ArchiveSource

MOST_RENDER_BYTES = 64 << 20
"""The longest render that is read: a picture of a very long page, a HAR with all bodies."""

RENDERED_FROM = b"nwx-rendered-from"
"""The field of a record that says what was rendered: playback, or the live web."""


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
    name = _name(capture.url)
    return _render(name, capture.timestamp, block_of_capture(places, capture, limit))


def render_at(place: RenderPlace, limit: int = MOST_RENDER_BYTES) -> StoredRender:
    """Return the render at a place that was noted; raises as `read_render` does."""
    stored = block_at(ArchiveSource(place.path, place.path, None), place.offset, limit)
    fields = stored.head.fields
    try:
        timestamp = normal_timestamp(to_text(fields.get(b"warc-date")))
    except TimestampError:
        timestamp = ""
    return _render(_name(to_text(fields.get(b"warc-target-uri"))), timestamp, stored)


def _name(uri: str) -> RenderName:
    name = render_name(uri)
    if name is None:
        raise FormatError(f"{uri[:80]!r} is no render of a page")
    return name


def _render(name: RenderName, timestamp: str, stored: StoredBlock) -> StoredRender:
    fields = stored.head.fields
    content_type = media_type(to_text(fields.get(b"content-type")))
    origin = to_text(fields.get(RENDERED_FROM))
    return StoredRender(name.kind, name.url, timestamp, content_type, stored.block, origin)

"""The bytes of renders, read from the archive's files."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from nwx.engine.file_places import FilePlaces
from nwx.errors import ErrorText, FormatError, TimestampError
from nwx.model import Capture, RenderPlace
from nwx.quality.stored_blocks import StoredBlock, block_at, block_of_capture, target_uri_of
from nwx.values.http import media_type, to_text
from nwx.values.render_names import RenderKind, RenderName, render_keys, render_name
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey
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

    def is_wanted(uri: str) -> bool:
        return render_name(uri) is not None and urlkey(uri) in keys

    stored = block_at(source, place.offset, limit, is_wanted)
    return _render(_name(target_uri_of(stored.head)), _timestamp(stored), stored)


def _name(uri: str) -> RenderName:
    name = render_name(uri)
    if name is None:
        raise FormatError(ErrorText("%(uri)s is no render of a page", uri=repr(uri[:80])))
    return name


def _render(name: RenderName, timestamp: str, stored: StoredBlock) -> StoredRender:
    fields = stored.head.fields
    content_type = media_type(to_text(fields.get(b"content-type")))
    origin = to_text(fields.get(RENDERED_FROM))
    return StoredRender(name.kind, name.url, timestamp, content_type, stored.block, origin)


def _timestamp(stored: StoredBlock) -> str:
    try:
        return normal_timestamp(to_text(stored.head.fields.get(b"warc-date")))
    except TimestampError:
        return ""

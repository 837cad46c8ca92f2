"""Reading of renders from archive files, and the choice of pictures for documents."""

import threading
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cachetools import TTLCache, cachedmethod

from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.errors import FormatError, SourceError, TimestampError, UrlError
from nwx.model import Capture, Document, Hit, RenderPlace
from nwx.quality.stored_blocks import (
    DECODED_TYPES,
    StoredBlock,
    block_at,
    block_of_capture,
    find_image,
    target_uri_of,
)
from nwx.values.http import media_type, to_text
from nwx.values.render_names import (
    RENDER_KEY_STARTS,
    RenderKind,
    RenderName,
    render_keys,
    render_name,
)
from nwx.values.timestamps import normal_timestamp, seconds_between
from nwx.values.urlkeys import urlkey
from nwx.warc.gzip_members import GzipMembers
from nwx.warc.sources import ArchiveSource, FilePlaces
from nwx.warc.stored_bytes import Raw

MOST_RENDER_BYTES = 64 << 20
"""The longest render that is read: a picture of a very long page, a HAR with all bodies."""

RENDERED_FROM = b"nwx-rendered-from"
"""The field of a record with the source of a render: playback, or the live web."""


@dataclass(frozen=True, slots=True)
class StoredRender:
    """A render with its bytes.

    `media_type` is lower case, without parameters. `rendered_from` is "playback" or "live" for
    renders made by nwx, "" for renders of crawls.
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
    """Return the render stored as a capture.

    Raises SourceError if its file cannot be read, and FormatError if another or a damaged record is
    in its place, or it has more than `limit` bytes.
    """
    name = _name(capture.url)
    return _render(name, capture.timestamp, block_of_capture(places, capture, limit))


def read_placed_render(
    place: RenderPlace, url: str, kinds: Collection[RenderKind], limit: int = MOST_RENDER_BYTES
) -> StoredRender:
    """Return the render at a place, of one of these kinds.

    The render may have another spelling of `url` (http, https, with or without www). Raises
    SourceError and FormatError as `read_render` does.
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
        raise FormatError.translated("%(uri)s is not a render of a page", uri=repr(uri[:80]))
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


_HEAD_BYTES = 1 << 16


class RenderedPage(NamedTuple):
    """A page whose renders are in a file: its URL, and its time in 14 digits."""

    url: str
    timestamp: str


class _Member(NamedTuple):
    """A complete gzip member: its end offset and the first bytes of its content."""

    end: int
    head: bytes


def whole_bytes(path: Path) -> int:
    """Return the length of a file up to the end of its last complete record.

    Raises SourceError if it does not begin as a WARC file of gzip members, or cannot be read.
    """
    end = 0
    for member in _members(path):
        end = member.end
    return end


def rendered_pages(path: Path) -> set[RenderedPage]:
    """Return the finished pages in a file of renders, none without a file.

    A page is finished once it has page information, which is written last.
    """
    if not path.exists():
        return set()
    return {page for member in _members(path) if (page := _page(member.head)) is not None}


def _page(head: bytes) -> RenderedPage | None:
    """Return the page whose page information a record is, None for all other records."""
    fields = dict(_field(line) for line in head.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:])
    name = render_name(fields.get("warc-target-uri", ""))
    if name is None or name.kind is not RenderKind.PAGEINFO:
        return None
    try:
        return RenderedPage(name.url, normal_timestamp(fields.get("warc-date", "")))
    except TimestampError:
        return None


def _field(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("utf-8", "replace").partition(":")
    return name.strip().lower(), value.strip()


def _members(path: Path) -> Iterator[_Member]:
    with SourceError.instead_of(OSError, f"{path} cannot be read"), path.open("rb") as handle:
        if handle.read(2) not in (b"\x1f\x8b", b""):
            raise SourceError(f"{path} is not a WARC file of gzip members; name another file")
        handle.seek(0)
        members = GzipMembers(Raw(handle))
        while members.next():
            head = members.data[:_HEAD_BYTES]
            members.skip()
            if members.faults:
                return
            if head.startswith(b"WARC/"):
                yield _Member(members.end, head)


MOST_NEAR = 200
"""Captures of a page and its renders that are examined, those nearest to a moment."""

MOST_NEAR_SHOWN = 32
"""The same if only a picture is needed."""

SHOWN_KINDS = (
    RenderKind.THUMBNAIL,
    RenderKind.VIEW,
    RenderKind.FULL_PAGE,
    RenderKind.SNAPSHOT,
)
"""The kinds of renders used as the picture of a page, by preference."""

_REVISIT = "revisit"
_IMAGE = "image"


class PageMoment(NamedTuple):
    """A page at a time: its URL, and the timestamp of a capture of it.

    `dates` are other timestamps of captures with the same content: renders of these captures
    belong to it too.
    """

    url: str
    timestamp: str
    dates: tuple[str, ...] = ()


class FoundRender(NamedTuple):
    """A render of a page at a time: its kind and its capture."""

    kind: RenderKind
    capture: Capture


def has_renders(engine: Engine) -> bool:
    """Return whether an archive has any renders, by a short query to its capture index."""
    return engine.has_keys(RENDER_KEY_STARTS)


def find_renders(
    engine: Engine, url: str, timestamp: str, collection: str = ""
) -> dict[RenderKind, list[Capture]]:
    """Return the renders of a page captured at a time, nearest in time first.

    Renders nearer to another capture of the page are left out, and so are revisits, which have no
    bytes. `collection` limits them to one collection, "" is all. Kinds without a render are not
    keys.
    """
    (found,) = renders_of_pages(engine, [PageMoment(url, timestamp)])
    by_kind: dict[RenderKind, list[Capture]] = {}
    for kind, capture in found:
        if collection in ("", capture.collection):
            by_kind.setdefault(kind, []).append(capture)
    return by_kind


def find_pictures(engine: Engine, pages: Sequence[PageMoment]) -> list[Capture | None]:
    """Return the preview render of each of these pages, None for pages without one.

    A thumbnail, else a view, else an image of the whole page. One query to the engine, for any
    number of pages.
    """
    found = renders_of_pages(engine, pages, SHOWN_KINDS, MOST_NEAR_SHOWN)
    return [picture_of(renders) for renders in found]


def picture_of(renders: Iterable[FoundRender]) -> Capture | None:
    """Return the render used as the picture of a page, None if no render is a picture."""
    best: dict[RenderKind, Capture] = {}
    for kind, capture in renders:
        if capture.content_type_norm == _IMAGE:
            best.setdefault(kind, capture)
    return next((best[kind] for kind in SHOWN_KINDS if kind in best), None)


def renders_of_pages(
    engine: Engine,
    pages: Sequence[PageMoment],
    kinds: Sequence[RenderKind] = tuple(RenderKind),
    most: int = MOST_NEAR,
) -> list[list[FoundRender]]:
    """Return the renders of each of these pages, nearest in time first, by one query.

    Only the `most` captures of the page and its renders that are nearest to its moment are
    considered; see `find_renders`.
    """
    asked = {page: one for page in pages if (one := _question(page, kinds))}
    answers = engine.captures_near(list(asked.values()), most) if asked else []
    near: Mapping[PageMoment, list[Capture]] = dict(zip(asked, answers, strict=True))
    return [list(_own_renders(page, near.get(page, []))) for page in pages]


def _question(page: PageMoment, kinds: Sequence[RenderKind]) -> KeysAtTime | None:
    """Return the query for the captures of a page and its renders, None if it can have none."""
    try:
        timestamp = normal_timestamp(page.timestamp)
        keys = render_keys(page.url, kinds)
        return KeysAtTime((urlkey(page.url), *keys), timestamp) if keys else None
    except (UrlError, TimestampError):
        return None


def _own_renders(page: PageMoment, near: Sequence[Capture]) -> Iterator[FoundRender]:
    named = [(capture, render_name(capture.url)) for capture in near]
    own = {normal_timestamp(page.timestamp), *page.dates} if near else set()
    moments = sorted(own | {capture.timestamp for capture, name in named if name is None})
    for capture, name in named:
        if name is None or capture.record_type == _REVISIT:
            continue
        if _nearest(capture.timestamp, moments) in own:
            yield FoundRender(name.kind, capture)


def _nearest(render: str, moments: Sequence[str]) -> str:
    """Return the moment a render belongs to: the nearest, the earlier one on a tie.

    `moments` are in order: a document may have thousands.
    """
    place = bisect_left(moments, render)
    beside = moments[max(0, place - 1) : place + 1]
    return min(beside, key=lambda moment: seconds_between(render, moment))


_KNOWN_SECONDS = 60.0


class HitPicture(NamedTuple):
    """A picture of a document: the moment to ask for, and whether the document is the image."""

    timestamp: str
    is_image: bool


class PagePictures:
    """The pictures of the pages of an archive; thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._known: TTLCache[tuple[()], bool] = TTLCache(1, _KNOWN_SECONDS)
        self._built: TTLCache[tuple[()], bool] = TTLCache(1, _KNOWN_SECONDS)

    @cachedmethod(lambda self: self._known, lock=lambda self: self._lock)
    def has_renders(self) -> bool:
        """Return whether the archive has renders; looked up at most once a minute."""
        return has_renders(self._engine)

    @cachedmethod(lambda self: self._built, lock=lambda self: self._lock)
    def is_built(self) -> bool:
        """Return whether pictures can be searched; looked up at most once a minute."""
        return self._engine.picture_index().is_made()

    def renders(self, page: PageMoment) -> list[FoundRender]:
        """Return the renders of a page, without a query if the archive has none."""
        return renders_of_pages(self._engine, [page])[0] if self.has_renders() else []

    def of_hits(self, hits: Sequence[Hit]) -> dict[str, HitPicture]:
        """Return the pictures of hits by id, without hits that have none.

        This is one query to the engine, none if the archive has no renders.
        """
        found = {
            hit.id: HitPicture(hit.dates[-1], is_image=True)
            for hit in hits
            if hit.dates and is_image(hit.content_type, hit.status_code)
        }
        others = [hit for hit in hits if hit.dates and hit.id not in found]
        if others and self.has_renders():
            pages = [PageMoment(hit.url, hit.dates[-1], hit.dates) for hit in others]
            for hit, picture in zip(others, find_pictures(self._engine, pages), strict=True):
                if picture is not None:
                    found[hit.id] = HitPicture(picture.timestamp, is_image=False)
        return found

    def of_document(
        self, document: Document, dates: Sequence[str], renders: Sequence[FoundRender]
    ) -> HitPicture | None:
        """Return the picture of a document: the image that it is, or one of its renders."""
        capture = document.capture
        if is_image(capture.content_type, capture.status_code):
            return HitPicture(dates[-1] if dates else capture.timestamp, is_image=True)
        picture = picture_of(renders)
        return HitPicture(picture.timestamp, is_image=False) if picture else None

    def shown_by(self, page: PageMoment) -> tuple[Capture, bool] | None:
        """Return the capture of a page's picture, and whether it is a render, not an image."""
        render = find_pictures(self._engine, [page])[0] if self.has_renders() else None
        if render is not None:
            return render, True
        image = find_image(self._engine, page.url, page.timestamp)
        return None if image is None else (image, False)


def is_image(content_type: str, status: int | None) -> bool:
    """Return whether a document is a scalable image, by its type and status."""
    return content_type in DECODED_TYPES and status in (200, None)

"""What the crawl's browser kept of a page: screenshot, text, and what it loaded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.errors import FormatError, SourceError
from nwx.model import Capture, RenderPlace
from nwx.quality.pictures.decoder import decoded
from nwx.quality.renders.lookup import find_renders
from nwx.quality.renders.page_information import PageInfo, page_info, page_info_of_har
from nwx.quality.renders.stored_renders import StoredRender, read_render
from nwx.values.render_names import RenderKind
from nwx.values.timestamps import seconds_between

MOST_SECONDS_APART = 30 * 86_400
"""Renders further from the capture of a page are not of its crawl."""

VIEWPORT = (1920, 1080)
"""Width and height where there is no screenshot to go by, as Browsertrix has them."""

_OF_PLAYBACK = "playback"
_WIDTHS, _HEIGHTS = (320, 3840), (240, 2160)

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class CrawlRender:
    """What there is of a page from its crawl; b"", None where there is none.

    `viewport` is the size of the first screen of the crawl's browser.
    `problems` tells of renders that could not be read.
    """

    view: bytes = b""
    view_place: RenderPlace | None = None
    viewport: tuple[int, int] = VIEWPORT
    text: str | None = None
    info: PageInfo | None = None
    problems: tuple[str, ...] = ()


class CrawlRenders:
    """Reads the renders of an archive that were not made from playback."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._places = FilePlaces(engine)

    def of_page(self, page: Capture) -> CrawlRender:
        """Return what the crawl's browser kept of a captured page."""
        found = find_renders(self._engine, page.url, page.timestamp)
        problems: list[str] = []

        def first(kind: RenderKind, read: Callable[[StoredRender], _Read]) -> "_Found[_Read]":
            near = [one for one in found.get(kind, ()) if _is_near(one, page)]
            return self._first(near, read, problems)

        view = first(RenderKind.VIEW, _picture)
        text = first(RenderKind.TEXT, _text)
        info = first(RenderKind.PAGEINFO, _info)
        if info is None:
            info = first(RenderKind.HAR, _info_of_har)
        return CrawlRender(
            view=view[0][0] if view else b"",
            view_place=self._place(view[1]) if view else None,
            viewport=view[0][1] if view else VIEWPORT,
            text=text[0] if text else None,
            info=info[0] if info else None,
            problems=tuple(problems),
        )

    def _first(
        self,
        captures: Sequence[Capture],
        read: Callable[[StoredRender], _Read],
        problems: list[str],
    ) -> "_Found[_Read]":
        """Return the first render that can be read, and is not of playback."""
        for capture in captures:
            try:
                stored = read_render(self._places, capture)
                if stored.rendered_from != _OF_PLAYBACK:
                    return read(stored), capture
            except (SourceError, FormatError) as error:
                problems.append(f"{capture.url[:200]}: {error}")
        return None

    def _place(self, capture: Capture) -> RenderPlace | None:
        path = self._places.path(capture.collection, capture.source_file)
        if path is None:
            return None
        _, member, inner = capture.source_file.partition("#")
        place = f"{path}{member}{inner}"
        return RenderPlace(place, capture.source_file_offset, capture.record_length or 0)


_Found = tuple[_Read, Capture] | None


def _is_near(render: Capture, page: Capture) -> bool:
    return seconds_between(render.timestamp, page.timestamp) <= MOST_SECONDS_APART


def _picture(stored: StoredRender) -> tuple[bytes, tuple[int, int]]:
    """Return a screenshot, and the first screen of the browser that took it."""
    width, height = decoded(stored.payload).size
    if not _WIDTHS[0] <= width <= _WIDTHS[1]:
        width = VIEWPORT[0]
    if not _HEIGHTS[0] <= height <= _HEIGHTS[1]:
        height = VIEWPORT[1]  # a picture of the whole page
    return stored.payload, (width, height)


def _text(stored: StoredRender) -> str:
    return stored.payload.decode("utf-8", "replace")


def _info(stored: StoredRender) -> PageInfo:
    return page_info(stored.payload)


def _info_of_har(stored: StoredRender) -> PageInfo:
    return page_info_of_har(stored.payload)

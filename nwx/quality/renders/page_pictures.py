"""What pages looked like: their renders, and the pictures that documents are shown by."""

import threading
from collections.abc import Sequence
from typing import NamedTuple

from cachetools import TTLCache, cachedmethod

from nwx.engine.base import Engine
from nwx.model import Capture, Document, Hit
from nwx.quality.renders.stored_renders import (
    FoundRender,
    PageMoment,
    find_pictures,
    has_renders,
    picture_of,
    renders_of_pages,
)
from nwx.quality.stored_blocks import DECODED_TYPES, find_image

_KNOWN_SECONDS = 60.0


class HitPicture(NamedTuple):
    """A picture of a document: the moment to ask for, and whether the document is the image."""

    timestamp: str
    is_image: bool


class PagePictures:
    """The pictures of the pages of an archive; threads share it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._known: TTLCache[tuple[()], bool] = TTLCache(1, _KNOWN_SECONDS)
        self._built: TTLCache[tuple[()], bool] = TTLCache(1, _KNOWN_SECONDS)

    @cachedmethod(lambda self: self._known, lock=lambda self: self._lock)
    def has_renders(self) -> bool:
        """Return whether the archive has renders; it is asked at most once a minute."""
        return has_renders(self._engine)

    @cachedmethod(lambda self: self._built, lock=lambda self: self._lock)
    def is_built(self) -> bool:
        """Return whether pictures can be searched; it is asked at most once a minute."""
        return self._engine.picture_index().is_made()

    def renders(self, page: PageMoment) -> list[FoundRender]:
        """Return the renders of a page, without asking an archive that has none."""
        return renders_of_pages(self._engine, [page])[0] if self.has_renders() else []

    def of_hits(self, hits: Sequence[Hit]) -> dict[str, HitPicture]:
        """Return the pictures that hits are shown by, by their ids; those without are left out.

        It is one question to the engine, none where the archive has no renders.
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
        """Return the picture that a document is shown by, of its renders or its own."""
        capture = document.capture
        if is_image(capture.content_type, capture.status_code):
            return HitPicture(dates[-1] if dates else capture.timestamp, is_image=True)
        picture = picture_of(renders)
        return HitPicture(picture.timestamp, is_image=False) if picture else None

    def shown_by(self, page: PageMoment) -> tuple[Capture, bool] | None:
        """Return the capture that a page is shown by, and whether it is a render, not an image."""
        render = find_pictures(self._engine, [page])[0] if self.has_renders() else None
        if render is not None:
            return render, True
        image = find_image(self._engine, page.url, page.timestamp)
        return None if image is None else (image, False)


def is_image(content_type: str, status: int | None) -> bool:
    """Return whether a document is an image that can be scaled, by what was said of it."""
    return content_type in DECODED_TYPES and status in (200, None)

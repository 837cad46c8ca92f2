"""What the application knows of pictures and renders, and the pictures that it scaled."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from cachetools import LRUCache, TTLCache, cachedmethod
from flask import Flask, current_app

from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.errors import EngineBusyError, ErrorText, FormatError
from nwx.model import Document, Hit
from nwx.quality.renders.stored_renders import (
    FoundRender,
    PageMoment,
    find_pictures,
    has_renders,
    picture_of,
    renders_of_pages,
)
from nwx.quality.stored_blocks import DECODED_TYPES
from webapp.site.context import kept_of_engine, service

DECODED_AT_ONCE = 2
"""So many pictures are read and decoded at once: each may take 200 MB for a moment."""

KEPT_PICTURE_BYTES = 32 << 20
"""The bytes of scaled pictures that are kept: some thousands of thumbnails."""

_WAIT_SECONDS = 10.0
_BROKEN = b""


class ScaledPictures:
    """Makes scaled pictures and keeps the last; threads may share it."""

    def __init__(
        self,
        at_once: int = DECODED_AT_ONCE,
        kept: int = KEPT_PICTURE_BYTES,
        wait_seconds: float = _WAIT_SECONDS,
    ) -> None:
        self._places = threading.BoundedSemaphore(at_once)
        self._wait_seconds = wait_seconds
        self._lock = threading.Lock()
        self._kept: LRUCache[str, bytes] = LRUCache(kept, lambda picture: len(picture) + 100)

    def picture(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Return the picture of a key, made where it is not kept.

        Raises FormatError for one that cannot be made, which is remembered
        too, and EngineBusyError where too many are being made.
        """
        found = self._known(key)
        if found is None:
            with self.place():
                found = self._known(key)  # another thread may have made it meanwhile
                if found is None:
                    found = self._made(key, make)
        if found == _BROKEN:
            raise FormatError(ErrorText("this picture cannot be shown"))
        return found

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold one of the places for reading and decoding; raises EngineBusyError."""
        if not self._places.acquire(timeout=self._wait_seconds):
            raise EngineBusyError(
                ErrorText("too many pictures are being made; try again in a few seconds")
            )
        try:
            yield
        finally:
            self._places.release()

    def _known(self, key: str) -> bytes | None:
        with self._lock:
            return self._kept.get(key)

    def _made(self, key: str, make: Callable[[], bytes]) -> bytes:
        try:
            picture = make()
        except FormatError:
            picture = _BROKEN
        with self._lock:
            if len(picture) + 100 <= self._kept.maxsize:
                self._kept[key] = picture
        return picture


_EXTENSION = "nwx-pictures"
_KNOWN_SECONDS = 60.0


class HitPicture(NamedTuple):
    """A picture of a document: the moment to ask for, and whether the document is the image."""

    timestamp: str
    is_image: bool


class PictureBackend:
    """The pictures of an archive as some viewers may see it.

    Where files are, and pictures that were scaled, all backends share.
    """

    def __init__(self, engine: Engine, places: FilePlaces, scaled: ScaledPictures) -> None:
        self.engine, self.places, self.scaled = engine, places, scaled
        self._lock = threading.Lock()
        self._known: TTLCache[tuple[()], bool] = TTLCache(1, _KNOWN_SECONDS)
        self._built: TTLCache[tuple[()], bool] = TTLCache(1, _KNOWN_SECONDS)

    @cachedmethod(lambda self: self._known, lock=lambda self: self._lock)
    def has_renders(self) -> bool:
        """Return whether the archive has renders; it is asked at most once a minute."""
        return has_renders(self.engine)

    @cachedmethod(lambda self: self._built, lock=lambda self: self._lock)
    def is_built(self) -> bool:
        """Return whether pictures can be searched; it is asked at most once a minute."""
        return self.engine.picture_index().is_made()

    def renders(self, page: PageMoment) -> list[FoundRender]:
        """Return the renders of a page, without asking an archive that has none."""
        return renders_of_pages(self.engine, [page])[0] if self.has_renders() else []

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
            for hit, picture in zip(others, find_pictures(self.engine, pages), strict=True):
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


def is_image(content_type: str, status: int | None) -> bool:
    """Return whether a document is an image that can be scaled, by what was said of it."""
    return content_type in DECODED_TYPES and status in (200, None)


def prepare_pictures(app: Flask) -> None:
    """Give an application its pictures."""
    app.extensions[_EXTENSION] = ScaledPictures()


def pictures() -> PictureBackend:
    """Return the pictures of whoever asks."""
    return kept_of_engine(_backend)


def _backend(engine: Engine) -> PictureBackend:
    return PictureBackend(engine, service().files, current_app.extensions[_EXTENSION])

"""The service, the archive as the viewer may see it, caches and preferences, for all pages."""

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeVar

from cachetools import LRUCache, TLRUCache
from flask import current_app, g, request
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx import Archive
from nwx.access.restricted_engine import RestrictedEngine, RestrictedEngines
from nwx.engine.base import Engine
from nwx.errors import EngineBusyError, EngineUnavailableError, ErrorText, FormatError
from nwx.model import Document
from nwx.settings import Settings
from nwx.warc.sources import FilePlaces
from webapp.site.preferences import COOKIE, Preferences, from_cookie
from webapp.site.viewer import viewer

_Answer = TypeVar("_Answer")
DEFAULT_TITLE = "nwx"
_MOST = 64
_SECONDS = 600.0


class KeptAnswers:
    """A thread-safe cache of recent answers, each with its time to live in seconds."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._kept: TLRUCache[Hashable, tuple[Any, float]] = TLRUCache(
            _MOST, lambda _, kept, now: now + kept[1]
        )

    def answer(
        self, key: Hashable, make: Callable[[], _Answer], seconds: float = _SECONDS
    ) -> _Answer:
        """Return the cached answer of a key, or make and cache it."""
        with self._guard:
            kept = self._kept.get(key)
        if kept is None:
            kept = make(), seconds
            with self._guard:
                self._kept[key] = kept
        found: _Answer = kept[0]
        return found


DECODED_AT_ONCE = 2
"""The most pictures read and decoded at once: each may take 200 MB for a moment."""

KEPT_PICTURE_BYTES = 32 << 20
"""The most bytes of cached scaled pictures: some thousands of thumbnails."""

_WAIT_SECONDS = 10.0
_BROKEN = b""


class ScaledPictures:
    """Makes scaled pictures and caches the latest; thread-safe."""

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
        """Return the cached picture of a key, or make and cache it.

        Raises FormatError if it cannot be made, which is cached too, and
        EngineBusyError if too many are being made.
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
        """Hold a place for reading and decoding; raises EngineBusyError if none is free."""
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


_CLASSES_KEPT = 8
SERVICE_EXTENSION = "nwx"


class ArchivedPlaces(Protocol):
    """Registers the files of captures before they are played."""

    def cover(self, files: Iterable[tuple[str, str]]) -> None:
        """Register files, each by collection and name."""


@dataclass(frozen=True, slots=True)
class PlaybackState:
    """Whether playback runs, how often it was restarted, and why it does not run."""

    running: bool = True
    restarts: int = 0
    message: str = ""


class ArchiveFolder:
    """The folder of an archive, if it exists on this machine at the start."""

    def __init__(self, engine: Engine) -> None:
        path = Path(engine.address) if engine.traits.is_local else None
        self._path = path if path is not None and path.is_dir() else None

    def check(self) -> None:
        """Raise EngineUnavailableError if the folder is gone; open files would still work."""
        if self._path is not None and not self._path.is_dir():
            raise EngineUnavailableError("the folder of the archive is gone")


@dataclass(frozen=True, slots=True)
class Service:
    """The settings and shared objects of an application."""

    engine: Engine
    title: str
    replay_url: str
    replay_port: int
    replay_host: str
    loopback: str
    search_url: str
    places: ArchivedPlaces | None
    playback: Callable[[], PlaybackState]
    engines: RestrictedEngines
    folder: "ArchiveFolder"
    settings: Settings
    files: FilePlaces
    archives: LRUCache[str, Archive] = field(default_factory=lambda: LRUCache(_CLASSES_KEPT))
    scaled: ScaledPictures = field(default_factory=ScaledPictures)
    answers: KeptAnswers = field(default_factory=KeptAnswers)
    guard: Lock = field(default_factory=Lock)

    @property
    def replays(self) -> bool:
        """Whether playback is configured."""
        return bool(self.replay_url or self.replay_port)


def service() -> Service:
    """Return the service of the running application."""
    found: Service = current_app.extensions[SERVICE_EXTENSION]
    return found


def engine() -> Engine:
    """Return the engine restricted to what the viewer may see, the same for a whole request."""
    found: Engine | None = g.get("shown_engine")
    if found is None:
        service().folder.check()
        service().engine.check()  # small indices that are missing on a server would look empty
        found = g.shown_engine = service().engines.for_viewer(viewer())
    return found


def archive() -> Archive:
    """Return the archive restricted to what the viewer may see, with its caches.

    It is cached for a few classes of viewers until the rules change.
    """
    found, shown = service(), engine()
    key = shown.decisions.key if isinstance(shown, RestrictedEngine) else ""
    with found.guard:
        kept = found.archives.get(key)
        if kept is None:
            kept = found.archives[key] = Archive.over(shown, found.settings, found.files)
        return kept


def preferences() -> Preferences:
    """Return the preferences of the reader of the request."""
    return from_cookie(request.cookies.get(COOKIE, ""))


def document_or_404(document_id: str) -> Document:
    """Return a document; raises NotFound if the archive has none with this id.

    Raises HiddenError if it may not be shown.
    """
    document = archive().stored_document(document_id)
    if document is None:
        raise NotFound(gettext("there is no document %(id)s in this archive", id=document_id))
    return document

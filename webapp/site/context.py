"""What every page needs of the application and of the reader."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Protocol

from cachetools import LRUCache
from flask import current_app, g, request
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx import Archive
from nwx.access.restricted.engine import RestrictedEngine, RestrictedEngines
from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.errors import EngineUnavailableError
from nwx.model import Document
from nwx.settings import Settings
from webapp.site.kept_answers import KeptAnswers, ScaledPictures
from webapp.site.preferences import COOKIE, Preferences, from_cookie
from webapp.site.viewer import viewer

_CLASSES_KEPT = 8
SERVICE_EXTENSION = "nwx"


class ArchivedPlaces(Protocol):
    """Whoever must know the files of captures before they are played."""

    def cover(self, files: Iterable[tuple[str, str]]) -> None:
        """Make files known, each by its collection and name."""


@dataclass(frozen=True, slots=True)
class PlaybackState:
    """Whether captures can be played now, how often playback was started again, why it is not."""

    running: bool = True
    restarts: int = 0
    message: str = ""


class ArchiveFolder:
    """The folder of an archive, where it has one on this machine by now."""

    def __init__(self, engine: Engine) -> None:
        path = Path(engine.address) if engine.traits.is_local else None
        self._path = path if path is not None and path.is_dir() else None

    def check(self) -> None:
        """Raise EngineUnavailableError where the folder is gone: files that are open stay so."""
        if self._path is not None and not self._path.is_dir():
            raise EngineUnavailableError("the folder of the archive is gone")


@dataclass(frozen=True, slots=True)
class Service:
    """What the application was made with."""

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
        """Tell whether captures can be played."""
        return bool(self.replay_url or self.replay_port)


def service() -> Service:
    """Return what the running application was made with."""
    found: Service = current_app.extensions[SERVICE_EXTENSION]
    return found


def engine() -> Engine:
    """Return the archive as whoever asks may see it, the same for all of a request."""
    found: Engine | None = g.get("shown_engine")
    if found is None:
        service().folder.check()
        found = g.shown_engine = service().engines.for_viewer(viewer())
    return found


def archive() -> Archive:
    """Return the archive as whoever asks may see it, with what it keeps for their like.

    It is kept, for a few classes of viewers, until the rules change.
    """
    found, shown = service(), engine()
    key = shown.decisions.key if isinstance(shown, RestrictedEngine) else ""
    with found.guard:
        kept = found.archives.get(key)
        if kept is None:
            kept = found.archives[key] = Archive.over(shown, found.settings, found.files)
        return kept


def preferences() -> Preferences:
    """Return the preferences of the reader who asks."""
    return from_cookie(request.cookies.get(COOKIE, ""))


def document_or_404(document_id: str) -> Document:
    """Return a document; raises NotFound where the archive has none of this id.

    Raises HiddenError on one that may not be shown.
    """
    document = archive().stored_document(document_id)
    if document is None:
        raise NotFound(gettext("there is no document %(id)s in this archive", id=document_id))
    return document

"""What every page needs of the application and of the reader."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from flask import current_app, request
from werkzeug.exceptions import NotFound

from nwx.engine.base import Engine
from nwx.model import Document
from webapp.site.preferences import COOKIE, Preferences, from_cookie

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

    @property
    def replays(self) -> bool:
        """Tell whether captures can be played."""
        return bool(self.replay_url or self.replay_port)


def service() -> Service:
    """Return what the running application was made with."""
    found: Service = current_app.extensions[SERVICE_EXTENSION]
    return found


def engine() -> Engine:
    """Return the engine of the running application."""
    return service().engine


def preferences() -> Preferences:
    """Return the preferences of the reader who asks."""
    return from_cookie(request.cookies.get(COOKIE, ""))


def document_or_404(document_id: str) -> Document:
    """Return a document; raises NotFound where the archive has none of this id."""
    document = engine().documents([document_id]).get(document_id)
    if document is None:
        raise NotFound(f"there is no document {document_id} in this archive")
    return document

"""State of the CDX server's routes: viewers, files to play, allowed origins."""

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache, TTLCache
from flask import Flask, current_app, request
from werkzeug.exceptions import NotFound

from nwx.access.restricted_engine import RestrictedEngine, RestrictedEngines
from nwx.cdx.rows import CdxRow
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import restricted_sources
from nwx.engine.base import Engine
from nwx.errors import SettingsError
from nwx.values.digests import DigestForm
from webapp.headers import has_token
from webapp.site.context import ArchivedPlaces, ArchiveFolder
from webapp.site.viewer import viewer_of

_ALL = "*"
_VARY = ("Vary", "Accept-Encoding")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@,]+", re.IGNORECASE)


def origins_of(texts: Iterable[str]) -> frozenset[str]:
    """Return origins in lower case, without a final slash; `*` stands for all.

    Raises SettingsError on an invalid origin.
    """
    found = frozenset(text.strip().rstrip("/").lower() for text in texts)
    for origin in found:
        if origin != _ALL and not _ORIGIN.fullmatch(origin):
            raise SettingsError(
                f"{origin[:80]!r} is not an origin; write one such as https://replay.example, or *"
                " for all"
            )
    return found


def origin_headers(asking: str, allowed: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return the CORS headers that allow the origin `asking` to read an answer, or do not."""
    if _ALL in allowed:
        return (("Access-Control-Allow-Origin", _ALL), _VARY)
    if not allowed:
        return (_VARY,)
    may_read = (("Access-Control-Allow-Origin", asking),) * (asking.lower() in allowed)
    return (*may_read, ("Vary", f"{_VARY[1]}, Origin"))


CDX_EXTENSION = "nwx-cdx"
SPELLINGS = {
    "hex": DigestForm.BARE_HEX,
    "base32": DigestForm.BARE_BASE32,
    "sha256": DigestForm.HEX,
}
"""Address suffixes for crawlers that compare digests as strings, and the digest form of each."""

DEFAULT_STREAMS = 4
_KNOWN_SECONDS = 5.0
_KNOWN_COLLECTIONS = 10_000
_SERVERS_KEPT = 32


@dataclass(slots=True)
class CdxService:
    """A CDX server; with an `engine` and a `token`, clients with the token may write.

    With an `engine`, answers contain what the access rules of the archive
    allow the viewer; with the token, everything. `engines` are the restricted
    engines of viewers.
    `places` registers files before they are played. `streams` bounds the
    number of concurrent long answers, including those that read much and find
    little, so that some threads are always free for short ones. Pages of
    `origins` may read answers. A server that `follows` a primary refuses writes.
    Captures are played below `replay_url`: `/replay` for this application,
    "" for nowhere.
    """

    server: CdxServer
    engine: Engine | None = None
    engines: RestrictedEngines | None = None
    token: str = ""
    replay_url: str = ""
    places: ArchivedPlaces | None = None
    origins: frozenset[str] = frozenset()
    follows: bool = False
    streams: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(DEFAULT_STREAMS)
    )
    _known: TTLCache[tuple[CdxServer, str], None] = field(
        default_factory=lambda: TTLCache(_KNOWN_COLLECTIONS, _KNOWN_SECONDS)
    )
    _servers: LRUCache[str, CdxServer] = field(default_factory=lambda: LRUCache(_SERVERS_KEPT))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _folder: ArchiveFolder | None = None

    def __post_init__(self) -> None:
        if self.engines is None and self.engine is not None:
            self.engines = RestrictedEngines(self.engine)
        if self.engine is not None:
            self._folder = ArchiveFolder(self.engine)

    def server_for(self, app: Flask, environ: dict[str, Any]) -> CdxServer:
        """Return the server of a request, restricted to what its viewer may see."""
        shown = self.engine_for(app, environ)
        if not isinstance(shown, RestrictedEngine):
            return self.server
        with self._lock:
            found = self._servers.get(shown.decisions.key)
            if found is None:
                sources = restricted_sources(self.server.sources, shown)
                found = CdxServer(sources, self.server.aliases, self.server.digests)
                self._servers[shown.decisions.key] = found
            return found

    def engine_for(self, app: Flask, environ: dict[str, Any]) -> Engine | None:
        """Return the engine restricted to what the viewer may see; None without an archive.

        Raises EngineUnavailableError if the archive's folder is gone.
        """
        if self._folder is not None:
            self._folder.check()
        if self.engines is None or not self.engines.has_rules():
            return self.engine
        if has_token(environ.get("HTTP_AUTHORIZATION", ""), self.token):
            return self.engine
        return self.engines.for_viewer(viewer_of(app, environ))

    def cover(self, rows: Sequence[CdxRow]) -> None:
        """Register the files of captures for playback."""
        if self.places is not None:
            self.places.cover((row.collection, row.filename) for row in rows)

    def knows(self, server: CdxServer, collection: str) -> bool:
        """Return whether a collection has captures that a server may show.

        A positive answer is cached for 5 seconds.
        """
        with self._lock:
            if (server, collection) in self._known:
                return True
        collections = frozenset(server.collections())
        with self._lock:
            self._known.update({(server, name): None for name in collections})
        return collection in collections


def streams_of(threads: int) -> threading.BoundedSemaphore:
    """Return the semaphore for a server's long answers: all but a quarter of its threads."""
    return threading.BoundedSemaphore(max(1, threads - max(1, threads // 4)))


def cdx_service() -> CdxService:
    """Return the CDX server of the running application."""
    found: CdxService = current_app.extensions[CDX_EXTENSION]
    return found


def cdx_server() -> CdxServer:
    """Return the server of the current request, restricted to what the viewer may see."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    return cdx_service().server_for(app, request.environ)


def cdx_engine() -> Engine:
    """Return the engine restricted to what the viewer may see; raises NotFound without one."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    found = cdx_service().engine_for(app, request.environ)
    if found is None:
        raise NotFound("there is no archive here")
    return found


def knows_collection(name: str) -> bool:
    """Return whether a collection has captures that the viewer may see."""
    return cdx_service().knows(cdx_server(), name)


def require_write(collection: str) -> None:
    """Raise NotFound if a collection has no captures that the viewer may see."""
    if not knows_collection(collection):
        raise NotFound(f"there is no collection {collection[:80]!r}")

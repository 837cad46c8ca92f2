"""What the addresses of the CDX server need of the application."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from cachetools import TTLCache
from flask import current_app
from werkzeug.exceptions import NotFound

from nwx.cdx.rows import CdxRow
from nwx.cdxserver.server import CdxServer
from nwx.engine.base import Engine
from nwx.values.digests import DigestForm
from webapp.site.context import ArchivedPlaces

CDX_EXTENSION = "nwx-cdx"
SPELLINGS = {"hex": DigestForm.BARE_HEX, "base32": DigestForm.BARE_BASE32}
"""What stands behind an address for crawlers that compare digests as they spell them."""

DEFAULT_STREAMS = 4
_KNOWN_SECONDS = 5.0
_KNOWN_COLLECTIONS = 10_000


@dataclass(slots=True)
class CdxService:
    """A CDX server; with an `engine` and a `token`, whoever has the token may write.

    `places` is told which files are about to be played. `streams` bounds how
    many long answers are under way at once, those that read much and find
    little too, so that some threads are always left for short ones. Pages
    of `origins` may read answers. Captures are played below `replay_url`,
    which is `/replay` for these pages themselves and "" for nowhere.
    """

    server: CdxServer
    engine: Engine | None = None
    token: str = ""
    replay_url: str = ""
    places: ArchivedPlaces | None = None
    origins: frozenset[str] = frozenset()
    streams: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(DEFAULT_STREAMS)
    )
    _known: TTLCache[str, None] = field(
        default_factory=lambda: TTLCache(_KNOWN_COLLECTIONS, _KNOWN_SECONDS)
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cover(self, rows: Sequence[CdxRow]) -> None:
        """Make the files of captures known to whoever is about to play them."""
        if self.places is not None:
            self.places.cover((row.collection, row.filename) for row in rows)

    def knows(self, collection: str) -> bool:
        """Return whether a collection has captures; what is known is believed for a while."""
        with self._lock:
            if collection in self._known:
                return True
        collections = frozenset(self.server.collections())
        with self._lock:
            self._known.update(dict.fromkeys(collections))
        return collection in collections


def streams_of(threads: int) -> threading.BoundedSemaphore:
    """Return the places for long answers of a server with so many threads: all but a quarter."""
    return threading.BoundedSemaphore(max(1, threads - max(1, threads // 4)))


def cdx_service() -> CdxService:
    """Return the CDX server of the running application."""
    found: CdxService = current_app.extensions[CDX_EXTENSION]
    return found


def require_write(collection: str) -> None:
    """Raise NotFound where a collection has no captures."""
    if not cdx_service().knows(collection):
        raise NotFound(f"there is no collection {collection[:80]!r}")

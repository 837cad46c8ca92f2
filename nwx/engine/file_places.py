"""Locations of the files of an archive, read from the import ledger, for frequent use."""

import threading

from cachetools import TTLCache, cachedmethod

from nwx.engine.base import Engine
from nwx.model import Capture
from nwx.warc.sources import is_present

_PATIENCE_SECONDS = 2.0


class FilePlaces:
    """Locations of files from the import ledger, reread only when needed; thread-safe.

    That is when it lacks a file, or a file is not at its location, as files are moved and imported
    all the time.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._paths: dict[tuple[str, str], str] = {}
        self._refreshed: TTLCache[tuple[()], None] = TTLCache(1, _PATIENCE_SECONDS)

    def path(self, collection: str, name: str) -> str | None:
        """Return the path or address of a file, None if the ledger lacks it."""
        found = self._paths.get((collection, name))
        if found is None or not is_present(found):
            self._refresh()
            found = self._paths.get((collection, name))
        return found

    def is_there(self, capture: Capture) -> bool:
        """Return whether the file of a capture is readable; for addresses, whether it is known."""
        path = self.path(capture.collection, capture.source_file)
        return path is not None and is_present(path)

    @cachedmethod(lambda self: self._refreshed, lock=lambda self: self._lock)
    def _refresh(self) -> None:
        """Reread the ledger, unless that was done within _PATIENCE_SECONDS."""
        files = self._engine.files()
        self._paths = {(file.collection, file.name): file.path for file in files}

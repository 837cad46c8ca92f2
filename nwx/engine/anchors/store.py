"""The anchors of the current build, from the blobs of the inlinks."""

import math
import threading
import time

from nwx.engine.anchors.table import AnchorTable
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.notes import inlink_notes
from nwx.errors import BlobError


class AnchorBlobs:
    """What gives the anchors of now; shared by threads.

    Whether another build is current is asked every `seconds` at most.
    """

    def __init__(self, store: BlobStore, seconds: float = 0.0) -> None:
        self._store = store
        self._seconds = seconds
        self._asked = -math.inf
        self._guard = threading.Lock()
        self._version: str | None = None
        self._table: AnchorTable | None = None

    def table(self) -> AnchorTable | None:
        """Return the anchors of the current build, None where links were never inverted."""
        with self._guard:
            if time.monotonic() < self._asked + self._seconds:
                return self._table
            version = self._store.version()
            if version != self._version:
                self._table, self._version = self._read(), version
            self._asked = time.monotonic()
            return self._table

    def _read(self) -> AnchorTable | None:
        while True:
            version = self._store.version()
            notes = inlink_notes(self._store)
            if notes is None or not notes.anchors:
                return None
            stored = self._store.current()
            if stored is None:
                continue  # another build took its place
            try:
                self._store.get({notes.anchors: stored.blobs[notes.anchors]})
                return AnchorTable(self._store.folder / notes.anchors)
            except (BlobError, KeyError):
                if self._store.version() == version:
                    raise

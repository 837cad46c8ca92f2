"""The anchors of the current build, from the blobs of the inlinks."""

import threading

from nwx.engine.anchors.table import AnchorTable
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.notes import inlink_notes
from nwx.errors import BlobError


class AnchorBlobs:
    """What gives the anchors of now; shared by threads."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._version: str | None = None
        self._table: AnchorTable | None = None

    def table(self) -> AnchorTable | None:
        """Return the anchors of the current build, None where links were never inverted."""
        with self._guard:
            version = self._store.version()
            if version != self._version:
                self._table, self._version = self._read(), version
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

"""The anchors of the current build, from the blobs of the inlinks."""

import math
import threading
import time
from typing import TYPE_CHECKING

from cachetools import LRUCache

from nwx.engine.anchors.table import AnchorTable
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.table import inlink_notes
from nwx.errors import BlobError
from nwx.query.hidden import NONE_HIDDEN, HiddenDocuments

if TYPE_CHECKING:
    from nwx.engine.inlinks.visible_table import DatesOf

_VIEWERS_KEPT = 4


class AnchorBlobs:
    """What gives the anchors of now; shared by threads.

    Whether another build is current is asked every `seconds` at most.
    `dates_of` gives the dates of documents.
    """

    def __init__(self, store: BlobStore, dates_of: "DatesOf", seconds: float = 0.0) -> None:
        self._store = store
        self._dates_of = dates_of
        self._seconds = seconds
        self._visible: LRUCache[tuple[str, str], AnchorTable] = LRUCache(_VIEWERS_KEPT)
        self._asked = -math.inf
        self._guard = threading.Lock()
        self._version: str | None = None
        self._table: AnchorTable | None = None

    def table(self, hidden: HiddenDocuments = NONE_HIDDEN) -> AnchorTable | None:
        """Return the anchors of the current build, None where links were never inverted.

        What documents that are `hidden` link to is counted without them.
        """
        whole = self._whole()
        if whole is None or not hidden:
            return whole
        with self._guard:
            key = (self._version or "", hidden.key)
            found = self._visible.get(key)
            if found is None:
                # Imported here: where nothing is hidden, no tables of links are read.
                from nwx.engine.anchors.visible_anchors import visible_anchors

                found = visible_anchors(self._store, whole, hidden, self._dates_of)
                self._visible[key] = found
            return found

    def _whole(self) -> AnchorTable | None:
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

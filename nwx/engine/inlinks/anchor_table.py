"""Captured URLs with inlinks, by number, and their anchor texts as arrays of a build.

A target's number is its rank by linking domains, then hosts, then pages, all descending, ties by
urlkey. The first numbers of a list are therefore its most linked targets.
"""

import hashlib
import math
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from nwx.bulk.arrays import Array, read_arrays
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.counts import Texts
from nwx.engine.inlinks.inlink_index import inlink_notes
from nwx.errors import BlobError
from nwx.model import Anchor
from nwx.query.question import NONE_HIDDEN, HiddenDocuments

if TYPE_CHECKING:
    from nwx.engine.inlinks.table import DatesOf


NO_TARGET, UNKNOWN = -1, -2
"""The targets of a document without inlinks, and of a document that is not in the build."""

TargetNumbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


def key_hash(urlkey: str) -> int:
    """Return the 63-bit hash of a urlkey."""
    encoded = urlkey.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "big") >> 1


class AnchorTable:
    """The anchors of one build of the inlinks, read from its blob.

    It also has the documents of the build, by the first 63 bits of their ids.
    """

    def __init__(self, path: Path) -> None:
        arrays = read_arrays(path)
        self.arrays = arrays
        self.size = len(arrays["documents"])
        self.keys = Texts(arrays, "key")
        self.texts = Texts(arrays, "text")
        self.terms = Texts(arrays, "term")
        self.lengths: Array = arrays["lengths"]
        self.mean_length = float(self.lengths.mean()) if self.size else 0.0

    def counts(self, name: str) -> Array:
        """Return how many `documents`, `hosts` or `domains` link to each target."""
        return self.arrays[name]

    @cached_property
    def all_terms(self) -> list[str]:
        """All terms, in the order of their bytes."""
        return self.terms.all()

    def targets(self, urlkeys: Sequence[str]) -> TargetNumbers:
        """Return the targets of urlkeys, NO_TARGET for those without inlinks."""
        hashes = np.fromiter(map(key_hash, urlkeys), np.int64, len(urlkeys))
        known = self.arrays["key_hashes"]
        if not len(known):
            return np.full(len(urlkeys), NO_TARGET, dtype=np.int64)
        places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        found = self.arrays["key_targets"][places].astype(np.int64)
        return np.where(known[places] == hashes, found, NO_TARGET)

    def document_targets(self, id_starts: TargetNumbers) -> TargetNumbers:
        """Return the targets of documents by the first 63 bits of their ids.

        NO_TARGET if the document's URL has no inlinks, UNKNOWN if the document was not in the
        build.
        """
        known = self.arrays["document_starts"]
        if not len(known):
            return np.full(len(id_starts), UNKNOWN, dtype=np.int64)
        places = np.minimum(np.searchsorted(known, id_starts), len(known) - 1)
        found = self.arrays["document_targets"][places].astype(np.int64)
        return np.where(known[places] == id_starts, found, UNKNOWN)

    def urlkeys(self, targets: TargetNumbers) -> list[str]:
        """Return the urlkeys of targets."""
        return self.keys.take(targets.tolist())

    def postings(self, term: int) -> tuple[Array, Array]:
        """Return the targets with a term in their anchors, in order, and its weight in each."""
        starts = self.arrays["posting_starts"]
        run = slice(int(starts[term]), int(starts[term + 1]))
        return self.arrays["posting_targets"][run], self.arrays["posting_weights"][run]

    def texts_with(self, term: int) -> Array:
        """Return the anchor texts that contain a term, in order."""
        starts = self.arrays["text_posting_starts"]
        run = slice(int(starts[term]), int(starts[term + 1]))
        return self.arrays["text_postings"][run]

    def words(self, text: int) -> list[int]:
        """Return the terms of an anchor text, in their order."""
        starts = self.arrays["sequence_starts"]
        found: list[int] = self.arrays["sequences"][
            int(starts[text]) : int(starts[text + 1])
        ].tolist()
        return found

    def anchor_texts(self, target: int) -> Iterator[tuple[int, int]]:
        """Yield pairs of use and number of the anchor texts of a target, most hosts first."""
        starts = self.arrays["use_starts"]
        begin, end = int(starts[target]), int(starts[target + 1])
        return zip(range(begin, end), self.arrays["use_texts"][begin:end].tolist(), strict=True)

    def anchor(self, use: int) -> Anchor:
        """Return the anchor text of a use with its counts; the target's own host counts as one."""
        documents, hosts = self.arrays["use_documents"][use], self.arrays["use_hosts"][use]
        return Anchor(self.texts[int(self.arrays["use_texts"][use])], int(documents), int(hosts))


COPIES_FOLDER = "anchors"
"""The subfolder of a search server's builds with the copies that searches read."""

_VIEWERS_KEPT = 4


class AnchorBlobs:
    """Provides the current anchors; thread-safe.

    Checks for a new build at most every `seconds`. `dates_of` returns the dates of documents.
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
        """Return the anchors of the current build, None if links were never inverted.

        Links from `hidden` documents are not counted.
        """
        whole = self._whole()
        if whole is None or not hidden:
            return whole
        with self._guard:
            key = (self._version or "", hidden.key)
            found = self._visible.get(key)
            if found is None:
                # Imported here: if nothing is hidden, no tables of links are read.
                from nwx.engine.inlinks.anchor_writer import visible_anchors

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

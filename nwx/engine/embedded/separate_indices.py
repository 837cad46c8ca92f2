"""The indices of an archive folder that are stored in separate files."""

import pkgutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nwx.engine.base import Engine
from nwx.engine.embedded.entries.own_database import DatabaseForm, OwnDatabase, OwnIndex
from nwx.engine.embedded.folder import Folder
from nwx.engine.indices.declarations import INDICES, IndexKind, indices_of
from nwx.model import IndexName, IndexStats

if TYPE_CHECKING:
    from nwx.engine.embedded.built_stores import Connect, EmbeddedFacetStore
    from nwx.engine.embedded.entries.crawl_index import EmbeddedCrawlIndex
    from nwx.engine.embedded.entries.crawl_queue import EmbeddedCrawlQueue, EmbeddedOutbox
    from nwx.engine.embedded.entries.picture_index import EmbeddedPictureIndex
    from nwx.engine.embedded.entries.store import EmbeddedEntryStore
    from nwx.engine.embedded.entries.vector_index import EmbeddedVectorIndex
    from nwx.engine.facet_store import BlobFolder

SEPARATE = indices_of(IndexKind.BUILT, IndexKind.ENTRIES)
"""The indices in separate files; the others are in `archive.sqlite` and in tantivy."""

_OWN_TABLES = {
    IndexName.CRAWLS: "nwx.engine.embedded.entries.crawl_index:EmbeddedCrawlIndex",
    IndexName.QUEUE: "nwx.engine.embedded.entries.crawl_queue:EmbeddedCrawlQueue",
    IndexName.DIGESTS: "nwx.engine.embedded.entries.payload_keys:EmbeddedDigestPairs",
    IndexName.DEDUP: "nwx.engine.embedded.entries.payload_keys:EmbeddedCrawlerKeys",
    IndexName.PICTURES: "nwx.engine.embedded.entries.picture_index:EmbeddedPictureIndex",
    IndexName.VECTORS: "nwx.engine.embedded.entries.vector_index:EmbeddedVectorIndex",
}
"""The indices that need dedicated tables for speed; all others use an `EmbeddedEntryStore`."""


class SeparateIndices:
    """The built indices and the indices of small entries.

    `make_archive` creates the archive if it is missing.
    """

    def __init__(
        self,
        folder: Folder,
        connect: "Connect",
        make_archive: Callable[[], None],
        *,
        read_only: bool,
    ) -> None:
        self._folder = folder
        self._connect = connect
        self._make_archive = make_archive
        self._read_only = read_only
        self._guard = threading.Lock()
        self._opened: dict[IndexName, OwnIndex] = {}

    def facet_store(self) -> "EmbeddedFacetStore":
        """Return the store of facets."""
        # Imported here, as below: most commands read neither facets nor inlinks.
        from nwx.engine.embedded.built_stores import EmbeddedFacetStore

        return EmbeddedFacetStore(self._folder.path / "facets", self._connect)

    def inlink_blobs(self) -> "BlobFolder":
        """Return the blobs of inlinks."""
        from nwx.engine.facet_store import BlobFolder

        return BlobFolder(self._folder.path / "inlinks")

    def path(self, index: IndexName) -> Path:
        """Return the path of an index of small entries; the file may be missing."""
        return self._folder.path / f"{index}.db"

    def own(self, index: IndexName) -> OwnIndex:
        """Return an index of small entries, always the same object."""
        with self._guard:
            if index not in self._opened:
                self._opened[index] = self._open(index)
            return self._opened[index]

    def _open(self, index: IndexName) -> OwnIndex:
        # Imported here: searches and imports do not need it.
        from nwx.engine.embedded.entries.store import EmbeddedEntryStore, entry_form

        declared = INDICES[index]
        if index not in _OWN_TABLES:
            return EmbeddedEntryStore(self._database(entry_form(index)), declared)
        kind: type[OwnIndex] = pkgutil.resolve_name(_OWN_TABLES[index])
        return kind(self._database(kind.form), declared)

    def _database(self, form: DatabaseForm) -> OwnDatabase:
        return OwnDatabase(self._folder, self._make_archive, form, read_only=self._read_only)

    def count(self, index: IndexName) -> int:
        """Return the number of entries of one of these indices."""
        if index is IndexName.FACETS:
            return self.facet_store().count()
        if index is IndexName.INLINKS:
            from nwx.engine.inlinks.inlink_index import count_inlinks

            return count_inlinks(self.inlink_blobs())
        return self.own(index).stats().entries or 0

    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of one of these indices, in the order of their ids."""
        if index is IndexName.FACETS:
            return self.facet_store().entries()
        if index is IndexName.INLINKS:
            from nwx.engine.inlinks.link_entries import inlink_entries

            return inlink_entries(self.inlink_blobs())
        return self.own(index).entries()

    def stats(self) -> dict[IndexName, IndexStats]:
        """Return the sizes of these indices."""
        return {index: self._stats(index) for index in SEPARATE}

    def _stats(self, index: IndexName) -> IndexStats:
        made = {path.name.partition(".")[0] for path in self._folder.path.iterdir()}
        if index not in made:  # saves the imports
            return IndexStats(0, 0)
        if index is IndexName.FACETS:
            return self.facet_store().stats()
        if index is IndexName.INLINKS:
            from nwx.engine.inlinks.inlink_index import inlink_stats

            return inlink_stats(self.inlink_blobs())
        return self.own(index).stats()

    def close(self) -> None:
        """Close their files."""
        for index in self._opened.values():
            index.database.close()


class SeparateCapabilities(Engine):
    """Engine methods for the indices stored in separate files."""

    _separate: SeparateIndices

    def facet_store(self) -> "EmbeddedFacetStore":
        return self._separate.facet_store()

    def entry_store(self, index: IndexName) -> "EmbeddedEntryStore":
        return cast("EmbeddedEntryStore", self._separate.own(index))

    def crawl_index(self) -> "EmbeddedCrawlIndex":
        return cast("EmbeddedCrawlIndex", self._separate.own(IndexName.CRAWLS))

    def picture_index(self) -> "EmbeddedPictureIndex":
        return cast("EmbeddedPictureIndex", self._separate.own(IndexName.PICTURES))

    def vector_index(self) -> "EmbeddedVectorIndex":
        return cast("EmbeddedVectorIndex", self._separate.own(IndexName.VECTORS))

    def crawl_queue(self) -> "EmbeddedCrawlQueue":
        return cast("EmbeddedCrawlQueue", self._separate.own(IndexName.QUEUE))

    def outbox(self) -> "EmbeddedOutbox":
        from nwx.engine.embedded.entries.crawl_queue import EmbeddedOutbox

        return EmbeddedOutbox(self._separate.own(IndexName.QUEUE).database)

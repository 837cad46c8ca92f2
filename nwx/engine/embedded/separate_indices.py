"""The indices of a folder that lie in files of their own, beside that of the archive."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nwx.engine.blob_folder import BlobFolder
from nwx.engine.embedded.entries.own_database import DatabaseForm, OwnDatabase
from nwx.engine.embedded.facet_store import Connect, EmbeddedFacetStore
from nwx.engine.embedded.folder import Folder
from nwx.engine.indices.declarations import INDICES, IndexKind, indices_of
from nwx.engine.inlinks.table import count_inlinks, inlink_stats
from nwx.model import IndexName, IndexStats

if TYPE_CHECKING:
    from nwx.engine.embedded.crawls.index import EmbeddedCrawlIndex
    from nwx.engine.embedded.entries.store import EmbeddedEntryStore
    from nwx.engine.embedded.pictures.index import EmbeddedPictureIndex
    from nwx.engine.embedded.queue.outbox import EmbeddedOutbox
    from nwx.engine.embedded.queue.queue import EmbeddedCrawlQueue

SEPARATE = indices_of(IndexKind.BUILT, IndexKind.ENTRIES)
"""The indices that this module knows; the others are in `archive.sqlite` and in tantivy."""


class SeparateIndices:
    """Facets, inlinks, crawls, queue, quality, access and pictures.

    `make_archive` makes the archive where there is none.
    """

    def __init__(
        self,
        folder: Folder,
        connect: Connect,
        make_archive: Callable[[], None],
        *,
        read_only: bool,
    ) -> None:
        self._folder = folder
        self._connect = connect
        self._make_archive = make_archive
        self._read_only = read_only
        self._guard = threading.Lock()
        self._crawls: EmbeddedCrawlIndex | None = None
        self._queue: OwnDatabase | None = None
        self._stores: dict[IndexName, EmbeddedEntryStore] = {}
        self._pictures: EmbeddedPictureIndex | None = None

    def facet_store(self) -> EmbeddedFacetStore:
        """Return the store of facets."""
        return EmbeddedFacetStore(self._folder.path / "facets", self._connect)

    def inlink_blobs(self) -> BlobFolder:
        """Return the blobs of inlinks."""
        return BlobFolder(self._folder.path / "inlinks")

    def crawl_index(self) -> "EmbeddedCrawlIndex":
        """Return the index crawls, the same each time."""
        # Imported here: an archive is searched and imported into without.
        from nwx.engine.embedded.crawls.database import CRAWLS_FORM
        from nwx.engine.embedded.crawls.index import EmbeddedCrawlIndex

        with self._guard:
            if self._crawls is None:
                self._crawls = EmbeddedCrawlIndex(self._database(CRAWLS_FORM))
            return self._crawls

    def entry_store(self, index: IndexName) -> "EmbeddedEntryStore":
        """Return the small entries of an index, the same store each time."""
        from nwx.engine.embedded.entries.forms import entry_form
        from nwx.engine.embedded.entries.store import EmbeddedEntryStore

        with self._guard:
            if index not in self._stores:
                self._stores[index] = EmbeddedEntryStore(
                    self._database(entry_form(index)), INDICES[index]
                )
            return self._stores[index]

    def _database(self, form: DatabaseForm) -> OwnDatabase:
        return OwnDatabase(self._folder, self._make_archive, form, read_only=self._read_only)

    def picture_index(self) -> "EmbeddedPictureIndex":
        """Return the index pictures, the same each time."""
        from nwx.engine.embedded.pictures.database import PictureDatabase
        from nwx.engine.embedded.pictures.index import EmbeddedPictureIndex

        with self._guard:
            if self._pictures is None:
                self._pictures = EmbeddedPictureIndex(
                    PictureDatabase(self._folder, self._make_archive, read_only=self._read_only)
                )
            return self._pictures

    def crawl_queue(self) -> "EmbeddedCrawlQueue":
        """Return the queue of URLs for crawlers."""
        from nwx.engine.embedded.queue.queue import EmbeddedCrawlQueue

        return EmbeddedCrawlQueue(self._queue_database())

    def outbox(self) -> "EmbeddedOutbox":
        """Return what is to be sent to queues elsewhere."""
        from nwx.engine.embedded.queue.outbox import EmbeddedOutbox

        return EmbeddedOutbox(self._queue_database())

    def _queue_database(self) -> OwnDatabase:
        from nwx.engine.embedded.queue.database import QUEUE_FORM

        with self._guard:
            if self._queue is None:
                self._queue = self._database(QUEUE_FORM)
            return self._queue

    def count(self, index: IndexName) -> int:
        """Return the number of entries of one of these indices."""
        if index is IndexName.FACETS:
            return self.facet_store().count()
        if index is IndexName.INLINKS:
            return count_inlinks(self.inlink_blobs())
        if index is IndexName.QUEUE:
            return self.crawl_queue().counts().total
        if index in (IndexName.QUALITY, IndexName.ACCESS):
            return self.entry_store(index).count()
        if index is IndexName.PICTURES:
            return self.picture_index().count()
        return self.crawl_index().count()

    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        """Stream the entries of one of these indices, in the order of their ids."""
        if index is IndexName.FACETS:
            return self.facet_store().entries()
        if index is IndexName.INLINKS:
            from nwx.engine.inlinks.entries import inlink_entries

            return inlink_entries(self.inlink_blobs())
        if index is IndexName.QUEUE:
            return self.crawl_queue().entries()
        if index in (IndexName.QUALITY, IndexName.ACCESS):
            return self.entry_store(index).find()
        if index is IndexName.PICTURES:
            return self.picture_index().entries()
        return self.crawl_index().entries()

    def stats(self) -> dict[IndexName, IndexStats]:
        """Return the sizes of these indices."""
        return {index: self._stats(index) for index in SEPARATE}

    def _stats(self, index: IndexName) -> IndexStats:
        if index is IndexName.FACETS:
            return self.facet_store().stats()
        if index is IndexName.INLINKS:
            return inlink_stats(self.inlink_blobs())
        stored = sum(file.stat().st_size for file in self._folder.path.glob(f"{index}.db*"))
        return IndexStats(self.count(index) if stored else 0, stored)

    def close(self) -> None:
        """Let go of their files."""
        if self._crawls is not None:
            self._crawls.close()
        if self._queue is not None:
            self._queue.close()
        for store in self._stores.values():
            store.database.close()
        if self._pictures is not None:
            self._pictures.close()


class SeparateCapabilities:
    """What an engine does with the indices that lie in files of their own."""

    _separate: SeparateIndices

    def facet_store(self) -> EmbeddedFacetStore:
        """Return the captures in bulk, and the store of the facets built from them."""
        return self._separate.facet_store()

    def crawl_index(self) -> "EmbeddedCrawlIndex":
        """Return the crawl specifications and the scores of documents and links."""
        return self._separate.crawl_index()

    def entry_store(self, index: IndexName) -> "EmbeddedEntryStore":
        """Return the small entries of an index that is declared to have some."""
        return self._separate.entry_store(index)

    def picture_index(self) -> "EmbeddedPictureIndex":
        """Return the images of the archive with what pages say of them."""
        return self._separate.picture_index()

    def crawl_queue(self) -> "EmbeddedCrawlQueue":
        """Return the queue of URLs for crawlers."""
        return self._separate.crawl_queue()

    def outbox(self) -> "EmbeddedOutbox":
        """Return the updates that are to be sent to queues elsewhere."""
        return self._separate.outbox()

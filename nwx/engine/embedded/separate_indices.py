"""The indices of a folder that lie in files of their own, beside that of the archive."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nwx.engine.blob_folder import BlobFolder
from nwx.engine.embedded.facet_store import Connect, EmbeddedFacetStore
from nwx.engine.embedded.folder import Folder
from nwx.engine.inlinks.table import count_inlinks, inlink_stats
from nwx.model import IndexName, IndexStats

if TYPE_CHECKING:
    from nwx.engine.embedded.access.index import EmbeddedAccessIndex
    from nwx.engine.embedded.crawls.index import EmbeddedCrawlIndex
    from nwx.engine.embedded.pictures.index import EmbeddedPictureIndex
    from nwx.engine.embedded.quality.index import EmbeddedQualityIndex
    from nwx.engine.embedded.queue.database import QueueDatabase
    from nwx.engine.embedded.queue.outbox import EmbeddedOutbox
    from nwx.engine.embedded.queue.queue import EmbeddedCrawlQueue

SEPARATE = (
    IndexName.FACETS,
    IndexName.INLINKS,
    IndexName.CRAWLS,
    IndexName.QUEUE,
    IndexName.QUALITY,
    IndexName.ACCESS,
    IndexName.PICTURES,
)
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
        self._queue: QueueDatabase | None = None
        self._quality: EmbeddedQualityIndex | None = None
        self._access: EmbeddedAccessIndex | None = None
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
        from nwx.engine.embedded.crawls.index import EmbeddedCrawlIndex

        with self._guard:
            if self._crawls is None:
                self._crawls = EmbeddedCrawlIndex(
                    self._folder, self._make_archive, read_only=self._read_only
                )
            return self._crawls

    def quality_index(self) -> "EmbeddedQualityIndex":
        """Return the index quality, the same each time."""
        from nwx.engine.embedded.quality.database import QualityDatabase
        from nwx.engine.embedded.quality.index import EmbeddedQualityIndex

        with self._guard:
            if self._quality is None:
                self._quality = EmbeddedQualityIndex(
                    QualityDatabase(self._folder, self._make_archive, read_only=self._read_only)
                )
            return self._quality

    def access_index(self) -> "EmbeddedAccessIndex":
        """Return the index access, the same each time."""
        from nwx.engine.embedded.access.database import AccessDatabase
        from nwx.engine.embedded.access.index import EmbeddedAccessIndex

        with self._guard:
            if self._access is None:
                self._access = EmbeddedAccessIndex(
                    AccessDatabase(self._folder, self._make_archive, read_only=self._read_only)
                )
            return self._access

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

    def _queue_database(self) -> "QueueDatabase":
        from nwx.engine.embedded.queue.database import QueueDatabase

        with self._guard:
            if self._queue is None:
                self._queue = QueueDatabase(
                    self._folder, self._make_archive, read_only=self._read_only
                )
            return self._queue

    def count(self, index: IndexName) -> int:
        """Return the number of entries of one of these indices."""
        if index is IndexName.FACETS:
            return self.facet_store().count()
        if index is IndexName.INLINKS:
            return count_inlinks(self.inlink_blobs())
        if index is IndexName.QUEUE:
            return self.crawl_queue().counts().total
        if index is IndexName.QUALITY:
            return self.quality_index().count()
        if index is IndexName.ACCESS:
            return self.access_index().count()
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
        if index is IndexName.QUALITY:
            return self.quality_index().entries()
        if index is IndexName.ACCESS:
            return self.access_index().entries()
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
        if self._quality is not None:
            self._quality.close()
        if self._access is not None:
            self._access.close()
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

    def quality_index(self) -> "EmbeddedQualityIndex":
        """Return how captured pages play, and what monitors of crawls know."""
        return self._separate.quality_index()

    def access_index(self) -> "EmbeddedAccessIndex":
        """Return the access rules; others may use it while an import writes."""
        return self._separate.access_index()

    def picture_index(self) -> "EmbeddedPictureIndex":
        """Return the images of the archive with what pages say of them."""
        return self._separate.picture_index()

    def crawl_queue(self) -> "EmbeddedCrawlQueue":
        """Return the queue of URLs for crawlers."""
        return self._separate.crawl_queue()

    def outbox(self) -> "EmbeddedOutbox":
        """Return the updates that are to be sent to queues elsewhere."""
        return self._separate.outbox()

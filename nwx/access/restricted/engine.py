"""An engine that shows what a viewer may see of another."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from nwx.access.date_decisions import DateDecisions
from nwx.access.hidden_documents import HiddenDocumentSet
from nwx.access.hidden_spans import is_all_hidden
from nwx.access.restricted.captures import RestrictedCaptures, reading_only
from nwx.access.restricted.crawls import restricted_crawls
from nwx.access.restricted.documents import RestrictedDocuments
from nwx.access.restricted.entries import visible_entries
from nwx.access.restricted.facets import RestrictedFacetStore
from nwx.access.restricted.inlinks import restricted_inlinks
from nwx.access.restricted.pictures import RestrictedPictureIndex
from nwx.access.restricted.quality import restricted_quality
from nwx.access.restricted.queue import restricted_queue
from nwx.engine.access.access_index import AccessIndex
from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine, StagedBatch, Staging
from nwx.engine.crawls.crawl_index import CrawlIndex
from nwx.engine.entries import file_entry
from nwx.engine.facet_store import FacetStore
from nwx.engine.inlinks.inlink_index import InlinkIndex
from nwx.engine.quality.quality_index import QualityIndex
from nwx.engine.queue.crawl_queue import CrawlQueue, UpdateOutbox
from nwx.model import Batch, Collapse, IndexName, IndexStats, SourceFile, Written
from nwx.query.question import Question


class RestrictedEngine(RestrictedCaptures, RestrictedDocuments, Engine):
    """An engine as decisions show it: hidden captures are as if they were not there.

    It only reads, and closing it leaves the engine open that it shows.
    `decision` alone tells of what is hidden. With `keeps_state` the archive
    keeps what was found out about hidden documents.
    """

    def __init__(self, engine: Engine, decisions: Decisions, *, keeps_state: bool = False) -> None:
        self._engine = engine
        self._decisions = decisions
        self._dates = DateDecisions(engine, decisions)
        self._hidden = HiddenDocumentSet(engine, decisions, keeps_state=keeps_state)
        self.address = engine.address
        self.traits = engine.traits

    @property
    def decisions(self) -> Decisions:
        """What the viewer may see."""
        return self._decisions

    def create(self) -> None:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def write(self, batch: Batch) -> Written:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def staging(self) -> Staging:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def write_staged(self, staged: StagedBatch) -> Written:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def count(self, index: IndexName) -> int:
        """Return the number of visible entries of an index."""
        if index is IndexName.FACETS:
            return 0
        if index is IndexName.DOCUMENTS:
            everything = Question(limit=0, collapse=Collapse.NONE, snippets=False)
            return self.search(everything).documents.value
        if index is IndexName.CAPTURES:
            return self._engine.count(index) - self._hidden.captures()
        if index is IndexName.FILES:
            return len(self.files())
        if index is IndexName.DATES:
            return self._visible_dates()
        if index is IndexName.PICTURES:
            return self.picture_index().count()
        return self._engine.count(index)

    def _visible_dates(self) -> int:
        hidden = self._hidden.current()
        if hidden.spans:
            return sum(1 for _ in self.scan(IndexName.DATES))
        return self._engine.count(IndexName.DATES) - len(hidden.documents)

    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        """Stream the visible entries of an index, in the order of their ids."""
        if index is IndexName.FACETS:
            return iter(())
        if index is IndexName.FILES:
            return map(file_entry, self.files())
        if index is IndexName.PICTURES:
            return self.picture_index().entries()
        return visible_entries(self, self._engine, self._decisions, index)

    def files(self) -> list[SourceFile]:
        """Return the import ledger without files of which all is hidden."""
        return [
            file
            for file in self._engine.files()
            if not is_all_hidden(self._decisions, file.collection, file.name)
        ]

    def facet_store(self) -> FacetStore:
        """Return the visible captures in bulk."""
        return RestrictedFacetStore(self._engine, self._decisions)

    def inlink_index(self) -> InlinkIndex:
        """Return the documents with their links in bulk, and the inlinks, that are visible."""
        return restricted_inlinks(self._engine, self._decisions)

    def crawl_index(self) -> CrawlIndex:
        """Return the crawl specifications, and the scores of visible documents and links."""
        return restricted_crawls(self._engine, self._decisions)

    def quality_index(self) -> QualityIndex:
        """Return how visible captures play."""
        return restricted_quality(self._engine, self._decisions)

    def picture_index(self) -> RestrictedPictureIndex:
        """Return the visible images with what visible pages say of them."""
        return RestrictedPictureIndex(self._engine, self, self._hidden.current)

    def crawl_queue(self) -> CrawlQueue:
        """Return the queue of visible URLs."""
        return restricted_queue(self._engine, self._decisions)

    def outbox(self) -> UpdateOutbox:
        """Raise EngineError: who sees a part of an archive sends nothing to queues."""
        raise reading_only()

    def access_index(self) -> AccessIndex:
        """Raise EngineError: rules tell what is hidden."""
        raise reading_only()

    def stats(self) -> dict[IndexName, IndexStats]:
        """Return the number of visible entries of each index; bytes would tell of the others."""
        return {index: IndexStats(self.count(index), None) for index in self._engine.stats()}

    def refresh(self) -> None:
        """Make all that was written visible to searches."""
        self._engine.refresh()

    def close(self) -> None:
        """Leave the engine open: whoever opened it closes it."""

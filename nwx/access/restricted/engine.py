"""An engine that shows what a viewer may see of another."""

import pkgutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from nwx.access.date_decisions import DateDecisions
from nwx.access.hidden_documents import HiddenDocumentSet
from nwx.access.hidden_spans import is_all_hidden
from nwx.access.restricted.built_entries import BUILT, visible_built_entries
from nwx.access.restricted.captures import RestrictedCaptures, reading_only
from nwx.access.restricted.crawls import RestrictedCrawlIndex
from nwx.access.restricted.documents import RestrictedDocuments
from nwx.access.restricted.entries import visible_entries
from nwx.access.restricted.entry_store import RestrictedStore
from nwx.access.restricted.facets import RestrictedFacetStore
from nwx.access.restricted.hidden_urls import HiddenUrls
from nwx.access.restricted.inlinks import RestrictedInlinkIndex
from nwx.access.restricted.pictures import RestrictedPictureIndex
from nwx.access.restricted.queue import RestrictedCrawlQueue
from nwx.engine.access.access_index import AccessIndex
from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine, StagedBatch, Staging
from nwx.engine.entries import file_entry
from nwx.engine.facet_store import FacetStore
from nwx.engine.indices.declarations import INDICES
from nwx.engine.indices.entry_store import EntryStore
from nwx.engine.queue.crawl_queue import CrawlQueue, UpdateOutbox
from nwx.model import Batch, Collapse, IndexName, IndexStats, SourceFile, Written
from nwx.query.question import Question


class RestrictedEngine(RestrictedCaptures, RestrictedDocuments, Engine):
    """An engine as decisions show it: hidden captures are as if they were not there.

    It only reads, and closing it leaves the engine open that it shows.
    `decision` alone tells of what is hidden. With `keeps_state` the archive
    keeps what was found out about hidden documents. `before` is the engine of
    other decisions, from which this one goes on where they differ little.
    """

    def __init__(
        self,
        engine: Engine,
        decisions: Decisions,
        *,
        keeps_state: bool = False,
        before: "RestrictedEngine | None" = None,
    ) -> None:
        self._engine = engine
        self._decisions = decisions
        self._dates = DateDecisions(engine, decisions)
        self._hidden = HiddenDocumentSet(
            engine,
            decisions,
            keeps_state=keeps_state,
            before=before._hidden if before is not None else None,
        )
        self.urls = HiddenUrls(engine, decisions)
        self._stores: dict[IndexName, EntryStore] = {}
        self.address = engine.address
        self.traits = engine.traits

    @property
    def decisions(self) -> Decisions:
        """What the viewer may see."""
        return self._decisions

    @property
    def whole(self) -> Engine:
        """The engine with all that is hidden."""
        return self._engine

    @property
    def hidden_key(self) -> str:
        """A text that differs whenever other documents or captures are hidden."""
        return f"{self._decisions.key} {self._hidden.current().key}"

    def hidden_urls(self, urls: Collection[str]) -> set[str]:
        """Return those of these URLs that may not be shown, whether they were captured or not."""
        return self.urls.among(urls)

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
        if index is IndexName.QUALITY:
            return self.quality_index().totals().pages
        if index is IndexName.QUEUE:
            return self.crawl_queue().counts().total
        return sum(1 for _ in self.scan(index))

    def _visible_dates(self) -> int:
        hidden = self._hidden.current()
        if hidden.spans:
            return sum(1 for _ in self.scan(IndexName.DATES))
        return self._engine.count(IndexName.DATES) - len(hidden.documents)

    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        """Stream the visible entries of an index, in the order of their ids."""
        if index in (IndexName.FACETS, IndexName.ACCESS):  # rules tell what is hidden
            return iter(())
        if index is IndexName.FILES:
            return map(file_entry, self.files())
        if index is IndexName.PICTURES:
            return self.picture_index().entries()
        if INDICES[index].visible:
            return self.entry_store(index).find()
        if index in BUILT:
            return visible_built_entries(self._engine, self, index)
        return visible_entries(self, self._engine, self._decisions, index)

    def files(self) -> list[SourceFile]:
        """Return the import ledger: files with visible captures, or none, and their counts."""
        return list(self._visible_files())

    def claims(self) -> None:
        """Return None: what is being imported is not shown before it is there."""

    def _visible_files(self) -> Iterator[SourceFile]:
        for file in self._engine.files():
            if is_all_hidden(self._decisions, file.collection, file.name):
                continue
            visible, hidden = self._hidden.file_captures(file.collection, file.name)
            if not hidden:
                yield file
            elif visible:
                # Sizes, and counts of records, would tell of the others.
                yield replace(file, size=None, checksum="", counts={"captures": visible})

    def facet_store(self) -> FacetStore:
        """Return the visible captures in bulk."""
        return RestrictedFacetStore(self._engine, self._decisions)

    def inlink_index(self) -> RestrictedInlinkIndex:
        """Return the documents with their links in bulk, and the inlinks, that are visible."""
        return self._inlinks

    def crawl_index(self) -> RestrictedCrawlIndex:
        """Return the crawl specifications, and the scores of visible documents and links."""
        return self._crawls

    def entry_store(self, index: IndexName) -> EntryStore:
        """Return the visible entries of an index that is declared to have small ones."""
        if index not in self._stores:
            visible = pkgutil.resolve_name(INDICES[index].visible)(self)
            self._stores[index] = RestrictedStore(self._engine.entry_store(index), visible, self)
        return self._stores[index]

    def picture_index(self) -> RestrictedPictureIndex:
        """Return the visible images with what visible pages say of them."""
        return RestrictedPictureIndex(self._engine, self, self._hidden.current)

    def crawl_queue(self) -> CrawlQueue:
        """Return the queue of visible URLs."""
        return RestrictedCrawlQueue(self._engine, self.urls)

    def outbox(self) -> UpdateOutbox:
        """Return the updates that are to be sent to queues elsewhere, by whoever crawls."""
        return self._engine.outbox()

    def access_index(self) -> AccessIndex:
        """Raise EngineError: rules tell what is hidden."""
        raise reading_only()

    def stats(self) -> dict[IndexName, IndexStats]:
        """Return the number of visible entries of each index; bytes would tell of the others."""
        return {index: IndexStats(self.count(index), None) for index in self._engine.stats()}

    @cached_property
    def _inlinks(self) -> RestrictedInlinkIndex:
        return RestrictedInlinkIndex(self._engine, self._decisions, self.urls, self._hidden.current)

    @cached_property
    def _crawls(self) -> RestrictedCrawlIndex:
        return RestrictedCrawlIndex(self._engine, self.urls, self.dates)

    def refresh(self) -> None:
        """Make all that was written visible to searches."""
        self._engine.refresh()

    def close(self) -> None:
        """Leave the engine open: whoever opened it closes it."""

"""An engine restricted to what a viewer may see of another engine."""

import pkgutil
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from nwx.access.date_decisions import DateDecisions, is_all_hidden
from nwx.access.hidden_documents import HiddenDocumentSet
from nwx.access.hidden_urls import HiddenError, HiddenUrls
from nwx.access.restricted_captures import (
    RestrictedCaptures,
    RestrictedDocuments,
    forwarded,
    reading_only,
    visible_entries,
    writing_refused,
)
from nwx.access.restricted_crawls import RestrictedCrawlIndex, RestrictedCrawlQueue
from nwx.access.restricted_entries import RestrictedStore, VisibleEntries
from nwx.access.restricted_stores import (
    RestrictedFacetStore,
    RestrictedInlinkIndex,
    RestrictedPictureIndex,
)
from nwx.engine.access.decisions import AccessRules, Decision, Decisions
from nwx.engine.access.rules import EVERYBODY, Action, Viewer
from nwx.engine.base import Engine
from nwx.engine.entries import file_entry
from nwx.engine.facet_store import FacetStore
from nwx.engine.indices.change_log import AliasIndex
from nwx.engine.indices.crawl_queue import CrawlQueue
from nwx.engine.indices.declarations import INDICES, IndexKind
from nwx.engine.indices.digest_index import DigestIndex
from nwx.engine.indices.entry_store import EntryStore
from nwx.errors import UrlError
from nwx.model import Collapse, IndexName, IndexStats, SourceFile
from nwx.query.question import Question
from nwx.values.urlkeys import urlkey, with_scheme

if TYPE_CHECKING:
    from nwx.engine.indices.vector_index import NearPassages, VectorIndex
    from nwx.model import SearchResult
    from nwx.query.question import Question


class RestrictedEngine(RestrictedCaptures, RestrictedDocuments, Engine):
    """A read-only engine that treats captures hidden by decisions as missing.

    Closing it leaves the underlying engine open. Only `decision` reports hidden captures. With
    `keeps_state` the archive stores the hidden documents found. `before` is an engine of other
    decisions, whose results are reused if the decisions differ little.
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
        self._counting = threading.Lock()
        self._counted: tuple[object, dict[IndexName, IndexStats]] | None = None
        self.address = engine.address
        self.traits = engine.traits

    @property
    def decisions(self) -> Decisions:
        """The decisions for the viewer."""
        return self._decisions

    @property
    def whole(self) -> Engine:
        """The underlying engine, with all hidden entries."""
        return self._engine

    @property
    def hidden_key(self) -> str:
        return f"{self._decisions.key} {self._hidden.current().key}"

    def hidden_urls(self, urls: Collection[str]) -> set[str]:
        return self.urls.among(urls)

    def count(self, index: IndexName) -> int:
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
        if index is IndexName.INLINKS:
            table = self.inlink_index().table()
            return 0 if table is None else table.count()
        if index is IndexName.QUALITY:
            return self.quality_index().totals().pages
        if index is IndexName.PICTURES and not self._hidden.current():
            return self._engine.count(index)
        return sum(1 for _ in self.scan(index))

    def _visible_dates(self) -> int:
        hidden = self._hidden.current()
        if hidden.spans:
            return sum(1 for _ in self.scan(IndexName.DATES))
        return self._engine.count(IndexName.DATES) - len(hidden.documents)

    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        declared = INDICES[index]
        if index is IndexName.FACETS or (
            declared.kind is IndexKind.ENTRIES and not declared.visible
        ):
            return iter(())  # such as access rules, which reveal what is hidden
        if index is IndexName.FILES:
            return map(file_entry, self.files())
        if index is IndexName.INLINKS:
            # Imported here: it takes a while to load.
            from nwx.engine.inlinks.link_entries import table_entries

            table = self.inlink_index().table()
            return iter(()) if table is None else table_entries(table)
        if declared.visible:
            return self._visible_entries(index).stream(self._engine.scan(index))
        return visible_entries(self, self._engine, self._decisions, index)

    def files(self) -> list[SourceFile]:
        """Return the import ledger: files with visible captures or without any, with counts."""
        return list(self._visible_files())

    def claims(self) -> None:
        """Return None: files being imported are not shown before they are complete."""

    def _visible_files(self) -> Iterator[SourceFile]:
        for file in self._engine.files():
            if is_all_hidden(self._decisions, file.collection, file.name):
                continue
            visible, hidden = self._hidden.file_captures(file.collection, file.name)
            if not hidden:
                yield file
            elif visible:
                # Sizes and counts of records would reveal the others.
                yield replace(file, size=None, checksum="", counts={"captures": visible})

    def facet_store(self) -> FacetStore:
        return RestrictedFacetStore(self._engine, self._decisions)

    def inlink_index(self) -> RestrictedInlinkIndex:
        return self._inlinks

    def crawl_index(self) -> RestrictedCrawlIndex:
        return self._crawls

    def entry_store(self, index: IndexName) -> EntryStore:
        """Return the visible entries of an index declared to have small ones.

        Raises EngineError if the index does not declare which entries are visible.
        """
        if not INDICES[index].visible:
            raise reading_only()
        if index not in self._stores:
            store = self._engine.entry_store(index)
            self._stores[index] = RestrictedStore(store, self._visible_entries(index), self)
        return self._stores[index]

    def _visible_entries(self, index: IndexName) -> VisibleEntries:
        visible: type[VisibleEntries] = pkgutil.resolve_name(INDICES[index].visible)
        return visible(self)

    def picture_index(self) -> RestrictedPictureIndex:
        return RestrictedPictureIndex(self._engine, self, self._hidden.current)

    def search_near(self, question: "Question", near: "NearPassages") -> "SearchResult":
        return self._engine.search_near(replace(question, hidden=self._hidden.current()), near)

    def vector_index(self) -> "VectorIndex":
        """Return all passages, also of hidden documents: searches filter them."""
        return self._engine.vector_index()

    @property
    def aliases(self) -> AliasIndex:
        """The aliases of all URLs, also of hidden ones: no answer names them."""
        return self._engine.aliases

    @property
    def digests(self) -> DigestIndex:
        """The additional digests of all payloads, also of hidden ones: no answer names them."""
        return self._engine.digests

    def crawl_queue(self) -> CrawlQueue:
        return RestrictedCrawlQueue(self._engine, self.urls)

    def stats(self) -> dict[IndexName, IndexStats]:
        """Return the number of visible entries by index; bytes would reveal hidden entries.

        Some are counted one by one, so the numbers are cached until an index changes.
        """
        with self._counting:
            whole = self._engine.stats()
            stamp = whole, self._engine.capture_mark(), self.hidden_key
            if self._counted is None or self._counted[0] != stamp:
                found = {index: IndexStats(self.count(index), None) for index in whole}
                self._counted = stamp, found
            return dict(self._counted[1])

    @cached_property
    def _inlinks(self) -> RestrictedInlinkIndex:
        return RestrictedInlinkIndex(self._engine, self._decisions, self.urls, self._hidden.current)

    @cached_property
    def _crawls(self) -> RestrictedCrawlIndex:
        return RestrictedCrawlIndex(self._engine, self.urls, self.dates)

    def close(self) -> None:
        """Leave the engine open: its opener closes it."""

    outbox = forwarded("_engine")
    refresh = forwarded("_engine")
    create = write = staging = write_staged = delete = access_index = writing_refused


_KEPT = 32


def restricted_to(engine: Engine, viewer: Viewer, now: datetime | None = None) -> Engine:
    """Return an engine as a viewer may see it: the engine itself if nothing is hidden."""
    rules = engine.access_index().rules()
    return _shown(engine, rules, rules.for_viewer(viewer, now))


def _shown(
    engine: Engine, rules: AccessRules, decisions: Decisions, before: Engine | None = None
) -> Engine:
    if decisions.hides_nothing:
        return engine
    # Most viewers see what everybody may see: this state is worth storing for other processes.
    is_usual = decisions.key == rules.for_viewer(EVERYBODY).key
    known = before if isinstance(before, RestrictedEngine) else None
    return RestrictedEngine(engine, decisions, keeps_state=is_usual, before=known)


class RestrictedEngines:
    """The restricted engines of an archive, one per class of viewers; thread-safe.

    A change of the rules takes effect with the next call.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._guard = threading.Lock()
        self._kept: LRUCache[str, Engine] = LRUCache(_KEPT)
        self._last: Engine | None = None

    def has_rules(self) -> bool:
        """Return whether any access rules exist, so that answers depend on the viewer."""
        return bool(self._engine.access_index().rules().rules)

    def for_viewer(self, viewer: Viewer) -> Engine:
        """Return the archive as a viewer may see it: the engine itself if nothing is hidden."""
        if viewer.sees_all:
            return self._engine
        rules = self._engine.access_index().rules()
        decisions = rules.for_viewer(viewer)
        if decisions.hides_nothing:
            return self._engine
        with self._guard:
            shown = self._kept.get(decisions.key)
            if shown is None:
                shown = _shown(self._engine, rules, decisions, self._last)
                self._kept[decisions.key] = self._last = shown
            return shown


def check_document_shown(engine: Engine, id: str) -> None:
    """Raise HiddenError for a document that is archived but may not be shown.

    Excluded documents raise nothing.
    """
    if isinstance(engine, RestrictedEngine) and (decision := engine.decision(id)):
        _check([decision])


def check_url_shown(engine: Engine, url: str, timestamp: str = "") -> None:
    """Raise HiddenError if all captures of a URL, or all of a date, may not be shown.

    URLs that are excluded or not in the archive raise nothing.
    """
    if not isinstance(engine, RestrictedEngine):
        return
    try:
        key = urlkey(with_scheme(url))
    except UrlError:
        return
    _check(engine.url_decisions(key, timestamp))


def _check(decisions: Iterable[Decision]) -> None:
    told = None
    for decision in decisions:
        if not decision.is_hidden:
            return
        if decision.action is not Action.EXCLUDE:
            told = told or decision
    if told is not None:
        raise HiddenError.from_decision(told)

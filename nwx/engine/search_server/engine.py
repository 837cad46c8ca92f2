"""The engine of an archive on a search server."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.base import Engine, EngineTraits, StagedBatch, Staging, check_deletable
from nwx.engine.capabilities import Claim, ClaimChange, ClaimedFile, FileClaims, Upgrade
from nwx.engine.document_index import DatesBuilder
from nwx.engine.entries import IndexEntry, file_entry, file_from_entry, file_id, merged_entries
from nwx.engine.indices.declarations import INDICES, IndexKind
from nwx.engine.inlinks.anchor_table import COPIES_FOLDER, AnchorBlobs
from nwx.engine.inlinks.link_entries import inlink_entries
from nwx.engine.search_server.built_stores import ServerFacetStore, ServerInlinkIndex
from nwx.engine.search_server.capture_lookups import CaptureLookups
from nwx.engine.search_server.capture_store import CaptureStore
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.date_store import DatesStore, dates_of_batch
from nwx.engine.search_server.documents.date_entries import CHUNK_ENTRIES
from nwx.engine.search_server.documents.linked_search import LinkedSearches
from nwx.engine.search_server.documents.near_search import Searching
from nwx.engine.search_server.documents.store import DocumentsIndex, similar_words
from nwx.engine.search_server.entries.crawl_index import ServerCrawlIndex
from nwx.engine.search_server.entries.crawl_queue import ServerCrawlQueue, ServerOutbox
from nwx.engine.search_server.entries.picture_index import ServerPictureIndex
from nwx.engine.search_server.entries.store import ServerEntryStore, entry_query
from nwx.engine.search_server.maintenance import ServerPurger, ServerShards, ServerSnapshots
from nwx.engine.search_server.pages import count_hits, pages, searched
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Body, Server
from nwx.engine.search_server.writes import BulkAction, ServerStaging, refresh, send
from nwx.errors import PartialAnswerError, UsageError
from nwx.model import (
    MAIN_DATES,
    Batch,
    Capture,
    Dates,
    Document,
    Hit,
    IndexName,
    IndexStats,
    NamedDates,
    SearchResult,
    SourceFile,
    Written,
)
from nwx.query.question import Question
from nwx.settings import RankingSettings, ServerSettings
from nwx.values.timestamps import Period, TrendPoint

if TYPE_CHECKING:
    from nwx.engine.indices.vector_index import NearPassages
    from nwx.engine.search_server.entries.vector_index import ServerVectorIndex


_CLAIM = ("holder", "counter", "lease_seconds", "ended")
LISTED: Body = {"exists": {"field": "done_to"}}
"""Matches the entries of files; other entries are claims on files not imported yet."""


class ServerFileClaims(FileClaims):
    """The claims stored in the ledger's entries (`store`)."""

    def __init__(self, store: ServerEntryStore) -> None:
        self._store = store

    def read(self, collection: str, names: Collection[str]) -> dict[str, ClaimedFile]:
        by_id = {file_id(collection, name): name for name in names}
        found = self._store.get(by_id)
        return {name: _claimed(collection, name, found.get(id)) for id, name in by_id.items()}

    def update(
        self, collection: str, names: Collection[str], change: ClaimChange
    ) -> dict[str, ClaimedFile]:
        by_id = {file_id(collection, name): name for name in names}
        rows: dict[str, ClaimedFile] = {}

        def changed(known: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            found = {id: _claimed(collection, by_id[id], entry) for id, entry in known.items()}
            new = {id: row for id, old in found.items() if (row := change(old)) is not None}
            rows.update({row.name: row for row in (found | new).values()})
            return {id: _entry(id, row) for id, row in new.items()}

        self._store.update(by_id, changed)
        return rows

    def held(self) -> list[ClaimedFile]:
        ended = {"term": {"ended": True}}
        query = {"bool": {"filter": [{"exists": {"field": "holder"}}], "must_not": [ended]}}
        by_name = [{"collection": "asc"}, {"name": "asc"}, {"id": "asc"}]
        return [_claimed("", "", hit["_source"]) for hit in self._store.stream(query, by_name)]


def _claimed(collection: str, name: str, entry: IndexEntry | None) -> ClaimedFile:
    if entry is None:
        return ClaimedFile(collection, name)
    return ClaimedFile(
        entry["collection"],
        entry["name"],
        file_from_entry(entry) if "done_to" in entry else None,
        Claim(*(entry[name] for name in _CLAIM)) if "holder" in entry else None,
    )


def _entry(id: str, change: ClaimedFile) -> IndexEntry | None:
    if change.file is None and change.claim is None:
        return None
    named: IndexEntry = {"id": id, "collection": change.collection, "name": change.name}
    entry = named if change.file is None else file_entry(change.file)
    claim = change.claim
    return entry | ({name: getattr(claim, name) for name in _CLAIM} if claim else {})


_KEPT_SECONDS = 1.0


class SearchServerEngine(CaptureLookups, Engine):
    """The indices `<prefix>-documents`, `-dates`, `-captures`, … of a server."""

    traits = EngineTraits(
        estimates=True, live_selections=True, transactional_load=False, is_local=False
    )

    def __init__(
        self, server: Server, settings: ServerSettings, ranking: RankingSettings | None = None
    ) -> None:
        self._server = server
        self.address = self._server.address
        self._schema = Schema(self._server, settings)
        self._mark = ""
        self._name = self._schema.name
        self._documents = DocumentsIndex(self._server, self._name(IndexName.DOCUMENTS))
        self._captures = self._name(IndexName.CAPTURES)
        self._capture_store = CaptureStore(self._server, self._captures)
        self._dates = DatesStore(self._server, self._name(IndexName.DATES))
        self._parallel = ServerDatesIndices(self._server, self._schema)
        self._settings = settings
        self._stores: dict[IndexName, ServerEntryStore] = {}
        self._vectors: ServerVectorIndex | None = None
        queue = self.entry_store(IndexName.QUEUE)
        self._queue, self._outbox = ServerCrawlQueue(queue), ServerOutbox(queue)
        self._searching = Searching(
            self._server,
            self._schema,
            self._parallel,
            LinkedSearches(
                AnchorBlobs(self._inlink_index(COPIES_FOLDER), self.dates, _KEPT_SECONDS),
                ranking or RankingSettings(),
            ),
        )

    def create(self) -> None:
        self._schema.create()

    def check(self) -> None:
        self._schema.check()

    def write(self, batch: Batch) -> Written:
        return self.write_staged(self.stage(batch))

    def staging(self) -> Staging:
        """Return a staging that stores all but ledger entries at once, among other writers."""
        return ServerStaging(self._stored)

    def _stored(self, batch: Batch) -> Written:
        # Dates first, so that each document that is found has its own date among them.
        dates = self._dates.add(dates_of_batch(batch))
        documents = self._documents.write(batch.documents)
        documents += self._documents.write(batch.amended, amends=True)
        captures = self._capture_store.add(batch.captures)
        return Written(documents["created"], documents["updated"], captures, dates)

    def write_staged(self, staged: StagedBatch) -> Written:
        self._put(
            BulkAction(self._name(IndexName.FILES), entry["id"], entry)
            for entry in map(file_entry, staged.files)
        )
        written: Written = staged.content
        return written

    def _put(self, actions: Iterable[BulkAction]) -> list[str]:
        return send(self._server, actions)

    def known(self, ids: Collection[str]) -> dict[str, int]:
        return self._documents.known(list(dict.fromkeys(ids)))

    def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        return self._documents.read(list(dict.fromkeys(ids)))

    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        return self._parallel.read(list(dict.fromkeys(ids)))

    def capture_mark(self) -> str:
        if not self._schema.is_made(IndexName.CAPTURES):
            return ""
        self._mark = self._capture_store.mark(self._mark)
        return self._mark

    def captures_since(
        self, mark: str, until: str = "", collection: str = ""
    ) -> Iterator[tuple[Capture, str]]:
        return self._capture_store.since(mark, until, collection)

    def load_captures(self, batches: Iterable[Sequence[Capture]]) -> int:
        self._schema.create()
        return self._capture_store.load(batches)

    def unload_captures(self, ids: Iterable[str]) -> int:
        return self._capture_store.unload(ids)

    def append_dates(self, dates: Sequence[Dates], into: str = MAIN_DATES) -> int:
        if not self._schema.is_made(IndexName.DATES):
            self._schema.create()
        return self._parallel.append(into, dates)

    def dates_indices(self) -> list[NamedDates]:
        return self._parallel.listed()

    def attach_dates(self, name: str, address: str = "") -> None:
        self._parallel.attach(name, address)

    def detach_dates(self, name: str) -> None:
        self._parallel.detach(name)

    def drop_dates(self, name: str) -> None:
        self._parallel.drop(name)

    def scan_dates(self, place: str) -> Iterator[Dates]:
        return self._parallel.scan(place)

    def build_dates(self, place: str) -> AbstractContextManager[DatesBuilder]:
        return self._parallel.build(place)

    def search(self, question: Question) -> SearchResult:
        self._schema.check()
        allowed = self._settings.partial and not question.hidden
        return searched(self._searching.search, self.widened(question), partial=allowed)

    def search_near(self, question: Question, near: "NearPassages") -> SearchResult:
        self._schema.check()
        search = partial(self._searching.search_near, near=near, vectors=self.vector_index())
        allowed = self._settings.partial and not question.hidden
        return searched(search, self.widened(question), partial=allowed)

    def totals(self, questions: Sequence[Question]) -> list[int]:
        self._schema.check()
        return self._searching.totals([*map(self.widened, questions)])

    def scroll(self, question: Question) -> Iterator[Hit]:
        self._schema.check()
        return self._searching.scroll(self.widened(question))

    def trends(self, questions: Sequence[Question], period: Period) -> list[list[TrendPoint]]:
        self._schema.check()
        return self._searching.trends([*map(self.widened, questions)], period)

    def similar_words(self, word: str, most: int) -> list[str]:
        self._schema.check()
        name, partial = self._name(IndexName.DOCUMENTS), self._settings.partial
        return similar_words(self._server, name, word, most, partial=partial)

    def count(self, index: IndexName) -> int:
        if self._is_not_made_yet(index):
            return 0
        wanted = LISTED if index is IndexName.FILES else entry_query(INDICES[index].shown)
        found = count_hits(self._server, self._name(index), wanted)
        if index is IndexName.DATES:
            found -= count_hits(self._server, self._name(index), CHUNK_ENTRIES)
        return found

    def _is_not_made_yet(self, index: IndexName) -> bool:
        """Return whether an index is missing because the archive has an older version."""
        return INDICES[index].kind is not IndexKind.IMPORTED and not self._schema.is_made(index)

    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        if index is IndexName.DATES:
            return merged_entries(self._parallel.scanned())
        if self._is_not_made_yet(index):
            return iter(())
        if INDICES[index].shown:
            return self.entry_store(index).find(INDICES[index].shown)
        if index is IndexName.FILES:
            return map(file_entry, self.files())
        if index is IndexName.CAPTURES:
            return self._capture_store.entries()
        if index is IndexName.VECTORS:
            return self.vector_index().entries()
        if index is IndexName.INLINKS:
            return inlink_entries(self.inlink_index())
        return self._parallel.entries(self._name(index))

    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        check_deletable(index)
        if index is IndexName.PICTURES:
            return self.picture_index().remove(ids)
        if INDICES[index].kind is IndexKind.ENTRIES:
            return self.entry_store(index).delete(ids)
        if index is IndexName.DATES:
            return self._dates.delete(list(dict.fromkeys(ids)))
        actions = (BulkAction(self._name(index), id, None, "delete") for id in dict.fromkeys(ids))
        return self._put(actions).count("deleted")

    def files(self) -> list[SourceFile]:
        name = self._name(IndexName.FILES)
        refresh(self._server, name)  # a resumed import must see the latest writes
        by_name = [{"collection": "asc"}, {"name": "asc"}, {"id": "asc"}]
        found = pages(self._server, name, {"query": LISTED}, by_name)
        return [file_from_entry(hit["_source"]) for page in found for hit in page]

    def claims(self) -> ServerFileClaims:
        return ServerFileClaims(self.entry_store(IndexName.FILES))

    def facet_store(self) -> ServerFacetStore:
        captures, facets = self._name(IndexName.CAPTURES), self._name(IndexName.FACETS)
        return ServerFacetStore(self._server, captures, facets, self._settings)

    def crawl_index(self) -> ServerCrawlIndex:
        return ServerCrawlIndex(self.entry_store(IndexName.CRAWLS))

    def entry_store(self, index: IndexName) -> ServerEntryStore:
        if index not in self._stores:
            store = ServerEntryStore(self._server, self._schema, self._settings, index)
            self._stores[index] = store
        return self._stores[index]

    def picture_index(self) -> ServerPictureIndex:
        return ServerPictureIndex(self.entry_store(IndexName.PICTURES))

    def vector_index(self) -> "ServerVectorIndex":
        # Imported here: this loads NumPy, and most archives have no vectors.
        from nwx.engine.search_server.entries.vector_index import ServerVectorIndex

        if self._vectors is None:
            store, is_dense = self.entry_store(IndexName.VECTORS), self._server.has_dense_vectors
            self._vectors = ServerVectorIndex(store, has_dense_vectors=is_dense)
        return self._vectors

    def inlink_index(self) -> ServerInlinkIndex:
        return self._inlink_index()

    def _inlink_index(self, copies: str = "") -> ServerInlinkIndex:
        """Return the inlinks, with local copies of blobs in the subfolder `copies`."""
        return ServerInlinkIndex(self._server, self._name, self._parallel, self._settings, copies)

    def upgrade(self, progress: ShowProgress = no_progress) -> Upgrade:
        done = super().upgrade(progress)
        self._queue.name_ports()
        return done

    def crawl_queue(self) -> ServerCrawlQueue:
        return self._queue

    def outbox(self) -> ServerOutbox:
        return self._outbox

    def purger(self) -> ServerPurger:
        return ServerPurger(self._server, self._schema, self._parallel)

    def backups(self, place: str) -> ServerSnapshots:
        if not place or "/" in place:
            raise UsageError(
                f"{place!r} is not the name of a snapshot repository of {self.address}; backups "
                "of an archive on a server are named REPOSITORY/NAME"
            )
        return ServerSnapshots(self._server, self.shards(), self._settings.prefix, place)

    def shards(self) -> ServerShards:
        return ServerShards(self._server, self._schema, self._parallel, self._settings)

    def stats(self) -> dict[IndexName, IndexStats]:
        return {index: self._stats(index) for index in IndexName}

    def _stats(self, index: IndexName) -> IndexStats:
        if self._is_not_made_yet(index):
            return IndexStats(0, 0)
        try:
            entries = self.count(index)
        except PartialAnswerError:
            return IndexStats(None, None)
        return IndexStats(entries, self._schema.stored_bytes(self._name(index)))

    def refresh(self) -> None:
        names = ",".join(self._name(index) for index in IndexName)
        refresh(self._server, names, ignore_missing=True)
        self._parallel.refresh()

    def close(self) -> None:
        self._server.close()

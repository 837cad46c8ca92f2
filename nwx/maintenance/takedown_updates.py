"""Updates after a takedown: documents, their builds and graphs, counts of the ledger."""

import json
import shutil
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nwx.bulk.progress import ShowProgress
from nwx.bulk.whole_files import locked_folder
from nwx.engine.base import Engine
from nwx.engine.entries import document_entry, document_from_entry
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.anchor_writer import forget_anchors
from nwx.errors import EngineVersionError, SettingsError
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.sites import Sites
from nwx.facets.stored_build import current_build
from nwx.keys import holds, makes_document, precedence
from nwx.links.build import InlinkBuildOptions, OpenEngine, invert_links
from nwx.maintenance.takedown_targets import RecordPlace, ScopeCaptures
from nwx.model import PURGED, UNDEDUPLICATED, Batch, Capture, Document, IndexName, SourceFile
from nwx.settings import Settings
from nwx.steering.triples.archive_triples import triple_store
from nwx.steering.triples.terms import analysis_iri, capture_iri, names_iri

_STATE = "purged-documents"


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """Numbers of documents that were removed, and that now belong to another capture."""

    removed: int = 0
    moved: int = 0


class PurgedDocuments:
    """Removes captures from documents.

    The text of a document that another capture shares is kept. Such documents are saved in a state
    of the access index while they are deleted and written again, so that a killed purge loses none.
    """

    def __init__(self, engine: Engine, scope: ScopeCaptures) -> None:
        self._engine, self._scope = engine, scope
        self._access = engine.access_index()

    def restore(self) -> None:
        """Write the documents saved by a killed purge again."""
        kept = self._access.state(_STATE)
        if kept:
            self._write_again([document_from_entry(one) for one in _unpacked(kept)])

    def take(self, ids: Collection[str]) -> DocumentCounts:
        """Remove the captures of the scope from these documents."""
        found = self._engine.documents(list(ids))
        own = {id: document for id, document in found.items() if self._scope.has(document.capture)}
        moved = [] if self._scope.has_whole_documents else list(self._moved(own.items()))
        if moved:
            self._access.put_state(_STATE, _packed(moved))
        if own:
            self._engine.delete(IndexName.DOCUMENTS, list(own))
        if moved:
            self._write_again(moved)
        return DocumentCounts(len(own) - len(moved), len(moved))

    def _moved(self, documents: Collection[tuple[str, Document]]) -> Iterator[Document]:
        """Yield the documents whose payload another capture has, with that capture."""
        for id, document in documents:
            others = [one for one in self._others(document.capture.urlkey) if holds(one, id)]
            if others:
                yield Document(max(others, key=precedence), document.extract)

    def _others(self, urlkey: str) -> Iterator[Capture]:
        """Yield the remaining captures of a urlkey that have a payload."""
        for capture in self._engine.captures(urlkey):
            if makes_document(capture) and not self._scope.has(capture):
                yield capture

    def _write_again(self, documents: Sequence[Document]) -> None:
        self._engine.write(Batch(documents=tuple(documents)))
        self._engine.refresh()
        self._access.put_state(_STATE, b"")


def _packed(documents: Sequence[Document]) -> bytes:
    return zlib.compress(json.dumps([document_entry(one) for one in documents]).encode())


def _unpacked(state: bytes) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(zlib.decompress(state))
    return found


_WORK, _LOCK = "work", "lock"


def rebuild(engine: Engine, open_engine: OpenEngine, progress: ShowProgress) -> Iterator[str]:
    """Rebuild facets and inlinks if they exist; yield the names of the rebuilt indices.

    Remains of interrupted builds are removed. Raises EngineBusyError if another process builds on
    this machine.
    """
    facets, inlinks = engine.facet_store(), engine.inlink_index()
    _remove_unfinished(facets, "builds facets")
    if facets.version():
        build_archive_facets(engine, _facet_options(facets), progress)
        yield "facets"
    _remove_unfinished(inlinks, "inverts links")
    if inlinks.version():
        invert_links(engine, open_engine, InlinkBuildOptions(anew=True), progress)
        forget_anchors(inlinks)
        yield "inlinks"


def _facet_options(store: BlobStore) -> FacetBuildOptions:
    """Return the options of the current build."""
    try:
        before = current_build(store)
    except EngineVersionError:
        before = None
    if before is None:
        return FacetBuildOptions(anew=True)
    known = before.notes
    sites = Sites(known.sites) if known.sites else None
    return FacetBuildOptions(known.min_captures, sites, anew=True, combinations=bool(known.cube))


def _remove_unfinished(store: BlobStore, work: str) -> None:
    folder = store.folder / _WORK
    if not folder.exists():
        return
    with locked_folder(folder, work):
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != _LOCK:
                path.unlink()


_WAIT_SECONDS = 60.0


def remove_graphs(engine: Engine, settings: Settings, pages: Sequence[tuple[str, str]]) -> int:
    """Remove the graphs of captures, pairs of URL and timestamp; return how many existed.

    Raises TripleStoreError if the store cannot be written.
    """
    try:
        store = triple_store(settings)
    except SettingsError:
        return 0  # an archive on a server that has no triples
    if not pages or not store.version():
        return 0
    crawls = [each.name for each in engine.crawl_index().specifications()]
    names = [
        name
        for url, timestamp in pages
        for name in (
            capture_iri(url, timestamp),
            names_iri(url, timestamp),
            *(analysis_iri(url, timestamp, crawl) for crawl in crawls),
        )
    ]
    with store.writer(_WAIT_SECONDS) as writer:
        return writer.erase(names)


def page_of(capture: Capture) -> tuple[str, str] | None:
    """Return the URL and timestamp that identify a capture's graphs, None if it has none."""
    is_page = capture.document_id and capture.content_type_norm == "html"
    return (capture.url, capture.timestamp) if is_page else None


_COUNTS_STATE = "purged-counts-{}"
_Planned = list[list[str | int]]


class LedgerCounts:
    """Subtracts a rule's purged captures from the counts of their files.

    Planned counts are saved in a state of the access index until they are applied, so that the next
    purge applies the counts of a killed one, once.
    """

    def __init__(self, engine: Engine, rule_id: str) -> None:
        self._engine, self._access = engine, engine.access_index()
        self._name = _COUNTS_STATE.format(rule_id)

    def plan(self, places: Iterable[RecordPlace]) -> None:
        """Save how many captures of each file will be deleted."""
        found = Counter((one.collection, one.file) for one in places)
        planned = self._planned()
        known = {(collection, name) for collection, name, _, _ in planned}
        more: _Planned = [
            [file.collection, file.name, file.counts.get("captures", 0), number]
            for file in self._engine.files()
            if (number := found[file.collection, file.name])
            and (file.collection, file.name) not in known
        ]
        if more:
            self._access.put_state(self._name, json.dumps(planned + more).encode())

    def settle(self) -> None:
        """Apply the planned counts: deleted captures count as purged."""
        planned = {(str(one[0]), str(one[1])): (one[2], one[3]) for one in self._planned()}
        if not planned:
            return
        self._engine.write(Batch(files=tuple(_counted(self._engine.files(), planned))))
        self._engine.refresh()
        self._access.put_state(self._name, b"")

    def _planned(self) -> _Planned:
        found: _Planned = json.loads(self._access.state(self._name) or b"[]")
        return found


def _counted(
    files: Iterable[SourceFile], planned: Mapping[tuple[str, str], tuple[str | int, str | int]]
) -> Iterator[SourceFile]:
    """Yield the files, with new counts, that are unchanged since the purge was planned."""
    for file in files:
        before, number = planned.get((file.collection, file.name), (-1, 0))
        if before == file.counts.get("captures", 0):
            yield replace(file, counts=_after(file.counts, int(number)))


def _after(counts: Mapping[str, int], number: int) -> dict[str, int]:
    after = dict(counts)
    after["captures"] = counts.get("captures", 0) - number
    after[PURGED] = counts.get(PURGED, 0) + number
    if UNDEDUPLICATED in counts:
        after[UNDEDUPLICATED] = max(0, counts[UNDEDUPLICATED] - number)
    return after

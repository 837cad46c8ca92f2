"""Triples of all pages of an archive, and copies of the store restricted to a viewer."""

import hashlib
import math
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO

from pyoxigraph import NamedNode, Quad, Store

from nwx.bulk.progress import ShowProgress, WorkProgress, batches, estimated_total, no_progress
from nwx.captures import PagePlace, page_places
from nwx.engine.base import Engine, is_server
from nwx.engine.capture_index import KeysAtTime
from nwx.errors import SettingsError, SourceError, SpecificationError, UrlError, WithheldError
from nwx.model import Capture, IndexName, ReadError
from nwx.settings import Settings
from nwx.steering.analysis.language_models import chosen_model, read_gazetteer
from nwx.steering.analysis.page_view import PageView
from nwx.steering.pages import PageReader, page_task
from nwx.steering.specifications.specification_store import specification_of
from nwx.steering.triples.capture_graphs import (
    CaptureGraph,
    Mention,
    TextNames,
    names_graph,
    page_graph,
    score_graph,
)
from nwx.steering.triples.local_store import SHOWN, LocalTripleStore, folder_lock
from nwx.steering.triples.terms import capture_iri, names_iri
from nwx.steering.triples.triple_store import (
    QueryAnswer,
    QueryLimits,
    SparqlQuery,
    TripleStore,
    TripleStoreError,
    TripleWriter,
)
from nwx.values.urlkeys import urlkey
from nwx.warc.sources import FilePlaces

_FOLDER = "triples"
_WEB = ("http://", "https://")


def triple_store(settings: Settings) -> TripleStore:
    """Return the configured triple store, else the one in the archive's folder.

    Raises SettingsError for an archive on a search server without a setting.
    """
    place = settings.triples
    if place.startswith(_WEB):
        # Imported here: most archives have their store in a folder.
        from nwx.steering.triples.remote_store import RemoteTripleStore

        return RemoteTripleStore(place, settings.triples_query or place)
    if not place and is_server(settings.engine):
        raise SettingsError(
            "an archive on a search server has no folder for triples; set NWX_TRIPLES to a folder,"
            " or to the update address of a SPARQL 1.1 server"
        )
    return LocalTripleStore(Path(place) if place else Path(settings.engine) / _FOLDER)


_SHOWN_LOCK, _NEVER_CHANGED = f"{SHOWN}lock", ".sst"
_KEPT_COPIES = 4
_AT_ONCE = 200
_MOST_NEAR = 200
_GRAPH = re.compile(r"urn:nwx:(?:capture|names|analysis:[^:]*):(\d{14}):(.+)", re.DOTALL)


def visible_triples(settings: Settings, engine: Engine) -> TripleStore:
    """Return the triple store of an archive, restricted to what a viewer with `engine` sees."""
    store = triple_store(settings)
    if not engine.hidden_key:
        return store
    if isinstance(store, LocalTripleStore):
        return VisibleTripleStore(store.folder, engine)
    return _WithheldTripleStore(store)


class VisibleTripleStore(LocalTripleStore):
    """The triples of a folder that are about visible captures, and name no hidden URL."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        super().__init__(folder)
        self._engine = engine

    def writer(self, wait_seconds: float = 0.0) -> TripleWriter:
        """Raise TripleStoreError: viewers of a part of an archive cannot write to it."""
        raise TripleStoreError.translated("only users who see the whole archive can write triples")

    def version(self) -> str:
        """Return a text that changes with the triples visible to this viewer."""
        version = super().version()
        return self._name(version) if version else ""

    def current(self) -> Path:
        """Return the copy of the visible triples, made if missing."""
        source = super().current()
        copy = self.folder / self._name(source.name)
        if not copy.is_dir():
            lock = folder_lock(self.folder, math.inf, _SHOWN_LOCK)
            try:
                if not copy.is_dir():
                    self._make(source, copy)
            finally:
                os.close(lock)
        return copy

    def _name(self, version: str) -> str:
        key = hashlib.blake2b(self._engine.hidden_key.encode(), digest_size=12)
        return f"{SHOWN}{version}-{key.hexdigest()}"

    def _make(self, source: Path, copy: Path) -> None:
        unfinished = copy.with_name(f".{copy.name}")
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(source, unfinished, copy_function=_linked)
            store = Store(str(unfinished))
            _leave_out(store, self._engine)
            store.flush()
            del store
            unfinished.rename(copy)
        except OSError as error:
            raise TripleStoreError.translated(
                "%(folder)s cannot be used: %(reason)s", folder=self.folder, reason=error
            ) from error
        others = sorted(self.folder.glob(f"{SHOWN}read-*"), key=lambda path: path.stat().st_mtime)
        for old in others[:-_KEPT_COPIES]:
            shutil.rmtree(old, ignore_errors=True)


def _leave_out(store: Store, engine: Engine) -> None:
    """Remove the graphs of hidden captures, and triples with hidden URLs, from a store."""
    names = (name for name in store.named_graphs() if isinstance(name, NamedNode))
    for hidden in [
        name for some in batches(names, _AT_ONCE) for name in _hidden_graphs(some, engine)
    ]:
        store.remove_graph(hidden)
    for quads in batches(store.quads_for_pattern(None, None, None, None), _AT_ONCE):
        urls = {term.value for quad in quads for term in _pages(quad)}
        if out := engine.hidden_urls(urls):
            for quad in quads:
                if any(term.value in out for term in _pages(quad)):
                    store.remove(quad)


def _hidden_graphs(names: Sequence[NamedNode], engine: Engine) -> Iterator[NamedNode]:
    """Yield the graphs without a visible capture."""
    asked: dict[NamedNode, KeysAtTime] = {}
    for name in names:
        if found := _GRAPH.fullmatch(name.value):
            try:
                asked[name] = KeysAtTime((urlkey(found[2]),), found[1])
            except UrlError:
                yield name
    answers = engine.captures_near(list(asked.values()), _MOST_NEAR)
    for (name, question), near in zip(asked.items(), answers, strict=True):
        if all(one.timestamp != question.timestamp for one in near):
            yield name


def _pages(quad: Quad) -> Iterator[NamedNode]:
    for term in (quad.subject, quad.object):
        if isinstance(term, NamedNode) and term.value.startswith(_WEB):
            yield term


def _linked(source: str, target: str) -> str:
    """Link a file that never changes, copy any other."""
    if source.endswith(_NEVER_CHANGED):
        os.link(source, target)
        return target
    return str(shutil.copy2(source, target))


class _WithheldTripleStore(TripleStore):
    """A store that shows nothing, as it cannot restrict its triples to a viewer."""

    def __init__(self, store: TripleStore) -> None:
        self._store = store

    def writer(self, wait_seconds: float = 0.0) -> TripleWriter:
        raise _withheld()

    def answer(
        self, query: SparqlQuery, limits: QueryLimits, *, is_ours: bool = False
    ) -> QueryAnswer:
        raise _withheld()

    def export(self, output: IO[bytes]) -> None:
        raise _withheld()

    def version(self) -> str:
        return self._store.version()


def _withheld() -> WithheldError:
    return WithheldError.translated(
        "triples on a server include what access rules hide; log in as a curator, "
        "use `nwx --unrestricted`, or keep triples in a folder (NWX_TRIPLES)"
    )


_LAST_KEY = "\U0010ffff"
_ERRORS_KEPT = 1_000
_WAIT_SECONDS = 60.0

NamesOf = Callable[[PageView], Iterable[Mention]]
"""Finds names in the text of a page."""


@dataclass(slots=True)
class TriplesReport:
    """Counts of a build of triples.

    `pages` were read; `known` pages were skipped. `mentions` counts pages with entities of a
    specification, `triples` the new triples. `errors` has the first errors of unreadable pages.
    """

    pages: int = 0
    known: int = 0
    mentions: int = 0
    triples: int = 0
    errors_total: int = 0
    errors: list[ReadError] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0


class ArchiveTriples:
    """Builds the triples of an archive; pages with stored graphs are not read."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        writer: TripleWriter,
        *,
        collection: str = "",
        names: NamesOf | None = None,
        progress: ShowProgress = no_progress,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._engine, self._settings, self._writer = engine, settings, writer
        self._collection, self._names = collection, names
        self._progress, self._stopping = progress, stopping
        self._report = TriplesReport()
        self._captures_in_all = self._passed = self._found = 0

    def build(self) -> TriplesReport:
        """Store the triples of pages and of analyses; return the counts."""
        began = time.monotonic()
        self._add_pages()
        self._add_mentions()
        self._report.interrupted = self._stopping()
        self._report.seconds = time.monotonic() - began
        return self._report

    def _add_pages(self) -> None:
        self._captures_in_all = self._engine.count(IndexName.CAPTURES)
        places = FilePlaces(self._engine.files)
        with PageReader(self._settings) as reader:
            for batch in _batches(page_places(self._captures())):
                if self._stopping():
                    return
                wanted_of = {place: self._wanted(place) for place in batch}
                held = self._writer.held([name for names in wanted_of.values() for name in names])
                new = [place for place in batch if not held.issuperset(wanted_of[place])]
                self._found += len(batch)
                self._report.known += len(batch) - len(new)
                new.sort(key=lambda place: (place.collection, place.source_file, place.offset))
                graphs = self._graphs(reader, places, new)
                self._report.triples += self._writer.put(list(graphs))
                self._show(left=0)

    def _captures(self) -> Iterator[Capture]:
        for capture in self._engine.captures("", _LAST_KEY):
            self._passed += 1
            if self._collection in ("", capture.collection):
                yield capture

    def _show(self, left: int) -> None:
        """Show the progress of the build; `left` of the pages found are still to be read."""
        report = self._report
        total = estimated_total(self._found, self._passed, self._captures_in_all)
        counts = {"page": report.pages, "triple": report.triples}
        self._progress(WorkProgress("reading pages", self._found - left, total, counts=counts))

    def _wanted(self, place: PagePlace) -> tuple[NamedNode, ...]:
        """Return the names of all graphs of a page."""
        stated = capture_iri(place.url, place.timestamp)
        return (stated, names_iri(place.url, place.timestamp)) if self._names else (stated,)

    def _graphs(
        self, reader: PageReader, places: FilePlaces, new: Sequence[PagePlace]
    ) -> Iterator[CaptureGraph]:
        for count, place in enumerate(new):
            self._show(left=len(new) - count)
            try:
                page = reader.page(page_task(places, place))
            except SourceError as error:
                self._fail(place, str(error))
                continue
            self._report.pages += 1
            yield page_graph(page)
            if self._names:
                yield names_graph(page, self._names(page))

    def _fail(self, place: PagePlace, message: str) -> None:
        message = f"{place.url}: {message}"
        self._note(ReadError(place.source_file, place.offset, "triples", message))

    def _note(self, error: ReadError) -> None:
        self._report.errors_total += 1
        if len(self._report.errors) < _ERRORS_KEPT:
            self._report.errors.append(error)

    def _add_mentions(self) -> None:
        """Store the entities that were found for each crawl specification."""
        index = self._engine.crawl_index()
        for stored in index.specifications():
            try:
                specification = specification_of(stored)
            except SpecificationError as error:
                self._note(ReadError(stored.name, None, "triples", str(error)))
                continue
            graphs = (score_graph(one, specification) for one in index.document_scores(stored.name))
            found = (graph for graph in graphs if graph is not None)
            while not self._stopping() and (some := list(islice(found, _AT_ONCE))):
                self._report.triples += self._writer.put(some)
                self._report.mentions += len(some)


def _batches(places: Iterable[PagePlace]) -> Iterator[list[PagePlace]]:
    """Yield pages, each document once: of several captures of one, the first counts."""
    last: Counter[str] = Counter()
    for some in batches(places, _AT_ONCE):
        fresh: dict[str, PagePlace] = {}
        for place in some:
            if place.document_id not in last:
                fresh.setdefault(place.document_id, place)
        last = Counter(place.document_id for place in some)  # captures of a URL are adjacent
        yield list(fresh.values())


def build_triples(
    engine: Engine,
    settings: Settings,
    progress: ShowProgress = no_progress,
    stopping: Callable[[], bool] = lambda: False,
    *,
    collection: str = "",
    names: bool = False,
    nlp: str = "",
    places: Path | None = None,
) -> TriplesReport:
    """Store the triples of an archive; with `names`, `nlp` or `places` also names in texts."""
    finder = None
    if names or nlp or places:
        finder = TextNames(chosen_model(nlp, read_gazetteer(places) if places else None))
    with triple_store(settings).writer(_WAIT_SECONDS) as writer:
        return ArchiveTriples(
            engine,
            settings,
            writer,
            collection=collection,
            names=finder,
            progress=progress,
            stopping=stopping,
        ).build()

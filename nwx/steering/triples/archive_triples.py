"""Triples of all pages that an archive holds, and of what analysis found in them."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from pyoxigraph import NamedNode

from nwx.bulk.progress import ShowProgress, WorkProgress, estimated_total, no_progress
from nwx.captures import PagePlace, page_places
from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.errors import SourceError
from nwx.model import Capture, IndexName, ReadError
from nwx.settings import Settings
from nwx.steering.analysis.language_models import chosen_model, read_gazetteer
from nwx.steering.analysis.page_view import PageView
from nwx.steering.running.pages import PageReader, page_task
from nwx.steering.specifications.specification_store import specification_of
from nwx.steering.triples.capture_graphs import (
    CaptureGraph,
    Mention,
    TextNames,
    names_graph,
    page_graph,
    score_graph,
)
from nwx.steering.triples.terms import capture_iri, names_iri
from nwx.steering.triples.triple_store import TripleWriter
from nwx.steering.triples.visible_store import triple_store

_AT_ONCE = 200
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
    """Build of triples from an archive; pages with stored graphs are not read."""

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
        places = FilePlaces(self._engine)
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
        """Show the progress of the build; `left` pages of those found are still to be read."""
        report = self._report
        total = estimated_total(self._found, self._passed, self._captures_in_all)
        counts = {"page": report.pages, "triple": report.triples}
        self._progress(WorkProgress("reading pages", self._found - left, total, counts=counts))

    def _wanted(self, place: PagePlace) -> tuple[NamedNode, ...]:
        """Return the names of the graphs that a page is to have."""
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
        report = self._report
        report.errors_total += 1
        if len(report.errors) < _ERRORS_KEPT:
            message = f"{place.url}: {message}"
            report.errors.append(ReadError(place.source_file, place.offset, "triples", message))

    def _add_mentions(self) -> None:
        """Store the entities that were found for each crawl specification."""
        index = self._engine.crawl_index()
        for stored in index.specifications():
            specification = specification_of(stored)
            graphs = (score_graph(one, specification) for one in index.document_scores(stored.name))
            found = (graph for graph in graphs if graph is not None)
            while not self._stopping() and (some := list(islice(found, _AT_ONCE))):
                self._report.triples += self._writer.put(some)
                self._report.mentions += len(some)


def _batches(places: Iterable[PagePlace]) -> Iterator[list[PagePlace]]:
    """Yield pages, each document once: of several captures of one, the first counts."""
    rest = iter(places)
    last: Counter[str] = Counter()
    while some := list(islice(rest, _AT_ONCE)):
        fresh: dict[str, PagePlace] = {}
        for place in some:
            if place.document_id not in last:
                fresh.setdefault(place.document_id, place)
        last = Counter(place.document_id for place in some)  # captures of a URL come together
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
    """Store the triples of an archive; with a model or places, also names found in texts."""
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

"""Pages of an archive: read again by the places of their records, and those without scores."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from nwx.captures import PagePlace, page_places
from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.engine.open import open_engine
from nwx.errors import EngineError, SourceError, UrlError
from nwx.keys import capture_key, document_id
from nwx.model import Capture
from nwx.settings import Settings
from nwx.steering.analysis.page_view import PageView, page_view, page_view_of_document
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.values.urlkeys import urlkey
from nwx.warc.reader import ArchiveReader, CaptureRecord, StoredPayload
from nwx.warc.sources import ArchiveSource


@dataclass(frozen=True, slots=True)
class PageTask:
    """A page to analyse; `source` is the file that its record is in, None where nobody has it."""

    place: PagePlace
    source: ArchiveSource | None


def stored_source(place: PagePlace, path: str) -> ArchiveSource:
    """Return the file of a page that lies at a path, as the ledger knows it."""
    member = place.source_file.partition("#")[2]
    return ArchiveSource(place.source_file, path, None, member)


class PageReader:
    """Reads pages: from the file at hand, where the ledger says that it is, or from the index."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine: Engine | None = None
        self._places: FilePlaces | None = None

    def page(self, task: PageTask) -> PageView:
        """Return a page; raises SourceError where it cannot be read anywhere."""
        place = task.place
        payload = stored_payload(place, task.source) if task.source else None
        if payload is None:
            payload = self._payload_elsewhere(task)
        if payload is not None:
            return page_view(payload.data, place.url, place.timestamp, payload.charset)
        document = self._opened().documents([place.document_id]).get(place.document_id)
        if document is None:
            raise SourceError("its record cannot be read, and the index does not have it")
        return page_view_of_document(document)

    def captured(self, page: PageView) -> set[str]:
        """Return those of the URLs that a page links to that the archive has captures of."""
        keys = {link.url: _key(link.url) for link in page.links}
        held = self._opened().statuses(sorted(set(keys.values())))
        return {url for url, key in keys.items() if key in held}

    def _payload_elsewhere(self, task: PageTask) -> StoredPayload | None:
        """Look where the ledger says that the file is now."""
        if self._places is None:
            self._places = FilePlaces(self._opened())
        path = self._places.path(task.place.collection, task.place.source_file)
        if path is None or (task.source and path == task.source.path):
            return None
        return stored_payload(task.place, stored_source(task.place, path))

    def _opened(self) -> Engine:
        if self._engine is None:
            self._engine = open_engine(self._settings, read_only=True)
        return self._engine

    def __enter__(self) -> Self:
        """Open the engine, so that the time of the first page does not go into it."""
        with suppress(EngineError):  # it is tried again for each page
            self._opened()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._engine is not None:
            self._engine.close()


def _key(url: str) -> str:
    """Return the urlkey of a URL, "" where it cannot have been captured."""
    try:
        return urlkey(url)
    except UrlError:
        return ""


def stored_payload(place: PagePlace, source: ArchiveSource) -> StoredPayload | None:
    """Return the payload of the record at a place, None where another or none is there.

    A payload that lies in yet another file is not read again.
    """
    if "://" not in source.path and not Path(source.path).exists():
        return None
    reader = ArchiveReader(source, place.collection, start=place.offset)
    for item in reader:
        if isinstance(item, CaptureRecord):
            capture = item.capture
            same = (capture.source_file_offset, capture.url) == (place.offset, place.url)
            return item.payload() if same and item.kept else None
    return None


_BATCH_PAGES, _BATCH_CAPTURES = 1_000, 10_000
_LAST_KEY = "\U0010ffff"

_Seen = Callable[[int, int], object]


class PageSweeps:
    """Goes through an archive as often as it is asked to; asked on the way, once more afterwards.

    What came on the way may lie behind. `begin` gives the pages from the start on.
    """

    def __init__(self, begin: Callable[[], Iterator[list[PageTask]]]) -> None:
        self._begin = begin
        self._pages: Iterator[list[PageTask]] | None = None
        self._is_asked = False

    def ask(self) -> None:
        """Have the archive gone through from now on."""
        self._is_asked = True

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to look at."""
        return self._pages is None and not self._is_asked

    def next_pages(self) -> list[PageTask]:
        """Return the next pages, which may be none."""
        if self._pages is None:
            if not self._is_asked:
                return []
            self._is_asked, self._pages = False, self._begin()
        found = next(self._pages, None)
        if found is None:
            self._pages = None
        return found or []


def unanalysed_pages(
    engine: Engine,
    specification: CrawlSpecification,
    version: str,
    seen: _Seen = lambda pages, captures: None,
) -> Iterator[list[PageTask]]:
    """Yield the pages of an archive that have no scores of a version, up to a thousand at a time.

    They come in the order of urlkeys, those of a batch in the order of
    their places. `seen` is told how many pages were looked at for a batch,
    and how many captures, before the batch is given.
    """
    places = FilePlaces(engine)
    index = engine.crawl_index()
    start: str | None = ""
    while start is not None:
        batch, captures, start = _batch(engine, specification.collection, start)
        held = engine.known(batch)
        done = index.analysed(specification.name, version, held)
        missing = (batch[id] for id in held if id not in done)
        seen(len(batch), captures)
        yield sorted((_task(places, page) for page in missing), key=_place_in_file)


def _batch(
    engine: Engine, collection: str, start: str
) -> tuple[dict[str, PagePlace], int, str | None]:
    """Return pages from a urlkey on by the ids of their documents, and the next urlkey.

    Between the two is the number of captures that were looked at.

    All pages of a urlkey are in one batch; of several captures of a
    document the first counts. The archive is not read while these are
    analysed, which may take long.
    """
    found: dict[str, PagePlace] = {}
    last, count = start, 0
    for capture in engine.captures(start, _LAST_KEY):
        is_full = len(found) >= _BATCH_PAGES or count >= _BATCH_CAPTURES
        if is_full and capture.urlkey != last:
            return found, count, capture.urlkey
        last, count = capture.urlkey, count + 1
        if not collection or capture.collection == collection:
            for page in page_places([capture]):
                found.setdefault(page.document_id, page)
    return found, count, None


def _task(places: FilePlaces, page: PagePlace) -> PageTask:
    path = places.path(page.collection, page.source_file)
    return PageTask(page, stored_source(page, path) if path else None)


def _place_in_file(task: PageTask) -> tuple[str, str, int]:
    return task.place.collection, task.place.source_file, task.place.offset


@dataclass(slots=True)
class ReadCounts:
    """How many pages were read from their records, from the index, and not at all."""

    records: int = 0
    index: int = 0
    unreadable: int = 0


class StoredPages:
    """Reads pages one by one; `counts` tells where they came from."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._places = FilePlaces(engine)
        self.counts = ReadCounts()

    def view(self, capture: Capture, timestamp: str) -> PageView | None:
        """Return a page with the timestamp of its newest capture; None where it cannot be read."""
        place = next(page_places([capture]))
        path = self._places.path(place.collection, place.source_file)
        payload = stored_payload(place, stored_source(place, path)) if path else None
        if payload is not None:
            self.counts.records += 1
            return page_view(payload.data, capture.url, timestamp, payload.charset)
        ids = [capture.document_id, document_id(capture_key(capture))]
        for document in self._engine.documents(ids).values():
            self.counts.index += 1
            return page_view_of_document(document)
        self.counts.unreadable += 1
        return None

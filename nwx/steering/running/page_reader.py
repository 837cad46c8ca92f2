"""Pages read again by the places of their records."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.engine.open import open_engine
from nwx.errors import EngineError, SourceError, UrlError
from nwx.page_places import PagePlace
from nwx.settings import Settings
from nwx.steering.analysis.page_view import PageView, page_view, page_view_of_document
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

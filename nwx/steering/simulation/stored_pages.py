"""The pages of an archive as analysis looks at them: from their records, else from the index."""

from dataclasses import dataclass

from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.keys import capture_key, document_id
from nwx.model import Capture
from nwx.page_places import page_places
from nwx.steering.analysis.page_view import PageView, page_view, page_view_of_document
from nwx.steering.running.page_reader import stored_payload, stored_source


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

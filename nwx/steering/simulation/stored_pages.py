"""The pages of an archive as analysis looks at them: from their records, else from the index."""

from dataclasses import dataclass

from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.errors import SourceError
from nwx.keys import capture_key, document_id
from nwx.model import Capture, ReadError
from nwx.steering.analysis.page_view import PageView, page_view, page_view_of_document
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource


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
        if record := self._record(capture):
            payload = record.payload()
            self.counts.records += 1
            return page_view(payload.data, capture.url, timestamp, payload.charset)
        ids = [capture.document_id, document_id(capture_key(capture))]
        for document in self._engine.documents(ids).values():
            self.counts.index += 1
            return page_view_of_document(document)
        self.counts.unreadable += 1
        return None

    def _record(self, capture: Capture) -> CaptureRecord | None:
        path = self._places.path(capture.collection, capture.source_file)
        if path is None:
            return None
        member = capture.source_file.partition("#")[2]
        source = ArchiveSource(capture.source_file, path, None, member)
        reader = ArchiveReader(source, capture.collection, start=capture.source_file_offset)
        try:
            for found in reader:
                if isinstance(found, ReadError):
                    continue
                same = found.capture.source_file_offset == capture.source_file_offset
                return found if same and found.capture.digest == capture.digest else None
        except SourceError:
            return None
        return None

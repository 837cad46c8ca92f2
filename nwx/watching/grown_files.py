"""Files that were taken for whole too soon, and have more at their end now."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from nwx.engine.base import Engine
from nwx.errors import SourceError
from nwx.keys import capture_id
from nwx.model import Batch, Capture, IndexName, SourceFile
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource, checksum_of_start


def read_grown_again(
    engine: Engine, sources: Iterable[ArchiveSource], ledger: Mapping[str, SourceFile]
) -> None:
    """Let the ledger say of files that have grown that they are not done.

    What is in the archive of them stays as it is, for ids come from places;
    but for the record that was cut off by the end of the file as it was.
    """
    for source in sources:
        entry = ledger.get(source.name)
        if entry is None or source.size is None or not _has_grown(source, entry):
            continue
        content = checksum_of_start(source, source.size)
        fresh = replace(entry, size=source.size, checksum=content)
        if entry.finished:
            _forget(engine, list(_cut(source, entry)))
            fresh = replace(fresh, done_to=0, finished=False, counts={})
        engine.write(Batch(files=(fresh,)))


def _has_grown(source: ArchiveSource, entry: SourceFile) -> bool:
    """Tell whether a file is one of the ledger, in its place, with more at its end."""
    if source.member or source.path != entry.path or entry.size is None:
        return False
    if source.size is None or source.size <= entry.size:
        return False
    try:
        return checksum_of_start(source, entry.size) == entry.checksum
    except SourceError:
        return False  # the import says why


def _cut(source: ArchiveSource, entry: SourceFile) -> Iterator[Capture]:
    """Yield the captures whose records reach over what was the end of the file."""
    end = entry.size or 0
    for item in ArchiveReader(source, entry.collection):
        if isinstance(item, CaptureRecord):
            capture = item.capture
            if capture.source_file_offset >= end:
                return
            if capture.source_file_offset + (capture.record_length or end) > end:
                yield capture


def _forget(engine: Engine, captures: list[Capture]) -> None:
    """Delete captures, and the documents that were made from them."""
    places = {_place(capture) for capture in captures}
    documents = engine.documents([capture.document_id for capture in captures])
    made = [id for id, document in documents.items() if _place(document.capture) in places]
    engine.delete(IndexName.DOCUMENTS, made)
    engine.delete(IndexName.CAPTURES, places)


def _place(capture: Capture) -> str:
    return capture_id(capture.collection, capture.source_file, capture.source_file_offset)

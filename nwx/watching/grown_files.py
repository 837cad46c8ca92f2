"""Files that have grown: complete records of files being written, and of files read before."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from nwx.engine.base import Engine
from nwx.errors import SourceError
from nwx.keys import id_of_capture
from nwx.model import Batch, Capture, IndexName, SourceFile
from nwx.warc.checksums import checksum_of_start
from nwx.warc.growing_files import grown_source
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource, source_name
from nwx.watching.folders import Folders


def grown_sources(
    folders: Folders, whole: Collection[Path], ledger: Mapping[str, SourceFile]
) -> list[ArchiveSource]:
    """Return the files of the last look that are being written, up to their last complete record.

    Those that have no more than the ledger says are left out.
    """
    found = []
    for file in folders.growing():
        source = ArchiveSource(source_name(file.path.name), str(file.path), file.size)
        entry = ledger.get(source.name)
        is_other = entry is not None and (entry.finished or entry.path != source.path)
        grown = None
        if file.path not in whole and not is_other and file.path.suffix != ".wacz":
            start = entry.done_to if entry else 0
            grown = grown_source(source, start, is_quiet=file.is_quiet)
        if grown:
            found.append(grown)
        elif file.is_quiet or is_other:
            folders.is_read(file.path)
    return found


def read_grown_again(
    engine: Engine, sources: Iterable[ArchiveSource], ledger: Mapping[str, SourceFile]
) -> None:
    """Mark files that were read to their end and have grown as unfinished in the ledger.

    Their entries in the archive are unchanged, since ids derive from locations, except the record
    that was cut off at the former end of the file, which is deleted.
    """
    for source in sources:
        entry = ledger.get(source.name)
        if entry is None or source.size is None or not _has_grown(source, entry):
            continue
        content = checksum_of_start(source, source.size)
        fresh = replace(
            entry, size=source.size, checksum=content, done_to=0, finished=False, counts={}
        )
        _forget(engine, list(_cut(source, entry)))
        engine.write(Batch(files=(fresh,)))


def _has_grown(source: ArchiveSource, entry: SourceFile) -> bool:
    """Return whether a finished file of the ledger is under the same path, and longer now."""
    if source.member or source.path != entry.path or entry.size is None or not entry.finished:
        return False
    if source.size is None or source.size <= entry.size:
        return False
    try:
        return checksum_of_start(source, entry.size) == entry.checksum
    except SourceError:
        return False  # the import says why


def _cut(source: ArchiveSource, entry: SourceFile) -> Iterator[Capture]:
    """Yield the captures whose records extend past the former end of the file."""
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
    places = {id_of_capture(capture) for capture in captures}
    documents = engine.documents([capture.document_id for capture in captures])
    made = [id for id, document in documents.items() if id_of_capture(document.capture) in places]
    engine.delete(IndexName.DOCUMENTS, made)
    engine.delete(IndexName.CAPTURES, places)

"""Files that have grown: complete records of files being written, and of files read before."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from nwx.engine.base import Engine
from nwx.errors import SourceError
from nwx.keys import id_of_capture
from nwx.model import Batch, Capture, IndexName, SourceFile
from nwx.warc.checksums import checksum_of_start
from nwx.warc.members import READ_FAILURES, Members, open_members
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.record import RECORD_END, Record
from nwx.warc.record_groups import record_groups
from nwx.warc.scanner import Scanner
from nwx.warc.sources import ArchiveSource, source_name
from nwx.watching.folders import Folders

_KEPT_BYTES = 1 << 20
_STEP_BYTES = 64 << 20
"""Bytes of a file read at a time, so that a long one does not delay the others."""


def grown_source(source: ArchiveSource, start: int, *, is_quiet: bool) -> ArchiveSource | None:
    """Return a file up to its last complete record, None if no record after `start` is complete.

    Records of one capture are written one after the other: the last ones count once the file
    `is_quiet`. A member with several records ends the reading, and so does damage; the rest is read
    when the file is closed.
    """
    try:
        with source.open() as handle:
            members = open_members(handle, start)
            if members.raw.offset != start:  # no record begins there yet
                return None
            end = _complete_end(members, start, is_quiet=is_quiet)
    except (SourceError, *READ_FAILURES):
        return None
    return replace(source, size=end, growing=True) if end > start else None


def _complete_end(members: Members, start: int, *, is_quiet: bool) -> int:
    last = start

    def complete() -> Iterator[Record]:
        nonlocal last
        scanner = Scanner(members, _KEPT_BYTES, lambda _: None)
        for record in scanner:
            if scanner.faults or not _is_alone(members, record):
                return
            last = record.offset + record.length
            yield record

    end = start
    for group in record_groups(complete()):
        end = group.next_offset or (last if is_quiet else end)
        if end - start > _STEP_BYTES:
            break
    return end


def _is_alone(members: Members, record: Record) -> bool:
    """Return whether a record fills its member; True for files without compression."""
    if not members.coding:
        return True
    is_read = members.data[members.pos :] in (b"", RECORD_END)
    return record.offset == members.start and members.ended and is_read and not members.broken


def grown_sources(
    folders: Folders, whole: Collection[Path], ledger: Mapping[str, SourceFile]
) -> list[ArchiveSource]:
    """Return the growing files of the last look, up to their last complete record.

    Files without new complete records since their ledger entry are left out.
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
    """Return whether a finished file of the ledger has the same path, and more content now."""
    if source.member or source.path != entry.path or entry.size is None or not entry.finished:
        return False
    if source.size is None or source.size <= entry.size:
        return False
    try:
        return checksum_of_start(source, entry.size) == entry.checksum
    except SourceError:
        return False  # the import reports why


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

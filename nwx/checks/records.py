"""Whether the captures of an archive are those of the records at their places."""

from collections.abc import Iterator, Mapping
from itertools import groupby

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.engine.base import Engine
from nwx.engine.entries import capture_from_entry, file_id
from nwx.keys import capture_id
from nwx.model import Capture, IndexName, ReadError, SourceFile
from nwx.warc.reader import ArchiveReader
from nwx.warc.sources import ArchiveSource

RecordProblem = tuple[str, str]
"""The id of a capture, or of a file, and what is wrong."""

_COMPARED = (
    *("record_type", "url", "urlkey", "timestamp", "digest"),
    *("status_code", "content_type", "record_length"),
)
_PUT_BACK = "put the file back, or import it again from where it is"


def check_records(engine: Engine, progress: ShowProgress) -> Iterator[RecordProblem]:
    """Yield the captures of imported files that are not those of their records.

    Reads all imported files. Captures of other files are from CDX lines, and are not checked.
    """
    files = {(file.collection, file.name): file for file in engine.files()}
    done, total = 0, engine.count(IndexName.CAPTURES)
    captures = map(capture_from_entry, engine.scan(IndexName.CAPTURES))
    for key, group in groupby(captures, key=lambda one: (one.collection, one.source_file)):
        held = {one.source_file_offset: one for one in group}
        if key in files:
            yield from _file_problems(files[key], held)
        done += len(held)
        progress(WorkProgress("reading records", done, max(done, total)))


def _file_problems(file: SourceFile, held: Mapping[int, Capture]) -> Iterator[RecordProblem]:
    source = ArchiveSource(file.name, file.path, file.size, file.name.partition("#")[2])
    errors, remaining = [], dict(held)
    for item in ArchiveReader(source, file.collection):
        if isinstance(item, ReadError):
            errors.append(item)
            continue
        capture = remaining.pop(item.capture.source_file_offset, None)
        if capture and (different := ", another ".join(_differences(capture, item.capture))):
            id = capture_id(file.collection, file.name, capture.source_file_offset)
            yield id, f"its record in {file.path} has another {different}"
    id = file_id(file.collection, file.name)
    if len(errors) > file.counts.get("errors", 0):
        places = "; ".join(f"{one.message} (at {one.offset})" for one in errors[:3])
        yield id, f"{file.path} has {len(errors)} errors now: {places}; {_PUT_BACK}"
    elif remaining:
        places = ", ".join(map(str, list(remaining)[:3]))
        yield id, f"{file.path} has no capture at {places}: {len(remaining)} are missing"


def _differences(held: Capture, read: Capture) -> Iterator[str]:
    for name in _COMPARED:
        expected, found = getattr(held, name), getattr(read, name)
        if expected != found:
            yield f"{name} ({found!r}, held is {expected!r})"

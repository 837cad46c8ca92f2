"""Writing documents files: the parts of archive files as Parquet, a row group each."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from nwx.importing.extracted.notes import (
    NOTES_KEY,
    DocumentsNotes,
    FaultNotes,
    FileNotes,
    PartNotes,
)
from nwx.importing.extracted.rows import (
    CAPTURE_ROW_COLUMNS,
    EXTRACT_ROW_COLUMNS,
    INTEGER_COLUMNS,
    LINK_COLUMN,
    TEXT_LIST_COLUMNS,
    columns_of,
)
from nwx.importing.messages import FilePart, Verdict
from nwx.importing.report import ErrorLog
from nwx.model import ReadError
from nwx.warc.sources import ArchiveSource, FileError

_LINK = pa.struct([("url", pa.string()), ("text", pa.string()), ("kind", pa.string())])


def _type(name: str) -> pa.DataType:
    if name in INTEGER_COLUMNS:
        return pa.int64()
    if name in TEXT_LIST_COLUMNS:
        return pa.list_(pa.string())
    return pa.list_(_LINK) if name == LINK_COLUMN else pa.string()


DOCUMENTS_SCHEMA = pa.schema(
    [(name, _type(name)) for name in (*CAPTURE_ROW_COLUMNS, *EXTRACT_ROW_COLUMNS)]
)


@dataclass(slots=True)
class _File:
    """An archive file on its way."""

    source: ArchiveSource
    checksum: str = ""
    last_offset: int = -1
    parts: list[PartNotes] = field(default_factory=list)
    errors: ErrorLog = field(default_factory=ErrorLog)


class DocumentsWriter:
    """Writes what extraction makes of archive files, one after the other, into a stream."""

    def __init__(self, stream: IO[bytes], collection: str, *, deduplicated: bool) -> None:
        self._writer = pq.ParquetWriter(stream, DOCUMENTS_SCHEMA, compression="zstd")
        self._collection, self._deduplicated = collection, deduplicated
        self._files: list[FileNotes] = []
        self._faults: list[FaultNotes] = []
        self.captures = self.documents = 0

    def add_file(self, source: ArchiveSource, messages: Iterator[FilePart | Verdict]) -> Verdict:
        """Take all that becomes of a file; return the verdict."""
        file, verdict = _File(source), None
        for message in messages:
            if isinstance(message, Verdict):
                verdict = message
            else:
                file.parts.append(self._part(file, message))
        assert verdict is not None  # it comes last
        self._files.append(
            FileNotes(
                source.name,
                source.path,
                source.size,
                source.member,
                file.checksum,
                verdict.outcome,
                verdict.errors,
                file.parts,
            )
        )
        return verdict

    def _part(self, file: _File, part: FilePart) -> PartNotes:
        batch = part.batch
        # A part that is read again after a crash begins before what is written already.
        captures = [one for one in batch.captures if one.source_file_offset > file.last_offset]
        if captures:
            file.last_offset = captures[-1].source_file_offset
            columns = columns_of(captures, batch.documents)
            self._writer.write_table(pa.table(columns, schema=DOCUMENTS_SCHEMA))
            self.documents += len(columns["content"]) - columns["content"].count(None)
            self.captures += len(captures)
        errors, more = _kept(file.errors, part.errors)
        mark: dict[str, Any] = {}
        if batch.files:
            entry = batch.files[-1]
            file.checksum = entry.checksum
            mark = {"done_to": entry.done_to, "finished": entry.finished}
            mark |= {"counts": dict(entry.counts), "marked": entry.counts.get("captures", 0)}
        return PartNotes(
            rows=len(captures),
            records=dict(part.records),
            bytes=part.bytes,
            errors=errors,
            more_errors=more,
            late=part.late,
            **mark,
        )

    def add_fault(self, error: FileError) -> None:
        """Take what is wrong with a file as a whole."""
        plain = ReadError(error.file, error.offset, error.kind, error.message)
        self._faults.append(FaultNotes(plain, error.path, error.size, error.is_refused))

    def finish(self) -> None:
        """Write what is left, and the notes; the stream stays open."""
        notes = DocumentsNotes(
            self._collection, self._deduplicated, tuple(self._files), tuple(self._faults)
        )
        self._writer.add_key_value_metadata({NOTES_KEY: json.dumps(notes.as_json())})
        self._writer.close()


def _kept(log: ErrorLog, errors: tuple[ReadError, ...]) -> tuple[list[ReadError], dict[str, int]]:
    """Return those of a part's errors that a report lists, and how many more of each kind."""
    before = len(log.kept)
    for error in errors:
        log.add(error)
    kept = log.kept[before:]
    more = Counter(one.kind for one in errors) - Counter(one.kind for one in kept)
    return kept, dict(more)

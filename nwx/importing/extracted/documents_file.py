"""Rows, reader and writer of documents files; each part of an archive file is a row group."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nwx.bulk.whole_files import is_address
from nwx.engine.entries import clean_text
from nwx.errors import SourceError, UsageError
from nwx.importing.extracted.notes import (
    NOTES_KEY,
    DocumentsNotes,
    ExtractedFile,
    FaultNotes,
    FileNotes,
    LateNotes,
    PartNotes,
)
from nwx.importing.messages import FilePart, Verdict
from nwx.importing.options import ImportOptions
from nwx.importing.report import ErrorLog
from nwx.model import Capture, Document, Extract, Link, ReadError
from nwx.warc.sources import ArchiveSource, FileError

CAPTURE_ROW_COLUMNS = Capture._fields
EXTRACT_ROW_COLUMNS = tuple(one.name for one in fields(Extract))
INTEGER_COLUMNS = frozenset(
    ("source_file_offset", "record_length", "status_code", "content_length")
)
TEXT_LIST_COLUMNS = frozenset(("headings", "problems"))
LINK_COLUMN = "links"
FIELDS_COLUMN = "fields"
"""The column of fields, as a JSON object; files of earlier versions lack it."""

_TEXT = "content"
_capture_values = attrgetter(*CAPTURE_ROW_COLUMNS)

Columns = dict[str, list[Any]]


def columns_of(captures: Iterable[Capture], documents: Iterable[Document]) -> Columns:
    """Return captures, and the extracts of those that have a document, as columns.

    The captures of the documents must be among `captures`.
    """
    texts = {one.capture.source_file_offset: one.extract for one in documents}
    columns: Columns = {name: [] for name in (*CAPTURE_ROW_COLUMNS, *EXTRACT_ROW_COLUMNS)}
    for capture in captures:
        for name, value in zip(CAPTURE_ROW_COLUMNS, _capture_values(capture), strict=True):
            columns[name].append(_stored(value))
        extract = texts.get(capture.source_file_offset)
        for name in EXTRACT_ROW_COLUMNS:
            value = None if extract is None else getattr(extract, name)
            columns[name].append(_links(value) if name == LINK_COLUMN else _stored(value))
    return columns


def _stored(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, tuple):
        return [clean_text(one) for one in value]
    if isinstance(value, Mapping):
        return json.dumps(dict(value)) if value else None
    return value


def _links(links: Sequence[Link] | None) -> list[dict[str, str]] | None:
    if links is None:
        return None
    return [
        {"url": clean_text(url), "text": clean_text(text), "kind": kind}
        for url, text, kind in links
    ]


def row_capture(row: Mapping[str, Any]) -> Capture:
    """Return the capture of a row."""
    return Capture(**{name: row[name] for name in CAPTURE_ROW_COLUMNS})


def extract_of(row: Mapping[str, Any]) -> Extract | None:
    """Return the extract of a row's capture, None if it has no document."""
    if row[_TEXT] is None:
        return None
    texts = {name: row[name] for name in EXTRACT_ROW_COLUMNS}
    for name in TEXT_LIST_COLUMNS:
        texts[name] = tuple(texts[name] or ())
    links = texts[LINK_COLUMN] or ()
    texts[LINK_COLUMN] = tuple(Link(one["url"], one["text"], one["kind"]) for one in links)
    texts[FIELDS_COLUMN] = _fields_of(texts[FIELDS_COLUMN])
    return Extract(**texts)


def _fields_of(text: str | None) -> dict[str, str | tuple[str | int, ...]]:
    found = json.loads(text) if text else {}
    return {name: tuple(one) if isinstance(one, list) else one for name, one in found.items()}


_SMALL_COLUMN = "content_language"
"""A small column of `Extract`, read to see which rows have documents."""


def documents_notes(path: Path) -> DocumentsNotes:
    """Return the notes of a documents file.

    Raises SourceError if it cannot be read, is not a documents file or has another version.
    """
    try:
        found = pl.read_parquet_metadata(path).get(NOTES_KEY)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(f"{path} cannot be read: {_first_line(error)}") from error
    if found is None:
        raise SourceError(f"{path} is not a documents file of `nwx spark extract`")
    with SourceError.instead_of(ValueError, f"the notes of {path} cannot be read"):
        notes = json.loads(found)
    return DocumentsNotes.from_json(notes, str(path))


class DocumentsFile:
    """A documents file, read in slices of rows."""

    def __init__(self, path: Path) -> None:
        """Open the file; raises SourceError as `documents_notes` does."""
        self.path = path
        self.notes = documents_notes(path)
        rows = pl.scan_parquet(path)
        if FIELDS_COLUMN not in rows.collect_schema():
            rows = rows.with_columns(pl.lit(None, pl.String).alias(FIELDS_COLUMN))
        self._rows = rows.select(*CAPTURE_ROW_COLUMNS, *EXTRACT_ROW_COLUMNS)

    def first_row(self, number: int) -> int:
        """Return the first row of the archive file with this number."""
        return sum(file.rows for file in self.notes.files[:number])

    def rows(self, first: int, count: int) -> Iterator[Mapping[str, Any]]:
        """Yield `count` rows from `first`; raises SourceError if they cannot be read."""
        if not count:
            return
        yield from self._collected(self._rows, first, count).iter_rows(named=True)

    def text_rows(self, first: int, count: int) -> dict[str, int]:
        """Return the row number of each document's text, by id, among `count` rows from `first`.

        Raises SourceError if they cannot be read.
        """
        has_text = pl.col(_SMALL_COLUMN).is_not_null()
        found = self._collected(self._rows.select("document_id", has_text), first, count)
        return {id: first + row for row, (id, is_there) in enumerate(found.rows()) if is_there}

    def extract(self, row: int) -> Extract | None:
        """Return the extract of a row's capture, None if it has no document."""
        [found] = self.rows(row, 1)
        return extract_of(found)

    def _collected(self, rows: pl.LazyFrame, first: int, count: int) -> pl.DataFrame:
        try:
            found = rows.slice(first, count).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise SourceError(f"{self.path} cannot be read: {_first_line(error)}") from error
        if len(found) != count:
            raise SourceError(f"{self.path} has fewer rows than its notes say; extract it again")
        return found


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


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
    """An archive file that is being written."""

    source: ArchiveSource
    checksum: str = ""
    last_offset: int = -1
    parts: list[PartNotes] = field(default_factory=list)
    errors: ErrorLog = field(default_factory=ErrorLog)


class DocumentsWriter:
    """Writes the extracted parts of archive files, one file after another, into a stream."""

    def __init__(self, stream: IO[bytes], collection: str, *, deduplicated: bool) -> None:
        self._writer = pq.ParquetWriter(stream, DOCUMENTS_SCHEMA, compression="zstd")
        self._collection, self._deduplicated = collection, deduplicated
        self._files: list[FileNotes] = []
        self._faults: list[FaultNotes] = []
        self.captures = self.documents = 0

    def add_file(self, source: ArchiveSource, messages: Iterator[FilePart | Verdict]) -> Verdict:
        """Write all parts of a file; return its verdict."""
        file, verdict = _File(source), None
        for message in messages:
            if isinstance(message, Verdict):
                verdict = message
            else:
                file.parts.append(self._part(file, message))
        assert verdict is not None  # it is the last message
        self._files.append(
            FileNotes(
                source.name,
                source.path,
                source.size,
                source.member,
                file.checksum,
                verdict.outcome,
                verdict.errors,
                tuple(file.parts),
            )
        )
        return verdict

    def _part(self, file: _File, part: FilePart) -> PartNotes:
        batch = part.batch
        # A part that is read again after a crash repeats captures already written.
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
            late=tuple(map(LateNotes.from_late, part.late)),
            **mark,
        )

    def add_fault(self, error: FileError) -> None:
        """Add an error about a whole file."""
        plain = ReadError(error.file, error.offset, error.kind, error.message)
        self._faults.append(FaultNotes(plain, error.path, error.size, error.is_refused))

    def finish(self) -> None:
        """Write the remaining rows and the notes; the stream stays open."""
        notes = DocumentsNotes(
            self._collection, self._deduplicated, tuple(self._files), tuple(self._faults)
        )
        self._writer.add_key_value_metadata({NOTES_KEY: json.dumps(notes.as_json())})
        self._writer.close()


def _kept(
    log: ErrorLog, errors: tuple[ReadError, ...]
) -> tuple[tuple[ReadError, ...], dict[str, int]]:
    """Return the errors of a part that a report lists, and the number of the others by kind."""
    before = len(log.kept)
    for error in errors:
        log.add(error)
    kept = tuple(log.kept[before:])
    more = Counter(one.kind for one in errors) - Counter(one.kind for one in kept)
    return kept, dict(more)


SUCCESS_NAME = "_SUCCESS"
"""The file that a job writes into its output folder when the output is complete."""

_ENDING = ".parquet"


@dataclass(frozen=True, slots=True)
class ExtractedSources:
    """Archive files in documents files, and errors about files; all of one collection."""

    collection: str
    deduplicated: bool
    sources: Sequence[ArchiveSource | ReadError]


def extracted_sources(arguments: Iterable[str]) -> ExtractedSources:
    """Return the archive files in documents files, given as paths or folders of them.

    Raises SourceError on files that are missing, unreadable, of another kind or version, and on
    folders of an unfinished job; UsageError if collections or deduplication differ.
    """
    collections: dict[str, str] = {}
    ways: dict[bool, str] = {}
    sources: list[ArchiveSource | ReadError] = []
    for path in dict.fromkeys(documents_paths(arguments)):
        notes = documents_notes(path)
        collections.setdefault(notes.collection, str(path))
        ways.setdefault(notes.deduplicated, str(path))
        sources += _sources(path, notes)
    if len(collections) > 1:
        (one, here), (other, there) = list(collections.items())[:2]
        raise UsageError(
            f"these documents are of several collections ({one} in {here}, {other} in {there}); "
            "import each collection with a separate command"
        )
    if len(ways) > 1:
        raise UsageError(
            f"{ways[False]} was extracted without deduplication and {ways[True]} with it; "
            "import them with two commands"
        )
    return ExtractedSources(next(iter(collections)), next(iter(ways)), sources)


def check_extracted(found: ExtractedSources, options: ImportOptions) -> None:
    """Raise UsageError if documents cannot be imported with these options."""
    if options.collection != found.collection:
        raise UsageError(
            f"the documents are of the collection {found.collection}; import them into it, or "
            f"extract the archive files again for {options.collection}"
        )
    if options.deduplicate != found.deduplicated:
        done = "with" if found.deduplicated else "without"
        raise UsageError(
            f"the documents were extracted {done} deduplication; import them {done} it too"
        )


def _sources(path: Path, notes: DocumentsNotes) -> Iterator[ArchiveSource | ReadError]:
    for number, file in enumerate(notes.files):
        place = (file.name, file.path, file.size, file.member)
        yield ExtractedFile(*place, documents=str(path.absolute()), number=number)
    for fault in notes.faults:
        error = fault.error
        plain = (error.file, error.offset, error.kind, error.message)
        yield FileError(*plain, fault.path, fault.size, fault.is_refused)


def documents_paths(arguments: Iterable[str]) -> Iterator[Path]:
    """Yield the documents files that arguments name: files, and all in folders of finished jobs.

    Raises SourceError on a missing path.
    """
    for argument in arguments:
        path = Path(argument)
        if is_address(argument):
            raise SourceError(f"{argument} is an address; copy the documents to a folder first")
        if path.is_dir():
            yield from _below(path)
        elif path.exists():
            yield path
        else:
            raise SourceError(f"{argument} does not exist; name the output of `nwx spark extract`")


def _below(folder: Path) -> list[Path]:
    if not (folder / SUCCESS_NAME).exists():
        raise SourceError(
            f"{folder} has no {SUCCESS_NAME}: the job that wrote it did not finish; run it again"
        )
    found = sorted(path for path in folder.rglob(f"*{_ENDING}") if path.is_file())
    if not found:
        raise SourceError(f"there are no documents files in {folder}")
    return found

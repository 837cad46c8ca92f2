"""Parts for the engine from a documents file, equal to those of `import_file`."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from nwx.captures import page_places
from nwx.errors import SourceError
from nwx.importing.collector import EXTRACT, CollectedBatch, Collector, Fate, Lookups
from nwx.importing.extracted.documents_file import DocumentsFile, extract_of, row_capture
from nwx.importing.extracted.notes import ExtractedFile, PartNotes
from nwx.importing.messages import FilePart, FileTask, Outcome, Verdict
from nwx.importing.options import ImportOptions
from nwx.importing.worker import conflict_verdict
from nwx.model import (
    EXCLUDED,
    PURGED,
    UNDEDUPLICATED,
    UNREADABLE,
    Extract,
    ReadError,
    SourceFile,
)
from nwx.warc.reader import CaptureRecord

_REMEMBERED_TEXTS = 1_000
_ERRORS = "errors"
_NOT_LISTED = "not listed: the extraction kept the first errors of each kind"


def load_file(
    task: FileTask, options: ImportOptions, lookups: Lookups, moved: Callable[[int], None]
) -> Iterator[FilePart | Verdict]:
    """Yield the parts and verdict of `import_file` for an archive file, from its documents file.

    The source of the task is an `ExtractedFile`.
    """
    source, entry = task.source, task.entry
    assert isinstance(source, ExtractedFile)
    if entry and entry.counts.get(UNREADABLE):
        entry = None
    try:
        documents = DocumentsFile(Path(source.documents))
        notes = documents.notes.files[source.number]
        if entry and notes.checksum and entry.checksum != notes.checksum:
            sizes = f"{source.size} bytes, not {entry.size}"
            yield conflict_verdict(
                source, entry, "other content" if entry.size == source.size else sizes
            )
        elif entry and entry.finished:
            yield Verdict(Outcome.SKIPPED)
        else:
            load = _Load(task, documents, source.number, entry, options, lookups)
            yield from load.parts(moved)
    except (SourceError, IndexError) as error:
        place = Path(source.documents).name
        yield Verdict(Outcome.PARTIAL, (ReadError(source.name, None, "open", f"{place}: {error}"),))


class _Load:
    """The import of one archive file from its documents file."""

    def __init__(
        self,
        task: FileTask,
        documents: DocumentsFile,
        number: int,
        entry: SourceFile | None,
        options: ImportOptions,
        lookups: Lookups,
    ) -> None:
        source, notes = task.source, documents.notes.files[number]
        place = options.collection, source.name, task.path, source.size
        new = SourceFile(*place, notes.checksum, requires=source.requires)
        self._documents, self._notes, self._entry = documents, notes, entry or new
        self._first_row = documents.first_row(number)
        self._with_pages, self._is_new = task.with_pages, entry is None
        self._options, self._texts = options, _Texts(documents)
        self._held = _RowCollector(lookups, options, self._texts)
        self._left_out: list[tuple[int, str]] = []
        self._unmet_errors = 0

    def parts(self, moved: Callable[[int], None]) -> Iterator[FilePart | Verdict]:
        """Yield the parts from the ledger's position, then the verdict."""
        start, counted = self._start()
        row = sum(part.rows for part in self._notes.parts[:start])
        if self._options.deduplicate:
            self._texts.add_rows(self._first_row, row)
        counts = Counter(
            {name: self._entry.counts.get(name, 0) for name in (EXCLUDED, PURGED) if counted}
        )
        done_to = self._entry.done_to if counted else 0
        for part in self._notes.parts[start:]:
            found = self._documents.rows(self._first_row + row, part.rows)
            yield self._part(part, found, row, counted, counts)
            row += part.rows
            done_to += part.bytes
            moved(done_to)
        yield Verdict(Outcome(self._notes.outcome), tuple(self._notes.errors))

    def _start(self) -> tuple[int, int]:
        """Return the first part that may be new, and the number of captures the ledger counts.

        If the ledger's position is not the end of a part, as after a partial import of the archive
        file itself, the result is the first part.
        """
        if self._is_new:
            return 0, 0
        mark = (self._entry.done_to, self._entry.finished)
        row, start, counted = 0, 0, 0
        ends = []
        for number, part in enumerate(self._notes.parts):
            row += part.rows
            ends.append(row)
            if part.counts is not None and (part.done_to, part.finished) == mark:
                start, counted = number + 1, part.marked
                counts = self._entry.counts
                self._unmet_errors = part.counts.get(_ERRORS, 0) - counts.get(_ERRORS, 0)
        return next((n for n in range(start) if ends[n] > counted), start), counted

    def _part(
        self,
        part: PartNotes,
        rows: Iterator[Mapping[str, Any]],
        first: int,
        counted: int,
        counts: Counter[str],
    ) -> FilePart:
        for number, row in enumerate(rows, first):
            if (fate := self._held.add_row(_Row(row, self._first_row + number))) and (
                number >= counted
            ):
                self._left_out.append((number, fate))
        found = self._held.take()
        errors = (*self._met_errors(part), *self._unlisted(part))
        files = (self._ledger_entry(part, counts),) if part.counts is not None else ()
        told = part.counts is None or self._notes.checksum or self._is_new
        new = (one.capture for one in found.documents)
        pages = page_places(new, lists=True) if self._with_pages else ()
        late = tuple(one.late_outlinks() for one in part.late)
        return replace(found, errors=errors).part(
            files if told else (), part.records, part.bytes, late, tuple(pages)
        )

    def _met_errors(self, part: PartNotes) -> list[ReadError]:
        """Return the errors of a part, without errors of texts that an import would not extract."""
        skipped = self._held.not_extracted
        met = [e for e in part.errors if e.kind != EXTRACT or e.offset not in skipped]
        self._unmet_errors += len(part.errors) - len(met)
        return met

    def _unlisted(self, part: PartNotes) -> Iterator[ReadError]:
        for kind, count in part.more_errors.items():
            error = ReadError(self._notes.name, None, kind, _NOT_LISTED)
            yield from (error for _ in range(count))

    def _ledger_entry(self, part: PartNotes, left_out: Counter[str]) -> SourceFile:
        """Return a part's ledger entry; captures left out by lists and rules are counted apart."""
        left_out.update(fate for number, fate in self._left_out if number < part.marked)
        self._left_out = [one for one in self._left_out if one[0] >= part.marked]
        counts = Counter(part.counts)
        for name in {"captures", UNDEDUPLICATED} & counts.keys():
            counts[name] -= left_out.total()
        counts.update(+left_out)
        counts[_ERRORS] -= self._unmet_errors
        return replace(
            self._entry, counts=dict(counts), done_to=part.done_to, finished=part.finished
        )


class _Texts:
    """The rows of the texts of documents whose own captures may have been left out."""

    def __init__(self, documents: DocumentsFile) -> None:
        self._documents, self._rows = documents, dict[str, int]()
        self._read: LRUCache[str, Extract] = LRUCache(_REMEMBERED_TEXTS)

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def add(self, id: str, row: int, text: Extract) -> None:
        """Add the text of a capture that was left out."""
        self._rows[id], self._read[id] = row, text

    def add_rows(self, first: int, count: int) -> None:
        """Add the texts of rows before the loaded ones, as any capture there may be left out."""
        if count:
            self._rows |= self._documents.text_rows(first, count)

    def read(self, id: str) -> Extract:
        """Return the text of a document; raises SourceError if it cannot be read."""
        if id not in self._read:
            self._read[id] = self._documents.extract(self._rows[id]) or Extract()
        return self._read[id]


class _Row(CaptureRecord):
    """A row of a documents file as a record; `place` is its row number."""

    __slots__ = ("extract", "place")

    def __init__(self, row: Mapping[str, Any], place: int) -> None:
        self.capture, self.extract, self.place = row_capture(row), extract_of(row), place
        self.further, self._metadata = (), []


class _RowCollector(Collector):
    """Collects rows as if they were records, with the extracts stored in them.

    `not_extracted` are the offsets of captures whose texts an import would not have extracted.
    """

    def __init__(self, lookups: Lookups, options: ImportOptions, texts: _Texts) -> None:
        super().__init__(options, lookups, lambda offset: nullcontext(), {})
        self._texts = texts
        self._with_text: set[int] = set()
        self._textless: list[CaptureRecord] = []
        self.not_extracted: set[int] = set()

    def add_row(self, row: _Row) -> str:
        """Add a row; return the reason if its capture is left out, otherwise ""."""
        row.kept = self.wants(row.capture)
        fate = self.add(row)
        if row.extract is not None:
            self._with_text.add(row.capture.source_file_offset)
            if fate is not Fate.STORED and self._options.deduplicate:
                self._texts.add(row.capture.document_id, row.place, row.extract)
        return {Fate.EXCLUDED: EXCLUDED, Fate.PURGED: PURGED}.get(fate, "")

    def take(self) -> CollectedBatch:
        """Return everything collected; a document may take its text from a capture left out."""
        for record in self._textless:
            if record.capture.document_id in self._texts:
                super()._wait(record)
        # Rows do not have the additional digests of payloads.
        self._elsewhere.update(self._seen)
        collected = super().take()
        kept = {one.capture.source_file_offset for one in collected.documents}
        self.not_extracted = self._with_text - kept
        self._with_text, self._textless = set(), []
        return collected

    def _wait(self, record: CaptureRecord) -> None:
        if isinstance(record, _Row) and record.extract is None:
            self._textless.append(record)
        else:
            super()._wait(record)

    def _text(self, record: CaptureRecord) -> Extract:
        if isinstance(record, _Row) and record.extract is not None:
            return record.extract
        return self._texts.read(record.capture.document_id)

"""From a documents file to parts for the engine: what `import_file` makes of an archive file."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from nwx.captures import page_places
from nwx.errors import SourceError
from nwx.importing.archive_file import conflict_verdict
from nwx.importing.collector import EXTRACT, Lookups
from nwx.importing.extracted.documents_file import DocumentsFile, extract_of, row_capture
from nwx.importing.extracted.notes import ExtractedFile, PartNotes
from nwx.importing.messages import FilePart, FileTask, Outcome, Verdict
from nwx.importing.options import ImportOptions
from nwx.keys import document_key, makes_document, precedence
from nwx.model import (
    EXCLUDED,
    PURGED,
    UNDEDUPLICATED,
    UNREADABLE,
    Batch,
    Capture,
    Dates,
    Document,
    Extract,
    ReadError,
    SourceFile,
)
from nwx.values.render_names import render_name

_REMEMBERED_TEXTS = 1_000
_ERRORS = "errors"
_NOT_LISTED = "not listed: the extraction kept the first errors of each kind"


def load_file(
    task: FileTask, options: ImportOptions, lookups: Lookups, moved: Callable[[int], None]
) -> Iterator[FilePart | Verdict]:
    """Yield the output of `import_file` for an archive file, from its documents file.

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
    """An archive file on its way from its documents file into the archive."""

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
        self._options, self._lookups = options, lookups
        self._texts = _Texts(documents)
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
        """Return the first part that may be new, and the number of captures in the ledger.

        If the ledger's position is not a part's mark, as after an import of some of the archive
        file itself, that is the first part.
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
        held = _Rows(self._lookups, self._options, self._texts)
        for number, row in enumerate(rows, first):
            if (fate := held.add(row, self._first_row + number)) and number >= counted:
                self._left_out.append((number, fate))
        documents = held.documents()
        errors = self._met_errors(part, held)
        files = (self._ledger_entry(part, counts),) if part.counts is not None else ()
        told = part.counts is None or self._notes.checksum or self._is_new
        pages = page_places(one.capture for one in documents) if self._with_pages else ()
        batch = Batch(tuple(documents), tuple(held.captures), held.dates(), files if told else ())
        return FilePart(
            batch,
            (*errors, *self._unlisted(part)),
            part.records,
            len(held.captures),
            held.candidates,
            held.fates[EXCLUDED],
            part.bytes,
            tuple(pages),
            late=tuple(one.late_outlinks() for one in part.late),
            purged=held.fates[PURGED],
            joins=tuple(held.joins),
            renders=sum(render_name(one.url) is not None for one in held.captures),
        )

    def _met_errors(self, part: PartNotes, held: "_Rows") -> list[ReadError]:
        """Return the errors of a part, without errors of texts that an import would skip."""
        met = [e for e in part.errors if e.kind != EXTRACT or e.offset not in held.not_extracted]
        self._unmet_errors += len(part.errors) - len(met)
        return met

    def _unlisted(self, part: PartNotes) -> Iterator[ReadError]:
        for kind, count in part.more_errors.items():
            error = ReadError(self._notes.name, None, kind, _NOT_LISTED)
            yield from (error for _ in range(count))

    def _ledger_entry(self, part: PartNotes, left_out: Counter[str]) -> SourceFile:
        """Return the entry of a part, without what lists and rules leave out before its mark."""
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
    """The texts of documents whose captures may have been left out, by the rows that have them."""

    def __init__(self, documents: DocumentsFile) -> None:
        self._documents, self._rows = documents, dict[str, int]()
        self._read: LRUCache[str, Extract] = LRUCache(_REMEMBERED_TEXTS)

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def add(self, id: str, row: int, text: Extract) -> None:
        """Take the text of a capture that was left out."""
        self._rows[id], self._read[id] = row, text

    def add_rows(self, first: int, count: int) -> None:
        """Add the texts of rows before the loaded ones: any may have been omitted."""
        if count:
            self._rows |= self._documents.text_rows(first, count)

    def read(self, id: str) -> Extract:
        """Return the text of a document; raises SourceError where it cannot be read."""
        if id not in self._read:
            self._read[id] = self._documents.extract(self._rows[id]) or Extract()
        return self._read[id]


class _Rows:
    """The rows of one part while it is put together."""

    def __init__(self, lookups: Lookups, options: ImportOptions, texts: _Texts) -> None:
        self._lookups, self._deduplicate, self._texts = lookups, options.deduplicate, texts
        self._documents: dict[str | int, Document] = {}
        self._without_text: list[Capture] = []
        self._seen: dict[str, set[tuple[str, str]]] = {}
        self.captures: list[Capture] = []
        self.fates: Counter[str] = Counter()
        self.not_extracted: set[int] = set()
        self.candidates = 0
        self.joins: Sequence[str] = ()

    def add(self, row: Mapping[str, Any], place: int) -> str:
        """Take a row at a place; return why its capture is left out, "" where it is not."""
        capture, extract = row_capture(row), extract_of(row)
        if self._lookups.purged(capture):
            return self._leave_out(capture, extract, PURGED, place)
        if capture.document_id:
            seen = self._seen.setdefault(document_key(capture.url, capture.digest), set())
            seen.add((capture.timestamp, capture.collection))
        listed = self._lookups.listed
        if listed is not None and listed(capture.url, capture.digest, capture.timestamp):
            return self._leave_out(capture, extract, EXCLUDED, place)
        self.captures.append(capture)
        browsed = makes_document(capture)
        self.candidates += browsed or capture.record_type == "revisit"
        if extract is not None:
            self._keep(capture, extract)
        elif browsed:
            self._without_text.append(capture)
        return ""

    def _leave_out(self, capture: Capture, extract: Extract | None, fate: str, place: int) -> str:
        self.fates[fate] += 1
        self.not_extracted.add(capture.source_file_offset)
        if extract is not None and self._deduplicate:
            self._texts.add(capture.document_id, place, extract)
        return fate

    def _keep(self, capture: Capture, extract: Extract) -> None:
        key = capture.document_id if self._deduplicate else capture.source_file_offset
        held = self._documents.get(key)
        if held is None or precedence(held.capture) < precedence(capture):
            self._documents[key] = Document(capture, extract)

    def documents(self) -> list[Document]:
        """Return the documents that the archive does not have, or only of later captures."""
        if not self._deduplicate:
            return list(self._documents.values())
        self._take_texts()
        memory = self._lookups.memory
        ranks = {str(id): precedence(one.capture) for id, one in self._documents.items()}
        asked = [id for id, rank in ranks.items() if memory.precedence(id) < rank]
        known = self._lookups.known(asked) if asked else {}
        new = [id for id in asked if known.get(id, -1) < ranks[id]]
        for id in asked:
            memory.remember(id, max(known.get(id, -1), ranks[id]))
        chosen = [self._documents[id] for id in new]
        kept = {one.capture.source_file_offset for one in chosen}
        texts = {one.capture.source_file_offset for one in self._documents.values()}
        self.not_extracted |= texts - kept
        return chosen

    def _take_texts(self) -> None:
        """Give new documents the texts of captures that were left out: the payload is the same."""
        waiting = [one for one in self._without_text if one.document_id in self._texts]
        known = self._lookups.known({one.document_id for one in waiting}) if waiting else {}
        for capture in waiting:
            id = capture.document_id
            rank = max(known.get(id, -1), self._lookups.memory.precedence(id))
            if rank < precedence(capture):
                self._keep(capture, self._texts.read(id))

    def dates(self) -> tuple[Dates, ...]:
        """Return the dates of all captures, of those on exclusion lists too."""
        dates = [Dates(key, tuple(sorted(seen))) for key, seen in self._seen.items()]
        joined, self.joins = self._lookups.joined(dates)
        return tuple(joined)

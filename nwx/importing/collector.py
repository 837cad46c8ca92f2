"""Collects the records of a file into parts, ready to be written."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from enum import Enum, auto

from nwx.captures import PagePlace
from nwx.data_classes import dataclass
from nwx.extract import ExtractLimits, extract, extractable
from nwx.extract.extractors import Extractor, extract_by_command, extractor_for
from nwx.importing.late_outlinks import CUT, LateOutlinks, outlink_links, with_links
from nwx.importing.messages import FilePart
from nwx.importing.options import ImportOptions
from nwx.keys import document_key, makes_document, precedence
from nwx.model import Batch, Capture, Dates, Document, Extract, ReadError, SourceFile
from nwx.plugins import checked_extract, enricher_plugins
from nwx.values.media_types import POOR_PAGES
from nwx.values.render_names import render_name
from nwx.warc.reader import CaptureRecord, StoredPayload

# Limits of one lookup (records, payload bytes) and of one part (captures, characters of text,
# errors), whichever is reached first; they bound the memory.
_LOOKUP_RECORDS, _LOOKUP_BYTES = 256, 1 << 20
_PART_CAPTURES, _PART_CHARACTERS, _PART_ERRORS = 4_000, 1 << 19, 1_000
_NO_PAYLOAD = StoredPayload(b"")
EXTRACT = "extract"
"""The kind of extraction errors."""

_CHARACTERS_OF_A_LINK = 100
_SHARE_OF_EXTRACTION = 0.5
_SHARE_OF_TIME = 0.9  # of a document's time, for an external command; the rest is for its text
_REMEMBERED_KEYS = 2_000  # in each of two dictionaries, of recent and of older keys

Guard = Callable[[int], AbstractContextManager[None]]
"""Marks the extraction of the record at an offset, for the process that watches this one."""

ListLookupFunction = Callable[[str, str, str], bool]
"""Returns whether a capture (URL, digest, timestamp) is excluded."""


class Fate(Enum):
    """The fate of a capture: stored, excluded except for its date, or dropped entirely."""

    STORED = auto()
    EXCLUDED = auto()
    PURGED = auto()


@dataclass(frozen=True, slots=True)
class CollectedBatch:
    """The data collected from a range of records.

    `candidates` counts the captures that make a document or repeat one, `excluded` those that keep
    only their dates, `purged` those that keep nothing. `digests` pairs each additional digest with
    the capture's; `joins` are keys whose dates may belong to a document with another digest.
    """

    documents: tuple[Document, ...]
    captures: tuple[Capture, ...]
    dates: tuple[Dates, ...]
    errors: tuple[ReadError, ...]
    candidates: int
    excluded: int
    purged: int = 0
    digests: tuple[tuple[str, str], ...] = ()
    joins: tuple[str, ...] = ()

    def part(
        self,
        files: tuple[SourceFile, ...],
        records: Mapping[str, int],
        bytes: int,
        late: tuple[LateOutlinks, ...],
        pages: tuple[PagePlace, ...] = (),
    ) -> FilePart:
        """Return this batch as a part of a file, with the records and bytes read for it."""
        return FilePart(
            Batch(self.documents, self.captures, self.dates, files),
            self.errors,
            records,
            len(self.captures),
            self.candidates,
            self.excluded,
            bytes,
            pages,
            late,
            sum(render_name(one.url) is not None for one in self.captures),
            self.purged,
            self.digests,
            self.joins,
        )


def _problems(payload: StoredPayload) -> Iterator[str]:
    if payload.problem:
        yield f"coding: {payload.problem}"
    if payload.truncated:
        yield f"size: the payload is too long, its first {len(payload.data)} bytes were read"


class Memory:
    """The most recent documents and their precedence, to avoid repeated engine lookups.

    A document may be forgotten, but a remembered one is always valid: it gets written, or the
    import ends.
    """

    def __init__(self) -> None:
        self._ranks: dict[str, int] = {}
        self._older: dict[str, int] = {}

    def precedence(self, id: str) -> int:
        """Return the precedence of a document, -1 if it is not remembered."""
        return self._ranks.get(id, self._older.get(id, -1))

    def remember(self, id: str, rank: int) -> None:
        """Remember the precedence of a document, and forget the oldest documents."""
        self._ranks[id] = rank
        if len(self._ranks) >= _REMEMBERED_KEYS:
            self._ranks, self._older = {}, self._ranks


@dataclass(frozen=True, slots=True)
class Lookups:
    """Lookups of documents and captures during an import.

    `known` is `Engine.known`. Captures that are `listed` keep only their date, `purged` captures
    (`AccessRules.purges`) nothing. `memory` is shared by the files that one worker reads. `joined`
    is `dates_of_documents` if the archive has additional digests.
    """

    known: Callable[[Collection[str]], dict[str, int]] = lambda ids: {}
    listed: ListLookupFunction | None = None
    purged: Callable[[Capture], bool] = lambda capture: False
    memory: Memory = field(default_factory=Memory)
    joined: Callable[[Sequence[Dates]], tuple[Sequence[Dates], Sequence[str]]] = lambda dates: (
        dates,
        (),
    )


class Collector:
    """Collects records until they make a full part.

    With deduplication, only documents unknown to the engine are extracted, otherwise all.
    `without_text` maps the offsets of records that must not be extracted to the reason, as text.
    """

    def __init__(
        self,
        options: ImportOptions,
        lookups: Lookups,
        guard: Guard,
        without_text: Mapping[int, str],
    ) -> None:
        self._options, self._lookups, self._guard = options, lookups, guard
        self._extract = options.extract or extract
        self._enrichers = options.enrich
        # Less than the time limit of the process, so that the text extracted until then is kept.
        self._limits = ExtractLimits(seconds=options.item_seconds * _SHARE_OF_EXTRACTION)
        self._without_text = without_text
        self._memory = lookups.memory
        self._waiting: list[tuple[int, CaptureRecord]] = []
        self._waiting_bytes = 0
        self._clear()

    def _clear(self) -> None:
        self._captures: list[Capture] = []
        self._documents: dict[str | int, Document] = {}
        self._seen: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        self._elsewhere: set[str] = set()
        self._joins: set[str] = set()
        self._errors: list[ReadError] = []
        self._digests: list[tuple[str, str]] = []
        self._candidates = self._characters = self._excluded = self._purged = 0

    def wants(self, capture: Capture) -> bool:
        """Return whether the payload of a capture will be read."""
        if not self._is_read(capture) or self._lookups.purged(capture):
            return False
        return not self._is_listed(capture)

    def add(self, record: CaptureRecord) -> Fate:
        """Add the next record of the file; return the fate of its capture.

        The reader must have kept the payloads that `wants` selects.
        """
        capture = record.capture
        if self._lookups.purged(capture):
            self._purged += 1
            return Fate.PURGED
        # `wants` has checked the lists for captures that are read; the check is slow, so only once.
        listed = not record.kept if self._is_read(capture) else self._is_listed(capture)
        if capture.document_id:
            key = document_key(capture.url, capture.digest)
            self._seen[key].add((capture.timestamp, capture.collection))
            if listed or not makes_document(capture):
                self._elsewhere.add(key)
            else:
                self._joins |= {document_key(capture.url, one) for one in record.further}
        if listed:
            self._excluded += 1
            return Fate.EXCLUDED
        self._captures.append(capture)
        self._digests += [(one, capture.digest) for one in record.further]
        browsed = makes_document(capture)
        self._candidates += browsed or capture.record_type == "revisit"
        if browsed and self._options.deduplicate:
            self._wait(record)
        elif browsed:
            self._documents[capture.source_file_offset] = self._document(record)
        return Fate.STORED

    def _is_read(self, capture: Capture) -> bool:
        """Return whether a payload is read, for its text or for its fields."""
        if self._has_text(capture):
            return True
        if not (self._enrichers and makes_document(capture)):
            return False
        # Imported late, as below: few archives have enrichers.
        from nwx.extract.enrichers import reads_payload

        return reads_payload(self._enrichers, capture)

    def _has_text(self, capture: Capture) -> bool:
        return makes_document(capture) and (
            extractable(capture.content_type_norm, capture.content_type)
            or self._extractor(capture) is not None
        )

    def _extractor(self, capture: Capture) -> Extractor | None:
        """Return the command that extracts text where nwx finds none; None without one."""
        family = capture.content_type_norm
        return extractor_for(self._options.extractors, capture.content_type, family)

    def _is_listed(self, capture: Capture) -> bool:
        """Return whether a capture is on one of the exclusion lists."""
        listed = self._lookups.listed
        return listed is not None and listed(capture.url, capture.digest, capture.timestamp)

    def add_error(self, error: ReadError) -> None:
        """Add an error to the part."""
        self._errors.append(error)

    def _wait(self, record: CaptureRecord) -> None:
        rank, document = precedence(record.capture), record.capture.document_id
        if self._memory.precedence(document) >= rank:
            return
        self._waiting.append((rank, record))
        self._waiting_bytes += (record.capture.content_length or 0) + record.metadata_bytes
        if len(self._waiting) >= _LOOKUP_RECORDS or self._waiting_bytes >= _LOOKUP_BYTES:
            self._settle()

    def _settle(self) -> None:
        best: dict[str, int] = {}
        for rank, record in self._waiting:
            document = record.capture.document_id
            best[document] = max(best.get(document, -1), rank)
        known = self._lookups.known(best.keys()) if best else {}
        for rank, record in self._waiting:
            document = record.capture.document_id
            if rank == best[document] and known.get(document, -1) < rank:
                self._documents[document] = self._document(record)
            self._memory.remember(document, max(known.get(document, -1), best[document]))
        self._waiting, self._waiting_bytes = [], 0

    def _document(self, record: CaptureRecord) -> Document:
        capture = record.capture
        found = self._with_outlinks(record, self._text(record))
        self._characters += len(found.content) + _CHARACTERS_OF_A_LINK * len(found.links)
        return Document(capture, found)

    def _text(self, record: CaptureRecord) -> Extract:
        capture = record.capture
        if not self._is_read(capture):
            return self._enriched(record, Extract())
        reason = self._without_text.get(capture.source_file_offset)
        if reason is not None:
            self._report(capture, reason)
            return Extract(problems=(reason,))
        with self._guard(capture.source_file_offset):
            payload = record.payload()
            found = self._extracted(capture, payload) if self._has_text(capture) else Extract()
            return self._enriched(record, found, payload)

    def _enriched(
        self, record: CaptureRecord, found: Extract, payload: StoredPayload = _NO_PAYLOAD
    ) -> Extract:
        """Return an extract with the fields of this import's enrichers."""
        if not self._enrichers:
            return found
        from nwx.importing.enrichment import enriched_record

        try:
            fields = enriched_record(self._enrichers, record, payload, found.content)
        except MemoryError:
            return replace(found, problems=(*found.problems, "memory: no fields could be made"))
        return replace(found, fields={**found.fields, **fields})

    def _with_outlinks(self, record: CaptureRecord, found: Extract) -> Extract:
        """Return an extract with the outlinks of adjacent metadata records."""
        outlinks, cut = record.outlinks()
        if not outlinks:
            return found
        links = outlink_links(record.capture.url, outlinks)
        return with_links(found, links, CUT if cut else "")

    def _extracted(self, capture: Capture, payload: StoredPayload) -> Extract:
        started = time.thread_time()
        try:
            found = self._extract(
                payload.data,
                url=capture.url,
                content_type_norm=capture.content_type_norm,
                content_type=capture.content_type,
                charset=payload.charset,
                parser=self._options.parser,
                limits=self._limits,
            )
        except MemoryError:
            limit = self._options.item_bytes >> 20
            found = Extract(problems=(f"memory: more than {limit} MiB are needed",))
        if not found.content and payload.data and (extractor := self._extractor(capture)):
            left = self._options.item_seconds * _SHARE_OF_TIME - (time.thread_time() - started)
            memory = self._options.item_bytes
            told = extract_by_command(extractor, payload.data, seconds=left, memory_bytes=memory)
            found = replace(
                found,
                content=told.content,
                content_language=told.content_language,
                signature=told.signature,
                problems=found.problems + told.problems,
            )
        for enrich in enricher_plugins():
            found = checked_extract(enrich(capture, payload.data, found))
        problems = (*_problems(payload), *found.problems)
        for problem in problems:
            if problem not in POOR_PAGES:
                self._report(capture, problem)
        return replace(found, problems=problems) if problems else found

    def _report(self, capture: Capture, message: str) -> None:
        place = capture.source_file, capture.source_file_offset
        self._errors.append(ReadError(*place, EXTRACT, message))

    @property
    def full(self) -> bool:
        """Whether the collected records make a full part."""
        return (
            len(self._captures) + self._excluded + self._purged >= _PART_CAPTURES
            or self._characters >= _PART_CHARACTERS
            or len(self._errors) >= _PART_ERRORS
        )

    def take(self) -> CollectedBatch:
        """Return everything collected since the last call."""
        self._settle()
        collected = CollectedBatch(
            documents=tuple(self._documents.values()),
            captures=tuple(self._captures),
            dates=self._dates(),
            errors=tuple(self._errors),
            candidates=self._candidates,
            excluded=self._excluded,
            purged=self._purged,
            digests=tuple(self._digests),
            joins=tuple(self._joins),
        )
        self._clear()
        return collected

    def _dates(self) -> tuple[Dates, ...]:
        dates = [Dates(key, tuple(sorted(seen))) for key, seen in self._seen.items()]
        own = [one for one in dates if one.key not in self._elsewhere]
        joined, orphans = self._lookups.joined([one for one in dates if one.key in self._elsewhere])
        self._joins.update(orphans)
        return (*own, *joined)

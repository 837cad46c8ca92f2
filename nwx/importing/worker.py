"""Reads an archive file into parts for the engine, in a process that any document may crash."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, TypeVar

from nwx.bulk.guarded_process import ItemGuard, Pulse
from nwx.bulk.progress import retry_unavailable
from nwx.captures import page_places
from nwx.data_classes import dataclass
from nwx.engine.base import Engine, open_engine
from nwx.engine.document_dates import dates_of_documents
from nwx.errors import NwxError, SourceError
from nwx.importing.collector import (
    EXTRACT,
    Collector,
    Fate,
    Guard,
    ListLookupFunction,
    Lookups,
    Memory,
)
from nwx.importing.extracted.notes import ExtractedFile
from nwx.importing.late_outlinks import OutlinkJoin
from nwx.importing.messages import (
    FilePart,
    FileTask,
    Message,
    Outbox,
    Outcome,
    PipeRequest,
    Verdict,
)
from nwx.importing.options import ImportOptions
from nwx.model import (
    DIGESTED,
    EXCLUDED,
    PURGED,
    UNDEDUPLICATED,
    UNREADABLE,
    Batch,
    ReadError,
    SourceFile,
)
from nwx.settings import Settings
from nwx.warc.checksums import Contents, checksum_of_grown, contents_of
from nwx.warc.reader import ArchiveReader
from nwx.warc.record_groups import ExternalBodies, RecordedOutlinks
from nwx.warc.sources import ArchiveSource

if TYPE_CHECKING:
    from nwx.dedup.exclusion_lists import ListFiles


def import_file(
    task: FileTask,
    options: ImportOptions,
    lookups: Lookups,
    guard: Guard,
    moved: Callable[[int], None],
) -> Iterator[FilePart | Verdict]:
    """Yield the parts of a file that are not in the archive yet, then the verdict.

    `moved` is called at every record with the bytes read. All errors of a file are counted in its
    ledger entry, except a name conflict, as that entry belongs to another file.
    """
    source, entry = task.source, task.entry
    if entry and entry.counts.get(UNREADABLE):
        entry = None
    grown = entry if entry and _may_have_grown(source, entry) else None
    if not grown and entry and source.size is not None and entry.size not in (None, source.size):
        yield conflict_verdict(source, entry, f"{source.size} bytes, not {entry.size}")
        return
    new = SourceFile(
        options.collection, source.name, task.path, source.size, "", requires=source.requires
    )
    try:
        contents = _contents(source, entry, grown)
    except SourceError as error:
        yield from _unreadable(new, str(error), is_new=entry is None)
        return
    if grown and contents.checksum:
        entry = replace(grown, size=source.size, checksum=contents.checksum)
    if entry and entry.checksum != contents.checksum:
        yield conflict_verdict(source, entry, "other content")
    elif entry and entry.finished:
        yield Verdict(Outcome.SKIPPED)
    else:
        new = replace(new, checksum=contents.checksum)
        collector = Collector(options, lookups, guard, task.without_text)
        parts = _Import(source, entry or new, collector, options, moved, contents).parts()
        yield from map(_with_pages, parts) if task.with_pages else parts


def _may_have_grown(source: ArchiveSource, entry: SourceFile) -> bool:
    """Return whether a file that was not read to its end is larger than at its last import."""
    known = entry.size and "-" in entry.checksum and not entry.finished and not source.member
    return bool(known) and (source.size or 0) > (entry.size or 0)


def _contents(
    source: ArchiveSource, entry: SourceFile | None, grown: SourceFile | None
) -> Contents:
    """Return the checksum of a file, "" if a grown file no longer begins with its old content."""
    if grown is None:
        return contents_of(source, entry.checksum if entry else "")
    return Contents(checksum_of_grown(source, grown.checksum) or "")


def _with_pages(message: FilePart | Verdict) -> FilePart | Verdict:
    """Return a part with the places of its new pages; a verdict unchanged."""
    if not isinstance(message, FilePart) or not isinstance(message.batch, Batch):
        return message
    captures = (document.capture for document in message.batch.documents)
    return replace(message, pages=tuple(page_places(captures, lists=True)))


def _unreadable(file: SourceFile, message: str, *, is_new: bool) -> Iterator[FilePart | Verdict]:
    """Yield the part and verdict of a file that cannot be opened."""
    error = ReadError(file.name, None, "open", message)
    entry = replace(file, counts={"errors": 1, UNREADABLE: 1})
    yield FilePart(Batch(files=(entry,) if is_new else ()), (error,), {}, 0, 0, 0, 0)
    yield Verdict(Outcome.UNREADABLE)


def conflict_verdict(source: ArchiveSource, entry: SourceFile, difference: str) -> Verdict:
    """Return the verdict of a file if another file of the same name is in the archive."""
    message = (
        f"another file of this name is in the archive ({entry.path}; {difference});"
        " rename this one, or import it into another collection"
    )
    return Verdict(Outcome.REFUSED, (ReadError(source.name, None, "conflict", message),))


class _Import:
    """The import of one file."""

    def __init__(
        self,
        source: ArchiveSource,
        entry: SourceFile,
        collector: Collector,
        options: ImportOptions,
        moved: Callable[[int], None],
        contents: Contents,
    ) -> None:
        self._source, self._entry = source, entry
        self._contents = contents
        self._collector, self._moved = collector, moved
        self._deduplicated = options.deduplicate
        self._digested = options.digests == "sha256"
        self._join = OutlinkJoin()
        self._reader = ArchiveReader(
            source,
            options.collection,
            start=entry.done_to,
            verify=options.verify,
            keep=collector.wants,
            external=ExternalBodies(options.external),
            further=self._digested,
        )
        self._errors = self._extract_errors = 0
        self._fates: Counter[Fate] = Counter()
        self._cut_off = False
        self._done = _Mark(entry.done_to)
        self._told = self._done

    def parts(self) -> Iterator[FilePart | Verdict]:
        """Yield the parts from the ledger's position, then the verdict."""
        yield from self._read()
        outcome = self._outcome()
        if outcome is not Outcome.PARTIAL:
            for error in self._contents.errors:
                self._add_error(error)
        if outcome is Outcome.IMPORTED or (self._source.growing and not self._cut_off):
            self._mark(self._reader.position, finished=not self._source.growing)
        else:
            counts = {**self._done.counts, "errors": self._errors}
            unreadable = {UNREADABLE: 1} if outcome is Outcome.UNREADABLE else {}
            self._done = replace(self._done, counts=counts | unreadable)
        yield self._part()
        yield Verdict(outcome)

    def _outcome(self) -> Outcome:
        readable = self._reader.records or self._entry.done_to or not self._errors
        if not readable:
            return Outcome.UNREADABLE
        # Read errors of a disk or network may be temporary.
        return Outcome.PARTIAL if self._cut_off or self._source.growing else Outcome.IMPORTED

    def _read(self) -> Iterator[FilePart]:
        for item in self._reader.with_outlinks():
            if isinstance(item, RecordedOutlinks):
                self._join.add(item)
            elif isinstance(item, ReadError):
                self._cut_off = item.kind == "read"
                self._add_error(item)
            else:
                self._fates[self._collector.add(item)] += 1
                self._join.meet(item)
                if not self._join.is_waiting:
                    self._mark(item.resume_at)
            self._moved(self._reader.position)
            if self._collector.full or self._join.is_full:
                yield self._part()
        self._join.close()

    def _add_error(self, error: ReadError) -> None:
        self._errors += 1
        self._collector.add_error(error)

    def _mark(self, done_to: int, finished: bool = False) -> None:
        """Record that everything before `done_to` was collected, so a part may end at it."""
        stored = self._fates[Fate.STORED]
        counts = {"captures": stored, "errors": self._errors}
        for name, fate in ((EXCLUDED, Fate.EXCLUDED), (PURGED, Fate.PURGED)):
            if self._fates[fate]:
                counts[name] = self._fates[fate]
        if not self._deduplicated:
            counts[UNDEDUPLICATED] = stored
        if self._digested:
            counts[DIGESTED] = stored
        self._done = _Mark(done_to, finished, dict(self._reader.records), counts)

    def _part(self) -> FilePart:
        collected, done, told = self._collector.take(), self._done, self._told
        self._extract_errors += sum(error.kind == EXTRACT for error in collected.errors)
        self._told = done
        documents, late = self._join.take(collected.documents)
        files = (self._ledger_entry(done),) if done is not told else ()
        records = Counter(done.records) - Counter(told.records)
        whole = replace(collected, documents=documents)
        return whole.part(files, records, done.done_to - told.done_to, late)

    def _ledger_entry(self, done: "_Mark") -> SourceFile:
        counts = Counter(self._entry.counts)
        counts.update(done.records)
        counts.update(done.counts)
        counts["errors"] += self._extract_errors  # of captures before the mark
        return replace(
            self._entry, done_to=done.done_to, finished=done.finished, counts=dict(counts)
        )


@dataclass(frozen=True, slots=True)
class _Mark:
    """The position up to which a file was collected, and this import's counts up to it."""

    done_to: int
    finished: bool = False
    records: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


_T = TypeVar("_T")


def work(
    connection: "Connection[Message, FileTask | PipeRequest]",
    pulse: Pulse,
    settings: Settings,
    options: ImportOptions,
    excluded: "ListFiles | None",
) -> None:
    """Import the files received over a connection, until the parent closes it."""
    guard, memory = ItemGuard(pulse, options.item_seconds), Memory()

    def moved(position: int) -> None:
        pulse.position = position

    try:
        with open_engine(settings, read_only=True) as engine, _looked_up(excluded) as listed:
            outbox = Outbox(connection.send, engine.staging(), options.patience_seconds)
            while True:
                task = connection.recv()
                if isinstance(task, PipeRequest):
                    outbox.deliver()
                    continue
                lookups = _lookups(engine, options, listed, memory)
                if isinstance(task.source, ExtractedFile):
                    from nwx.importing.extracted.loaded_parts import load_file  # reads Parquet

                    messages = load_file(task, options, lookups, moved)
                else:
                    messages = import_file(task, options, lookups, guard, moved)
                for message in messages:
                    outbox.add(task, message)
                connection.send(PipeRequest.TASK)
    except NwxError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _lookups(
    engine: Engine, options: ImportOptions, listed: ListLookupFunction | None, memory: Memory
) -> Lookups:
    """Return the lookups for a file, with the access rules as they are now."""

    def retried(call: Callable[[], _T]) -> _T:
        return retry_unavailable(call, options.patience_seconds)

    lookups = Lookups(
        lambda ids: retried(lambda: engine.known(ids)),
        listed,
        retried(engine.access_index().rules).purges,
        memory,
    )
    if options.digests != "sha256" and not retried(engine.digests.is_made):
        return lookups
    return replace(lookups, joined=lambda dates: retried(lambda: dates_of_documents(engine, dates)))


@contextmanager
def _looked_up(excluded: "ListFiles | None") -> Iterator[ListLookupFunction | None]:
    """Yield the exclusion list lookup, or None without a list."""
    if excluded is None:
        yield None
        return
    from nwx.dedup.exclusion_lists import ListLookup  # takes long, and few imports need it

    with ListLookup(excluded) as lookup:
        yield lookup.covers

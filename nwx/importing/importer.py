"""The import of files: several reader processes, and this one, which writes."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import wait
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nwx.bulk.process_limits import rare_collections, return_free_memory, return_large_blocks
from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress, retry_unavailable
from nwx.bulk.resources import temporary_folder
from nwx.captures import PagePlace
from nwx.engine.base import Engine, StagedBatch
from nwx.engine.document_dates import join_dates, joining_dates
from nwx.engine.entries import file_id
from nwx.errors import EngineUnavailableError, NwxError, system_reason
from nwx.importing.file_queue import FileQueue, Job, own_holder, spooled
from nwx.importing.messages import Delivery, FilePart, Outcome, Verdict
from nwx.importing.options import ImportOptions, kept_digests, kept_enrichers
from nwx.importing.readers import Reader, warm_up
from nwx.importing.report import (
    ImportReport,
    ImportTally,
    error_entries,
    outdated_entries,
    with_error,
    with_errors,
)
from nwx.importing.shared_queue import LeaseTerms, SharedFileQueue
from nwx.importing.sole_import import Separated, SoleImport, Write
from nwx.model import EXCLUDED, STANDARD_INPUT, Batch, IndexName, ReadError, SourceFile
from nwx.settings import Settings
from nwx.warc.sources import ArchiveSource

if TYPE_CHECKING:
    from nwx.dedup.exclusion_lists import ExclusionList

_T = TypeVar("_T")

ListenerOfPages = Callable[[ArchiveSource, Sequence[PagePlace]], object]
"""Called with new pages of a file after they were written; must return at once, and not raise."""

_LOOK_SECONDS = 0.25
_DEATHS_IN_PLACE = 2
"""How often readers may die at one place, outside an extraction, before the file is abandoned."""


def import_files(
    engine: Engine,
    settings: Settings,
    sources: Iterable[ArchiveSource | ReadError],
    options: ImportOptions,
    progress: ShowProgress = no_progress,
    stopping: Callable[[], bool] = lambda: False,
    excluded: "ExclusionList | None" = None,
    on_documents: ListenerOfPages | None = None,
) -> ImportReport:
    """Import files into an archive; content already in it is unchanged.

    Captures that are `excluded` keep only their dates. Readers connect to the engine by `settings`.
    `progress` is called a few times a second. `on_documents` is called with new pages after they
    were written. Once `stopping` returns true, the import ends after the current write, and the
    report is marked interrupted; the next import continues from that point.
    Raises EngineError if the archive cannot be written, at the start or later: data written before
    remains.
    """
    options = kept_enrichers(engine, kept_digests(engine, options))
    warm_up(settings)
    return_large_blocks()
    with temporary_folder() as folder, rare_collections(), joining_dates(engine):
        run = _Run(engine, settings, options, stopping, folder, excluded, on_documents)
        try:
            run.take(sources)
            run.work(progress)
        finally:
            run.end_workers()
    retry_unavailable(engine.refresh, options.patience_seconds, stopping)
    return run.report()


class _Run:
    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        options: ImportOptions,
        stopping: Callable[[], bool],
        folder: Path,
        excluded: "ExclusionList | None",
        on_documents: ListenerOfPages | None,
    ) -> None:
        self._excluded = excluded.files if excluded else None
        self._on_documents = on_documents
        self._separated = Separated(engine)
        self._engine, self._settings, self._options = engine, settings, options
        self._stopping, self._folder = stopping, folder
        self._began = time.monotonic()
        self._namesakes: defaultdict[str, list[ArchiveSource]] = defaultdict(list)
        self._idle: list[Reader] = []
        self._busy: list[Reader] = []
        self._tally = ImportTally()
        self._queue = self._new_queue()

    def _new_queue(self) -> FileQueue:
        """Return the file queue, a shared one if other importers may run at the same time."""
        claims, options = self._engine.claims(), self._options
        if claims is None:
            return FileQueue(lambda files: self._stored_files(files))
        terms = LeaseTerms(own_holder(), options.lease_seconds)
        sole = SoleImport(claims, terms.holder, terms.seconds)
        self._retried(lambda: sole.begin(alone=not options.deduplicate))
        return SharedFileQueue(claims, options.collection, terms, self._retried, sole)

    def _stored_files(self, files: Sequence[SourceFile]) -> None:
        self._retried(partial(self._engine.write, Batch(files=tuple(files))))

    def take(self, sources: Iterable[ArchiveSource | ReadError]) -> None:
        """Queue the files, the largest first so that no long one runs alone at the end."""
        files = retry_unavailable(self._engine.files, self._options.patience_seconds)
        self._separated.note(files)
        ledger = {
            entry.name: entry for entry in files if entry.collection == self._options.collection
        }
        found: dict[str, ArchiveSource] = {}
        errors: list[ReadError] = []
        for source in sources:
            if isinstance(source, ReadError):
                errors.append(source)
            elif source.name in found:
                self._namesakes[source.name].append(source)
            else:
                found[source.name] = source
        self._keep_errors(errors, found.values(), ledger)
        queue = sorted(found.values(), key=lambda source: -(source.size or 0))
        jobs = [
            Job(source, source.path, ledger.get(source.name))
            if source.path != STANDARD_INPUT
            else Job(
                spooled(source, self._folder, self._stopping), source.path, ledger.get(source.name)
            )
            for source in queue
        ]
        self._queue.add(jobs)
        self._tally.excluded_before = sum(
            job.entry.counts.get(EXCLUDED, 0) for job in jobs if job.entry
        )
        others = [source for sources in self._namesakes.values() for source in sources]
        self._tally.expect([*queue, *others])

    def _keep_errors(
        self,
        errors: Sequence[ReadError],
        sources: Collection[ArchiveSource],
        ledger: Mapping[str, SourceFile],
    ) -> None:
        """Count errors about whole files, and record them in the ledger."""
        entries = error_entries(errors, self._options.collection, ledger)
        outdated = outdated_entries(ledger, sources, entries)
        ids = [file_id(entry.collection, entry.name) for entry in outdated]
        self._queue.note_unread(entries)
        if ids:
            self._retried(partial(self._engine.delete, IndexName.FILES, ids))
        self._tally.note(errors)

    def work(self, progress: ShowProgress) -> None:
        """Import all files, or until `stopping` returns true."""
        shown = self._began
        while (self._queue or self._busy) and not self._stopping():
            self._share()
            for connection in wait([r.connection for r in self._busy], _LOOK_SECONDS):
                self._listen(next(r for r in self._busy if r.connection is connection))
                if self._stopping():
                    break
            if time.monotonic() - shown >= _LOOK_SECONDS:
                shown = time.monotonic()
                progress(self._progress())
        if self._busy:
            self._tally.outcomes[Outcome.PARTIAL] += sum(len(r.jobs) for r in self._busy)
        progress(self._progress())

    def _share(self) -> None:
        """Renew claims, drop files that others have taken over, and assign free ones to readers."""
        self._queue.renew_claims()
        self._drop(self._queue.lost())
        self._hand_out()
        for job in self._queue.done_by_others():
            self._close(job, Verdict(Outcome.BY_OTHERS))

    def _drop(self, lost: Sequence[Job]) -> None:
        """Stop reading files that another importer has taken over."""
        for reader in list(self._busy):
            kept = [job for job in reader.jobs.values() if job not in lost]
            if len(kept) < len(reader.jobs):
                self._busy.remove(reader)
                reader.end()
                self._queue.put_back(kept)

    def _hand_out(self) -> None:
        for reader in filter(attrgetter("is_waiting"), self._busy):
            job = self._queue.take() if reader.has_room else None
            try:
                if job:
                    self._give(reader, job)
                else:
                    reader.deliver()
            except (BrokenPipeError, ConnectionResetError):  # `_listen` handles its death
                self._queue.put_back([job] if job else [])
        while len(self._busy) < self._options.processes and (job := self._queue.take()):
            try:
                reader = self._free_reader()
                self._give(reader, job)
            except (OSError, EOFError) as error:
                self._queue.put_back([job])
                # The fork server is gone, e.g. after a signal to the whole process group.
                if self._stopping():
                    return
                why = system_reason(error)
                raise NwxError(f"no process can be started to read files: {why}") from error
            self._busy.append(reader)

    def _give(self, reader: Reader, job: Job) -> None:
        told = self._on_documents is not None
        reader.read(job, staged=self._staged, with_pages=told)

    def _free_reader(self) -> Reader:
        while self._idle:
            reader = self._idle.pop()
            if reader.is_alive:
                return reader
            reader.end()
        return Reader(self._settings, self._options, self._excluded)

    def _listen(self, reader: Reader) -> None:
        try:
            message = reader.connection.recv()
        except (EOFError, ConnectionResetError):
            if not self._stopping():
                self._requeue(reader)
            return
        if isinstance(message, NwxError):
            raise message
        if isinstance(message, Delivery):
            self._receive(reader, message)
            return_free_memory()
        else:
            reader.has_read()
        if reader.is_waiting and not reader.jobs:
            self._busy.remove(reader)
            self._idle.append(reader)

    def _receive(self, reader: Reader, delivery: Delivery) -> None:
        """Write and count a reader's delivery."""
        staged, documents = delivery.staged, 0
        parts = [part for _, part in delivery.messages if isinstance(part, FilePart)]
        if pairs := [pair for part in parts for pair in part.digests]:
            self._retried(partial(self._engine.digests.add, pairs))
        if staged is not None:
            documents = self._stored_stage(staged)
        for number, message in delivery.messages:
            job = reader.jobs[number]
            if isinstance(message, Verdict):
                reader.has_delivered(number)
                if not self._queue.has_lost(job):
                    self._count_late_errors(job)
                    self._close(job, message)
            else:
                if staged is None:
                    message, documents = self._write(job, message)
                self._take_part(job, message, documents)
                documents = 0
        if joins := [key for part in parts for key in part.joins]:
            self._retried(partial(join_dates, self._engine, joins))

    def _stored_stage(self, staged: StagedBatch) -> int:
        """Write a reader's staged batch; return the number of new documents."""
        files = staged.files
        if self._queue.is_shared:
            staged = replace(staged, files=())
        documents = self._retried(partial(self._engine.write_staged, staged)).documents
        if self._queue.is_shared:
            self._queue.record(files)
        return documents

    def _write(self, job: Job, part: FilePart) -> tuple[FilePart, int]:
        """Write an unstaged part; return it with late errors, and its number of new documents."""
        batch, documents = part.batch, 0
        if part.late:
            self._separated.note(batch.files)
            documents = self._stored(replace(batch, files=()))
            part = self._with_late(job, part)
            batch = Batch(files=batch.files)  # last: the ledger must not be ahead of the data
        return part, documents + self._stored(batch)

    def _take_part(self, job: Job, part: FilePart, documents: int) -> None:
        """Record and report a part that was written."""
        if part.batch.files and not self._queue.has_lost(job):
            job.entry, job.deaths = part.batch.files[-1], 0
        self._tally.add(part, documents)
        if part.pages and self._on_documents is not None:
            self._on_documents(job.source, part.pages)

    def _stored(self, batch: Batch) -> int:
        """Write a batch; return the number of new documents."""
        files = batch.files
        self._separated.note(files)
        if self._queue.is_shared:
            batch = replace(batch, files=())
        documents = sum(self._retried(write).documents for write in self._writes(batch))
        if self._queue.is_shared:
            self._queue.record(files)
        return documents

    def _with_late(self, job: Job, part: FilePart) -> FilePart:
        """Write the late outlinks of a part; return the part with their errors added."""
        from nwx.importing.late_outlinks import LateOutlinkWriter  # loads the link extraction

        late = LateOutlinkWriter(self._engine, self._options.collection, job.source.name)
        errors = self._retried(partial(late.write, part.late))
        job.late_errors += len(errors)
        return replace(part, errors=(*part.errors, *errors))

    @property
    def _staged(self) -> bool:
        return self._options.deduplicate and not self._separated.needed

    def _writes(self, batch: Batch) -> Sequence[Write]:
        """Return the calls that store a batch, to be made in order."""
        every = not self._options.deduplicate
        return self._retried(lambda: self._separated.writes(batch, every=every))

    def _retried(self, call: Callable[[], _T]) -> _T:
        return retry_unavailable(call, self._options.patience_seconds, self._stopping)

    def _count_late_errors(self, job: Job) -> None:
        """Add errors found by this process, not the reader, to the file's ledger entry."""
        if job.entry and job.late_errors:
            job.entry = with_errors(job.entry, job.late_errors)
            self._queue.record((job.entry,))
            job.late_errors = 0

    def _close(self, job: Job, verdict: Verdict) -> None:
        self._queue.done(job)
        self._tally.close(job.source, verdict)
        if namesakes := self._namesakes.get(job.source.name):
            source = namesakes.pop(0)
            self._queue.add([Job(source, source.path, job.entry)])

    def _requeue(self, reader: Reader) -> None:
        """Requeue the files of a dead worker, to be read without the record that killed it."""
        self._busy.remove(reader)
        offset, current = reader.pulse.item, reader.current
        cause, is_foreign = reader.cause_of_death()
        reader.end()
        left = []
        for job in reader.jobs.values():
            if offset is None:
                job.deaths += 1
            elif job is current and is_foreign and offset not in job.killed_at:
                job.killed_at.add(offset)
            elif job is current:
                job.without_text[offset] = f"extraction {cause}"
            if job.deaths < _DEATHS_IN_PLACE:
                left.append(job)
            else:
                self._abandon(job, cause)
        self._queue.put_back(left)

    def _abandon(self, job: Job, cause: str) -> None:
        """Abandon a file that kills its readers, and record in the ledger how far it was read."""
        done_to = job.entry.done_to if job.entry else 0
        error = ReadError(job.source.name, done_to, "crash", f"reading {cause} after this place")
        new = SourceFile(self._options.collection, job.source.name, job.path, job.source.size, "")
        job.entry = with_error(job.entry, new)
        self._queue.record((job.entry,))
        self._close(job, Verdict(Outcome.PARTIAL, (error,)))

    def end_workers(self) -> None:
        """End all readers at once; the next import reads undelivered parts again."""
        for reader in (*self._busy, *self._idle):
            reader.end()
        with suppress(EngineUnavailableError):  # then others wait until the leases end
            self._queue.end()

    def _progress(self) -> WorkProgress:
        reading = sum(reader.position for reader in self._busy)
        return self._tally.progress(reading)

    def report(self) -> ImportReport:
        """Return the report of the import."""
        left = bool(self._queue or self._busy)
        return self._tally.report(left, time.monotonic() - self._began)

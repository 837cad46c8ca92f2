"""Importing files with several readers and one writer."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import TypeVar

from nwx.bulk.allocation import return_large_blocks
from nwx.bulk.gc_tuning import rare_collections
from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.resources import temporary_folder
from nwx.bulk.retries import retry_unavailable
from nwx.dedup.exclusion_lists import ExclusionList
from nwx.engine.base import Engine, StagedBatch
from nwx.engine.entries import file_id
from nwx.errors import NwxError, SourceError
from nwx.importing.file_errors import error_entries, outdated_entries, with_error, with_errors
from nwx.importing.late_outlinks import LateOutlinkWriter
from nwx.importing.messages import FilePart, FileTask, Verdict
from nwx.importing.options import ImportOptions
from nwx.importing.report import ImportReport, Outcome
from nwx.importing.separate_documents import Separated, Write
from nwx.importing.tally import ImportTally
from nwx.importing.worker_process import Worker, warm_up
from nwx.model import EXCLUDED, STANDARD_INPUT, Batch, IndexName, ReadError, SourceFile
from nwx.page_places import PagePlace
from nwx.settings import Settings
from nwx.warc.sources import ArchiveSource

_T = TypeVar("_T")

ListenerOfPages = Callable[[ArchiveSource, Sequence[PagePlace]], object]
"""Told of new pages of a file that are in the archive now; must return at once, and not raise."""

_LOOK_SECONDS = 0.25
_DEATHS_IN_PLACE = 2
"""How often a reader may die outside of an extraction at one place before its file is left."""


def import_files(
    engine: Engine,
    settings: Settings,
    sources: Iterable[ArchiveSource | ReadError],
    options: ImportOptions,
    progress: ShowProgress = no_progress,
    stopping: Callable[[], bool] = lambda: False,
    excluded: ExclusionList | None = None,
    on_documents: ListenerOfPages | None = None,
) -> ImportReport:
    """Import files into an archive; what it holds of them already is left as it is.

    Of captures that are `excluded` only the dates are kept. `settings`
    lead to `engine`, for the processes that read. `progress` is called a
    few times a second. `on_documents` is told of new pages after they were
    written. Once `stopping` says so, the import ends after the current
    write, and the report is marked interrupted; another import goes on
    from there.
    Raises EngineError when the archive cannot be written, at the start or
    later: what was written until then stays.
    """
    warm_up(settings)
    return_large_blocks()
    with _scratch() as folder, rare_collections():
        run = _Run(engine, settings, options, stopping, folder, excluded, on_documents)
        try:
            run.take(sources)
            run.work(progress)
        finally:
            run.end_workers()
    retry_unavailable(engine.refresh, options.patience_seconds, stopping)
    return run.report()


@contextmanager
def _scratch() -> Iterator[Path]:
    """Give a folder for what workers say and for standard input."""
    with temporary_folder() as path:
        yield path


class _Job:
    """A file on its way: its task, as it stands after the last part written."""

    def __init__(self, source: ArchiveSource, path: str, entry: SourceFile | None) -> None:
        self.source, self.path, self.entry = source, path, entry
        self.without_text: dict[int, str] = {}
        self.deaths = self.late_errors = 0

    def task(self, *, staged: bool, with_pages: bool) -> FileTask:
        without_text = dict(self.without_text)
        return FileTask(self.source, self.path, self.entry, without_text, staged, with_pages)


class _Run:
    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        options: ImportOptions,
        stopping: Callable[[], bool],
        folder: Path,
        excluded: ExclusionList | None,
        on_documents: ListenerOfPages | None,
    ) -> None:
        self._excluded = excluded.files if excluded else None
        self._on_documents = on_documents
        self._separated = Separated(engine)
        self._engine, self._settings, self._options = engine, settings, options
        self._stopping, self._folder = stopping, folder
        self._began = time.monotonic()
        self._waiting: deque[_Job] = deque()
        self._namesakes: defaultdict[str, list[ArchiveSource]] = defaultdict(list)
        self._idle: list[Worker] = []
        self._busy: dict[Worker, _Job] = {}
        self._started = 0
        self._tally = ImportTally()

    def take(self, sources: Iterable[ArchiveSource | ReadError]) -> None:
        """Line the files up, the largest first so that none is left over at the end."""
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
        self._waiting.extend(
            _Job(source, source.path, ledger.get(source.name))
            if source.path != STANDARD_INPUT
            else _Job(self._spooled(source), source.path, ledger.get(source.name))
            for source in queue
        )
        self._tally.excluded_before = sum(
            job.entry.counts.get(EXCLUDED, 0) for job in self._waiting if job.entry
        )
        others = [source for sources in self._namesakes.values() for source in sources]
        self._tally.expect([*queue, *others])

    def _keep_errors(
        self,
        errors: Sequence[ReadError],
        sources: Collection[ArchiveSource],
        ledger: Mapping[str, SourceFile],
    ) -> None:
        """Count errors of files as a whole, and keep them in the ledger."""
        entries = error_entries(errors, self._options.collection, ledger)
        outdated = outdated_entries(ledger, sources, entries)
        ids = [file_id(entry.collection, entry.name) for entry in outdated]
        if entries:
            self._retried(partial(self._engine.write, Batch(files=tuple(entries))))
        if ids:
            self._retried(partial(self._engine.delete, IndexName.FILES, ids))
        self._tally.note(errors)

    def _spooled(self, source: ArchiveSource) -> ArchiveSource:
        """Return standard input as a file: readable by another process, and twice."""
        copy = self._folder / "stdin"
        try:
            with source.open() as theirs, copy.open("wb") as ours:
                while not self._stopping() and (chunk := theirs.read(1 << 20)):
                    ours.write(chunk)
        except OSError as error:
            raise SourceError(f"standard input cannot be kept in {copy}: {error}") from error
        return replace(source, path=str(copy), size=copy.stat().st_size)

    def work(self, progress: ShowProgress) -> None:
        """Import all files, or as far as `stopping` allows."""
        shown = self._began
        while (self._waiting or self._busy) and not self._stopping():
            self._hand_out()
            for connection in wait([w.connection for w in self._busy], _LOOK_SECONDS):
                worker = next(w for w in self._busy if w.connection is connection)
                self._listen(worker)
                if self._stopping():
                    break
            if time.monotonic() - shown >= _LOOK_SECONDS:
                shown = time.monotonic()
                progress(self._progress())
        if self._busy:
            self._tally.outcomes[Outcome.PARTIAL] += len(self._busy)
        progress(self._progress())

    def _hand_out(self) -> None:
        while self._waiting and len(self._busy) < self._options.processes:
            try:
                worker = self._free_worker()
                told = self._on_documents is not None
                worker.give(self._waiting[0].task(staged=self._staged, with_pages=told))
            except (OSError, EOFError) as error:
                # The server of processes is gone, as when the whole group is told to end.
                if self._stopping():
                    return
                raise NwxError(f"no process can be started to read files: {error}") from error
            self._busy[worker] = self._waiting.popleft()

    def _free_worker(self) -> Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            worker.end()
        self._started += 1
        log = self._folder / f"{self._started}.log"
        return Worker(self._settings, self._options, log, self._excluded)

    def _listen(self, worker: Worker) -> None:
        job = self._busy[worker]
        try:
            message = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            if not self._stopping():
                self._requeue(worker)
            return
        if isinstance(message, NwxError):
            raise message
        if isinstance(message, FilePart):
            self._write(job, message)
        else:
            del self._busy[worker]
            self._idle.append(worker)
            self._count_late_errors(job)
            self._close(job, message)

    def _write(self, job: _Job, part: FilePart) -> None:
        batch, documents = part.batch, 0
        if part.late and isinstance(batch, Batch):
            self._separated.note(batch.files)
            documents = self._stored(replace(batch, files=()))
            part = self._with_late(job, part)
            batch = Batch(files=batch.files)  # last, when all that it tells of is there
        documents += self._stored(batch)
        if batch.files:
            job.entry, job.deaths = batch.files[-1], 0
        self._tally.add(part, documents)
        if part.pages and self._on_documents is not None:
            self._on_documents(job.source, part.pages)

    def _stored(self, batch: Batch | StagedBatch) -> int:
        """Write a batch; return how many of its documents are new."""
        return sum(self._retried(write).documents for write in self._writes(batch))

    def _with_late(self, job: _Job, part: FilePart) -> FilePart:
        """Write the late outlinks of a part; return it with the errors among them."""
        late = LateOutlinkWriter(self._engine, self._options.collection, job.source.name)
        errors = self._retried(partial(late.write, part.late))
        job.late_errors += len(errors)
        return replace(part, errors=(*part.errors, *errors))

    @property
    def _staged(self) -> bool:
        return self._options.deduplicate and not self._separated.needed

    def _writes(self, batch: Batch | StagedBatch) -> Sequence[Write]:
        """Return what stores a batch, to be called one after the other."""
        if isinstance(batch, StagedBatch):
            return [lambda: self._engine.write_staged(batch)]
        self._separated.note(batch.files)
        every = not self._options.deduplicate
        return self._retried(lambda: self._separated.writes(batch, every=every))

    def _retried(self, call: Callable[[], _T]) -> _T:
        return retry_unavailable(call, self._options.patience_seconds, self._stopping)

    def _count_late_errors(self, job: _Job) -> None:
        """Count what the process that read a file could not know in its ledger entry."""
        if job.entry and job.late_errors:
            job.entry = with_errors(job.entry, job.late_errors)
            self._retried(partial(self._engine.write, Batch(files=(job.entry,))))
            job.late_errors = 0

    def _close(self, job: _Job, verdict: Verdict) -> None:
        self._tally.close(job.source, verdict)
        if namesakes := self._namesakes.get(job.source.name):
            source = namesakes.pop(0)
            self._waiting.append(_Job(source, source.path, job.entry))

    def _requeue(self, worker: Worker) -> None:
        """Go on after the death of a worker, without the record that it died of."""
        job = self._busy.pop(worker)
        offset, cause = worker.pulse.item, worker.cause_of_death()
        worker.end()
        if offset is not None:
            job.without_text[offset] = f"extraction {cause}"
            self._waiting.appendleft(job)
            return
        job.deaths += 1
        if job.deaths < _DEATHS_IN_PLACE:
            self._waiting.appendleft(job)
            return
        done_to = job.entry.done_to if job.entry else 0
        error = ReadError(job.source.name, done_to, "crash", f"reading {cause} after this place")
        new = SourceFile(self._options.collection, job.source.name, job.path, job.source.size, "")
        job.entry = with_error(job.entry, new)
        self._retried(partial(self._engine.write, Batch(files=(job.entry,))))
        self._close(job, Verdict(Outcome.PARTIAL, (error,)))

    def end_workers(self) -> None:
        """End all processes at once; what they had not handed over is read again next time."""
        for worker in (*self._busy, *self._idle):
            worker.end()

    def _progress(self) -> WorkProgress:
        reading = sum(worker.pulse.position for worker in self._busy)
        return self._tally.progress(reading)

    def report(self) -> ImportReport:
        """Return what was done."""
        left = bool(self._waiting or self._busy)
        return self._tally.report(left, time.monotonic() - self._began)

"""Extraction of archive files without an archive, in a process that any document may crash."""

import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from typing import IO

from nwx.bulk.guarded_process import (
    MOST_STEP_SECONDS,
    GuardedProcess,
    ItemGuard,
    Pulse,
    StepGuard,
)
from nwx.importing.collector import Lookups
from nwx.importing.extracted.documents_file import DocumentsWriter
from nwx.importing.messages import FilePart, FileTask, Outcome, PipeRequest, Verdict
from nwx.importing.options import ImportOptions
from nwx.importing.report import ErrorLog, with_error
from nwx.importing.worker import import_file
from nwx.model import Batch, ReadError, SourceFile
from nwx.warc.sources import ArchiveSource, FileError

_DEATHS_IN_PLACE = 2

_Context = SpawnContext | ForkServerContext
_Message = FilePart | Verdict | PipeRequest


@dataclass(frozen=True, slots=True)
class Extracted:
    """The counts of captures and documents of a file, its errors, and its outcome."""

    captures: int
    documents: int
    errors: ErrorLog
    outcome: Outcome


class FileExtractor:
    """Extracts archive files in a separate process, which is restarted when it dies.

    A `context` with a fork server starts processes faster, but does not survive a fork of this
    process, as in Spark executors.
    """

    def __init__(self, options: ImportOptions, context: _Context | None = None) -> None:
        self._options, self._context = options, context or get_context("spawn")
        self._process: GuardedProcess | None = None

    def messages(self, source: ArchiveSource) -> Iterator[FilePart | Verdict]:
        """Yield the output of `import_file` for a file unknown to any archive, then the verdict.

        If a document kills the process, the extraction continues without its text; if reading does,
        the rest of the file is skipped.
        """
        task, deaths, killed_at = FileTask(source, source.path, None), 0, None
        while True:
            process = self._running()
            try:
                process.connection.send(task)
                while not isinstance(message := process.connection.recv(), PipeRequest):
                    if isinstance(message, FilePart) and message.batch.files:
                        task, deaths = replace(task, entry=message.batch.files[-1]), 0
                    yield message
                return
            except (EOFError, BrokenPipeError, ConnectionResetError):
                place = process.pulse.item
                death = process.death()
                cause = death.cause(self._options.item_seconds)
                self.close()
            if death.is_foreign and place is not None and place != killed_at:
                killed_at = place
            elif place is not None and place not in task.without_text:
                without_text = {**task.without_text, place: f"extraction {cause}"}
                task = replace(task, without_text=without_text)
            elif (deaths := deaths + 1) == _DEATHS_IN_PLACE:
                yield from _abandoned(task, self._options.collection, cause)
                return

    def _running(self) -> GuardedProcess:
        if self._process is None:
            self._process = GuardedProcess(
                _work, self._options, memory_bytes=self._options.item_bytes, context=self._context
            )
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()
            self._process = None


def extract_file(
    source: ArchiveSource, stream: IO[bytes], extractor: FileExtractor, options: ImportOptions
) -> Extracted:
    """Write the documents file of an archive file; return its counts and errors."""
    errors = ErrorLog()
    writer = DocumentsWriter(stream, options.collection, deduplicated=options.deduplicate)
    verdict = writer.add_file(source, _heard(extractor.messages(source), errors))
    for error in verdict.errors:
        errors.add(error)
    writer.finish()
    return Extracted(writer.captures, writer.documents, errors, verdict.outcome)


def write_faults(stream: IO[bytes], faults: Iterable[FileError], options: ImportOptions) -> None:
    """Write a documents file that contains only errors about whole files."""
    writer = DocumentsWriter(stream, options.collection, deduplicated=options.deduplicate)
    for fault in faults:
        writer.add_fault(fault)
    writer.finish()


def _heard(
    messages: Iterator[FilePart | Verdict], errors: ErrorLog
) -> Iterator[FilePart | Verdict]:
    for message in messages:
        if isinstance(message, FilePart):
            for error in message.errors:
                errors.add(error)
        yield message


def _abandoned(task: FileTask, collection: str, cause: str) -> Iterator[FilePart | Verdict]:
    """Yield the error part and the verdict of a file whose reading kills processes."""
    done_to = task.entry.done_to if task.entry else 0
    name = task.source.name
    error = ReadError(name, done_to, "crash", f"reading {cause} after this place")
    entry = with_error(task.entry, SourceFile(collection, name, task.path, task.source.size, ""))
    yield FilePart(Batch(files=(entry,)), (), {}, 0, 0, 0, 0)
    yield Verdict(Outcome.PARTIAL, (error,))


def _work(
    connection: "Connection[_Message, FileTask]", pulse: Pulse, options: ImportOptions
) -> None:
    """Extract the files received over a connection, until the parent closes it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # Spark ends executors with it
    guard = ItemGuard(pulse, options.item_seconds)
    steps = StepGuard(MOST_STEP_SECONDS + options.item_seconds)

    def moved(position: int) -> None:
        pulse.position = position
        steps.next()

    try:
        while True:
            task = connection.recv()
            with steps:
                for message in import_file(task, options, Lookups(), guard, moved):
                    connection.send(message)
            connection.send(PipeRequest.TASK)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


_shared: dict[int, tuple[ImportOptions, FileExtractor]] = {}


def shared_extractor(options: ImportOptions) -> FileExtractor:
    """Return the extractor that all files of this process share; it ends with the process."""
    pid = os.getpid()  # a fork of this process needs its own extractor
    held, extractor = _shared.get(pid, (None, None))
    if extractor is None or held != options:
        if extractor is not None:
            extractor.close()
        extractor = FileExtractor(options)
        _shared[pid] = (options, extractor)
    return extractor

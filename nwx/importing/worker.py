"""A process that reads files and may die of any document."""

import os
import resource
import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

from nwx.bulk.allocation import return_large_blocks
from nwx.bulk.gc_tuning import collect_rarely
from nwx.bulk.retries import retry_unavailable
from nwx.dedup.exclusion_lists import ListFiles, ListLookup
from nwx.engine.open import open_engine
from nwx.errors import NwxError
from nwx.importing.archive_file import import_file
from nwx.importing.collector import ListLookupFunction, Memory
from nwx.importing.messages import FilePart, FileTask, Message
from nwx.importing.options import ImportOptions
from nwx.importing.pulse import Pulse
from nwx.model import Batch
from nwx.settings import Settings


class _Watch:
    """Guards an extraction: the kernel ends this process when it takes too long.

    A signal handler would wait for native code to return; the default
    action of SIGALRM waits for nothing, the parent's life included.
    """

    def __init__(self, pulse: Pulse, seconds: float) -> None:
        self._pulse, self._seconds = pulse, seconds

    def __call__(self, offset: int) -> "_Watch":
        self._pulse.extracting = offset
        return self

    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        # After an exception the record stays marked: this process ends of it.
        if kind is None:
            self._pulse.extracting = None


def work(
    connection: "Connection[Message, FileTask]",
    pulse: Pulse,
    settings: Settings,
    options: ImportOptions,
    log: Path,
    excluded: ListFiles | None,
) -> None:
    """Import the files that come over a connection, until its other end is closed."""
    _prepare(options, log)
    watch, memory = _Watch(pulse, options.item_seconds), Memory()

    def moved(position: int) -> None:
        pulse.position = position

    try:
        with open_engine(settings, read_only=True) as engine, _looked_up(excluded) as listed:

            def known(ids: Collection[str]) -> dict[str, int]:
                return retry_unavailable(lambda: engine.known(ids), options.patience_seconds)

            def staged(message: Message) -> Message:
                if not isinstance(message, FilePart) or not isinstance(message.batch, Batch):
                    return message
                batch, seconds = message.batch, options.patience_seconds
                ready = retry_unavailable(lambda: engine.stage(batch), seconds)
                return replace(message, batch=ready)

            while True:
                task = connection.recv()
                for message in import_file(task, options, known, watch, moved, memory, listed):
                    connection.send(staged(message) if task.staged else message)
    except NwxError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


@contextmanager
def _looked_up(excluded: ListFiles | None) -> Iterator[ListLookupFunction | None]:
    """Give what tells whether a capture is on the exclusion list, if there is one."""
    if excluded is None:
        yield None
        return
    with ListLookup(excluded) as lookup:
        yield lookup.covers


def _prepare(options: ImportOptions, log: Path) -> None:
    """Make a process ready to run hostile documents through native code."""
    # Terminals and service managers signal the whole group; the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    collect_rarely()
    return_large_blocks()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [options.item_bytes] if most == resource.RLIM_INFINITY else [options.item_bytes, most]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), most))
    # Libraries' own words must not mix with a progress bar; the last of them tells of a crash.
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)

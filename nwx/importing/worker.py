"""A process that reads files, and the hold its parent has on it.

Whatever a document does to the process that extracts it (hang, crash, eat
all memory), the parent learns at which record it died, and starts another
process that leaves the text of that record out.
"""

import os
import resource
import signal
from collections.abc import Collection
from ctypes import Array, c_longlong
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

from nwx.engine.open import open_engine
from nwx.errors import NwxError
from nwx.importing.options import ImportOptions
from nwx.importing.patience import patiently
from nwx.importing.reading import FileTask, Part, Verdict, import_file
from nwx.settings import Settings

Message = Part | Verdict | NwxError
"""What a worker says: parts of a file and a verdict, or why it cannot work."""

_NOTHING = -1

# A fork of a server that has the libraries loaded starts in milliseconds,
# and unlike a fork of this process has no threads or locks of an engine.
_context = get_context("forkserver")
_context.set_forkserver_preload([__name__])


class Pulse:
    """Memory shared with a worker: the record in extraction, and the bytes read of the file."""

    def __init__(self) -> None:
        self._cells: Array[c_longlong] = _context.RawArray(c_longlong, [_NOTHING, 0])

    @property
    def extracting(self) -> int | None:
        """The offset of the record whose text is being extracted."""
        return None if self._cells[0] == _NOTHING else self._cells[0]

    @extracting.setter
    def extracting(self, offset: int | None) -> None:
        self._cells[0] = _NOTHING if offset is None else offset

    @property
    def position(self) -> int:
        """The bytes of the file that were read."""
        return self._cells[1]

    @position.setter
    def position(self, position: int) -> None:
        self._cells[1] = position


class Worker:
    """The parent's hold on a worker process."""

    def __init__(self, settings: Settings, options: ImportOptions, log: Path) -> None:
        self.pulse, self._log = Pulse(), log
        self._options = options
        self.connection, theirs = _context.Pipe()
        self._process = _context.Process(
            target=_work, args=(theirs, self.pulse, settings, options, log), daemon=True
        )
        self._process.start()
        theirs.close()

    def give(self, task: FileTask) -> None:
        """Let the worker import a file; its messages come over `connection`."""
        self.pulse.position = task.entry.done_to if task.entry else 0
        self.connection.send(task)

    def cause_of_death(self) -> str:
        """Return in words why the process ended."""
        self._process.join()
        code = self._process.exitcode or 0
        if code == -signal.SIGALRM:
            return f"took longer than {self._options.item_seconds:g} s"
        if code < 0:
            return f"crashed ({signal.Signals(-code).name})"
        return f"failed: {_last_line(self._log)}"

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


def _last_line(log: Path) -> str:
    """Return what a process said last, fit for a message."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    line = lines[-1] if lines else "no reason given"
    return "".join(sign if sign.isprintable() else "?" for sign in line)[:200]


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


def _work(
    connection: "Connection[Message, FileTask]",
    pulse: Pulse,
    settings: Settings,
    options: ImportOptions,
    log: Path,
) -> None:
    _prepare(options, log)
    watch = _Watch(pulse, options.item_seconds)

    def moved(position: int) -> None:
        pulse.position = position

    try:
        with open_engine(settings, read_only=True) as engine:

            def known(ids: Collection[str]) -> dict[str, int]:
                return patiently(lambda: engine.known(ids), options.patience_seconds)

            while True:
                task = connection.recv()
                for message in import_file(task, options, known, watch, moved):
                    connection.send(message)
    except NwxError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _prepare(options: ImportOptions, log: Path) -> None:
    """Make a process ready to run hostile documents through native code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [options.item_bytes] if most == resource.RLIM_INFINITY else [options.item_bytes, most]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), most))
    # Libraries' own words must not mix with a progress bar; the last of them tells of a crash.
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)

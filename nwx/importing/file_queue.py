"""The queue of files to read, for an archive with a single importer."""

import hashlib
import os
import secrets
import socket
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from nwx.errors import SourceError
from nwx.importing.messages import FileTask
from nwx.model import SourceFile
from nwx.warc.sources import ArchiveSource


class Job:
    """A file in the queue, with its ledger entry as of the last part written.

    `deaths` counts the workers that died outside an extraction since the last delivered part;
    `killed_at` has the records at which another process killed a worker: they are read once more.
    """

    def __init__(self, source: ArchiveSource, path: str, entry: SourceFile | None) -> None:
        self.source, self.path, self.entry = source, path, entry
        self.without_text: dict[int, str] = {}
        self.killed_at: set[int] = set()
        self.deaths = self.late_errors = 0

    @property
    def name(self) -> str:
        """The name of the file in the ledger."""
        return self.source.name

    @property
    def is_finished(self) -> bool:
        """Whether the whole file is in the archive, by its ledger entry."""
        return self.entry is not None and self.entry.finished

    @property
    def size(self) -> int:
        """The size of the file in bytes, 0 if unknown."""
        return self.source.size or 0

    def task(self, number: int, *, staged: bool, with_pages: bool = False) -> FileTask:
        """Return the task for a worker."""
        return FileTask(
            self.source,
            self.path,
            self.entry,
            dict(self.without_text),
            staged,
            with_pages,
            at_once=bool(self.without_text or self.deaths),
            number=number,
        )


WriteFiles = Callable[[Sequence[SourceFile]], object]
"""Writes entries to the ledger."""


class FileQueue:
    """A queue of files in the given order, not shared with other importers."""

    is_shared = False

    def __init__(self, write: WriteFiles) -> None:
        self._write = write
        self._waiting: deque[Job] = deque()

    def add(self, jobs: Iterable[Job]) -> None:
        """Append files, to be read after the others."""
        self._waiting.extend(jobs)

    def put_back(self, jobs: Sequence[Job]) -> None:
        """Return files to the queue that were taken but not read to their end, to be read first."""
        self._waiting.extendleft(reversed(jobs))

    def take(self) -> Job | None:
        """Remove and return the next file to read, None if none is free at the moment."""
        return self._waiting.popleft() if self._waiting else None

    def __len__(self) -> int:
        """Return the number of files not taken yet, including files of other importers."""
        return len(self._waiting)

    def record(self, files: Sequence[SourceFile]) -> None:
        """Write the entries of taken files to the ledger."""
        if files:
            self._write(files)

    def note_unread(self, files: Sequence[SourceFile]) -> None:
        """Write the entries of files with whole-file errors to the ledger."""
        self.record(files)

    def done(self, job: Job) -> None:
        """Record that a file was read to its end or abandoned."""

    def has_lost(self, job: Job) -> bool:
        """Return whether another importer has taken over a file."""
        del job
        return False

    def lost(self) -> Sequence[Job]:
        """Return the taken files that other importers have taken over since the last call."""
        return ()

    def renew_claims(self) -> None:
        """Renew the claims of this importer and check the others', at intervals."""

    def done_by_others(self) -> Sequence[Job]:
        """Return the files that other importers have finished since the last call."""
        return ()

    def end(self) -> None:
        """Release the unread files to other importers."""


_PROC = Path("/proc")
_START, _STATE = 19, 0  # fields of /proc/PID/stat, counted from the state: proc(5)
_DEAD_STATES = "ZX"


def own_holder() -> str:
    """Return the name of this process as an importer: `host/pid/machine/start/random`.

    `machine` identifies the running system and its PID namespace; it and `start`, the start time of
    the process, are empty without /proc.
    """
    pid = os.getpid()
    started = (_stat(pid) or ("", ""))[1]
    host = socket.gethostname().replace("/", "-") or "localhost"
    return f"{host}/{pid}/{_machine()}/{started}/{secrets.token_hex(4)}"


def is_known_dead(holder: str) -> bool:
    """Return whether a holder ran on this machine and has ended; False if unknown."""
    _, pid, machine, started, _ = (*holder.split("/"), "", "", "", "")[:5]
    if not machine or machine != _machine() or not pid.isdecimal():
        return False
    stat = _stat(int(pid))
    return stat is None or stat[0] in _DEAD_STATES or stat[1] != started


def _machine() -> str:
    """Return a hash of boot id and PID namespace, "" without /proc."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        numbering = (_PROC / "self/ns/pid").readlink()
    except OSError:
        return ""
    return hashlib.blake2b(f"{boot} {numbering}".encode(), digest_size=4).hexdigest()


def _stat(pid: int) -> tuple[str, str] | None:
    """Return the state and the start time of a process, None if it is gone."""
    try:
        line = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = line.rpartition(")")[2].split()
    return fields[_STATE], fields[_START]


_CHUNK_BYTES = 1 << 20


def spooled(source: ArchiveSource, folder: Path, stopping: Callable[[], bool]) -> ArchiveSource:
    """Copy standard input to a file, which other processes can read, and read again."""
    copy = folder / "stdin"
    with (
        SourceError.instead_of(OSError, f"standard input cannot be saved in {copy}"),
        source.open() as theirs,
        copy.open("wb") as ours,
    ):
        while not stopping() and (chunk := theirs.read(_CHUNK_BYTES)):
            ours.write(chunk)
    return replace(source, path=str(copy), size=copy.stat().st_size)

"""The files that are still to be read, for the one importer of an archive."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from nwx.importing.file_queue.job import Job
from nwx.model import SourceFile

WriteFiles = Callable[[Sequence[SourceFile]], object]
"""Puts entries into the ledger."""


class FileQueue:
    """The files in their order; all of them are this importer's."""

    is_shared = False

    def __init__(self, write: WriteFiles) -> None:
        self._write = write
        self._waiting: deque[Job] = deque()

    def add(self, jobs: Iterable[Job]) -> None:
        """Take further files, to be read after the others."""
        self._waiting.extend(jobs)

    def put_back(self, jobs: Sequence[Job]) -> None:
        """Take files that were given and not read to their end, to be read first."""
        self._waiting.extendleft(reversed(jobs))

    def take(self) -> Job | None:
        """Return the next file to read, None where there is none at the moment."""
        return self._waiting.popleft() if self._waiting else None

    def __len__(self) -> int:
        """Return how many files are not given, those that others have included."""
        return len(self._waiting)

    def record(self, files: Sequence[SourceFile]) -> None:
        """Put entries of files that were given into the ledger."""
        if files:
            self._write(files)

    def note_unread(self, files: Sequence[SourceFile]) -> None:
        """Put entries of files that could not be opened into the ledger."""
        self.record(files)

    def done(self, job: Job) -> None:
        """Note that a file was read to its end, or is left."""

    def has_lost(self, job: Job) -> bool:
        """Tell whether a file that was given is another importer's now."""
        del job
        return False

    def lost(self) -> Sequence[Job]:
        """Return the files that were given and are another importer's since the last time."""
        return ()

    def keep(self) -> None:
        """Let others know, now and then, that this importer goes on, and look at theirs."""

    def done_by_others(self) -> Sequence[Job]:
        """Return the files that others are done with since the last time."""
        return ()

    def end(self) -> None:
        """Leave the files that were not read to others."""

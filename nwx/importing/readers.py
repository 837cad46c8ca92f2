"""The files that each process that reads has, and those it is still to deliver."""

from pathlib import Path
from typing import TYPE_CHECKING

from nwx.importing.file_queue.job import Job
from nwx.importing.options import ImportOptions
from nwx.importing.worker_process import Worker
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.dedup.exclusion_lists import ListFiles

UNDELIVERED_BYTES = 64 << 20
"""A worker that has read files of so many bytes delivers before it is given another."""


class Reader(Worker):
    """A worker and the files it was given, by number, that it did not deliver in whole."""

    def __init__(
        self, settings: Settings, options: ImportOptions, log: Path, excluded: "ListFiles | None"
    ) -> None:
        super().__init__(settings, options, log, excluded)
        self.jobs: dict[int, Job] = {}
        self._given = 0
        self._reading = self._asked = False

    def read(self, job: Job, *, staged: bool, with_pages: bool = False) -> None:
        """Let the worker read a file."""
        self.give(job.task(self._given, staged=staged, with_pages=with_pages))
        self.jobs[self._given] = job
        self._given += 1
        self._reading = True

    def has_read(self) -> None:
        """Note that the worker has read its file."""
        self._reading = False

    def deliver(self) -> None:
        """Let the worker deliver what it holds."""
        self._asked = True
        self.ask_delivery()

    def has_delivered(self, number: int) -> None:
        """Note that a file was delivered in whole."""
        del self.jobs[number]
        self._asked = False

    @property
    def is_waiting(self) -> bool:
        """Whether the worker has nothing to do."""
        return not self._reading and not self._asked

    @property
    def has_room(self) -> bool:
        """Whether the worker may read another file before it delivers."""
        return self.is_waiting and sum(job.size for job in self.jobs.values()) < UNDELIVERED_BYTES

    @property
    def current(self) -> Job | None:
        """The file that is being read."""
        return self.jobs.get(self._given - 1) if self._reading else None

    @property
    def position(self) -> int:
        """The bytes that were read of the files that it has."""
        current = self.current
        read = sum(job.size for job in self.jobs.values() if job is not current)
        return read + (self.pulse.position if current else 0)

"""The processes that read files: held by the parent, with the files each has and still delivers."""

from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from nwx.bulk.child_processes import fork_server
from nwx.bulk.guarded_process import GuardedProcess, Pulse
from nwx.engine.base import engine_package
from nwx.importing.file_queue import Job
from nwx.importing.messages import FileTask, Message, PipeRequest
from nwx.importing.options import ImportOptions
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.dedup.exclusion_lists import ListFiles


def warm_up(settings: Settings) -> None:
    """Begin to load what readers need, in the server of processes that they are forked from."""
    fork_server("nwx.importing.preload", engine_package(settings.engine))


UNDELIVERED_BYTES = 64 << 20
"""A worker that has read files of so many bytes delivers before it is given another."""


class Reader(GuardedProcess):
    """A process that reads, and the files it was given, by number, that it did not deliver."""

    def __init__(
        self, settings: Settings, options: ImportOptions, excluded: "ListFiles | None"
    ) -> None:
        super().__init__(_work, settings, options, excluded, memory_bytes=options.item_bytes)
        self._item_seconds = options.item_seconds
        self.jobs: dict[int, Job] = {}
        self._given = 0
        self._reading = self._asked = False

    def cause_of_death(self) -> tuple[str, bool]:
        """Return in words why the process ended, and whether somebody else killed it."""
        death = self.death()
        return death.cause(self._item_seconds), death.is_foreign

    def read(self, job: Job, *, staged: bool, with_pages: bool = False) -> None:
        """Let the worker import a file; what becomes of it comes over `connection`."""
        self.pulse.position = job.entry.done_to if job.entry else 0
        self.connection.send(job.task(self._given, staged=staged, with_pages=with_pages))
        self.jobs[self._given] = job
        self._given += 1
        self._reading = True

    def has_read(self) -> None:
        """Note that the worker has read its file."""
        self._reading = False

    def deliver(self) -> None:
        """Ask the worker to deliver its collected results, once it has read its file."""
        self._asked = True
        self.connection.send(PipeRequest.DELIVERY)

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


def _work(
    connection: "Connection[Message, FileTask | PipeRequest]",
    pulse: Pulse,
    settings: Settings,
    options: ImportOptions,
    excluded: "ListFiles | None",
) -> None:
    # Imported here, as the parent needs none of the libraries that read and extract.
    from nwx.importing.worker import work

    work(connection, pulse, settings, options, excluded)

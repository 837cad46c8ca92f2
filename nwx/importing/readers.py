"""Reader processes, as the parent sees them: each with the files it has not delivered yet."""

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
    """Start the fork server of the readers, and preload their modules in it."""
    fork_server("nwx.importing.preload", engine_package(settings.engine))


UNDELIVERED_BYTES = 64 << 20
"""A worker that holds the results of this many bytes of files delivers before it gets another."""


class Reader(GuardedProcess):
    """A reader process; `jobs` has its undelivered files by task number."""

    def __init__(
        self, settings: Settings, options: ImportOptions, excluded: "ListFiles | None"
    ) -> None:
        super().__init__(_work, settings, options, excluded, memory_bytes=options.item_bytes)
        self._item_seconds = options.item_seconds
        self.jobs: dict[int, Job] = {}
        self._given = 0
        self._reading = self._asked = False

    def cause_of_death(self) -> tuple[str, bool]:
        """Return why the process ended, as text, and whether another process killed it."""
        death = self.death()
        return death.cause(self._item_seconds), death.is_foreign

    def read(self, job: Job, *, staged: bool, with_pages: bool = False) -> None:
        """Send a file to the worker; its results come over `connection`."""
        self.pulse.position = job.entry.done_to if job.entry else 0
        self.connection.send(job.task(self._given, staged=staged, with_pages=with_pages))
        self.jobs[self._given] = job
        self._given += 1
        self._reading = True

    def has_read(self) -> None:
        """Record that the worker has read its file."""
        self._reading = False

    def deliver(self) -> None:
        """Ask the worker to deliver its collected results, once it has read its file."""
        self._asked = True
        self.connection.send(PipeRequest.DELIVERY)

    def has_delivered(self, number: int) -> None:
        """Record that a file was delivered completely."""
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
        """The bytes read of the undelivered files."""
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
    # Imported late, as the parent needs none of the reading and extracting libraries.
    from nwx.importing.worker import work

    work(connection, pulse, settings, options, excluded)

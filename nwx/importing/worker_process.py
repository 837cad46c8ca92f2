"""The hold that a parent has on the processes that read.

Whatever a document does to the process that extracts it (hang, crash, eat
all memory), the parent learns at which record it died, and starts another
process that leaves the text of that record out.
"""

from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.bulk.guarded_process import Pulse, cause_of_death
from nwx.engine.open import engine_package
from nwx.importing.messages import FileTask, Message, PipeRequest
from nwx.importing.options import ImportOptions
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.dedup.exclusion_lists import ListFiles

# A fork of a server that has the libraries loaded starts in milliseconds,
# and unlike a fork of this process has no threads or locks of an engine.
_context = get_context("forkserver")


def warm_up(settings: Settings) -> None:
    """Begin to load what readers need, in the background."""
    engine = engine_package(settings.engine)
    _context.set_forkserver_preload(["nwx.importing.worker", engine])
    forkserver.ensure_running()


class Worker:
    """The parent's hold on a worker process."""

    def __init__(
        self, settings: Settings, options: ImportOptions, log: Path, excluded: "ListFiles | None"
    ) -> None:
        self.pulse, self._log = Pulse(), log
        self._options = options
        log.touch()  # a process may die before it says anything
        self.connection, theirs = _context.Pipe()
        self._process = _context.Process(
            target=_work, args=(theirs, self.pulse, settings, options, log, excluded), daemon=True
        )
        self._process.start()
        theirs.close()

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.is_alive()

    def give(self, task: FileTask) -> None:
        """Let the worker import a file; what becomes of it comes over `connection`."""
        self.pulse.position = task.entry.done_to if task.entry else 0
        self.connection.send(task)

    def ask_delivery(self) -> None:
        """Let the worker, once it has read its file, deliver what it holds."""
        self.connection.send(PipeRequest.DELIVERY)

    def cause_of_death(self) -> str:
        """Return in words why the process ended."""
        return cause_of_death(self._process, self._options.item_seconds, self._log)

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


def _work(
    connection: "Connection[Message, FileTask | PipeRequest]",
    pulse: Pulse,
    settings: Settings,
    options: ImportOptions,
    log: Path,
    excluded: "ListFiles | None",
) -> None:
    # Imported here, as the parent needs none of the libraries that read and extract.
    from nwx.importing.worker import work

    work(connection, pulse, settings, options, log, excluded)

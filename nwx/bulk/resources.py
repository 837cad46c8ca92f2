"""The resources of a large run: memory, processes and a folder for temporary files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nwx.bulk.whole_files import hold, remove_leftovers, temporary_prefix, writing

MEMORY_BYTES = 512 << 20
PROCESS_BYTES = 96 << 20
"""What a worker process needs beside its share of the work."""

_USUAL_WORKERS = 4
_WORTH_PROCESSES_BYTES = 48 << 20


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of a run: total memory in bytes, temporary folder, processes.

    A `folder` of None is the system's; `workers` of None is one per processor.
    """

    memory_bytes: int = MEMORY_BYTES
    folder: Path | None = None
    workers: int | None = None


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usual_workers() -> int:
    """Return how many processes answer where nobody says it: the processors, up to 4."""
    return min(processors(), _USUAL_WORKERS)


def workers_for(input_bytes: int, resources: Resources) -> int:
    """Return how many processes are worth their start for an input, and fit in memory."""
    if input_bytes < _WORTH_PROCESSES_BYTES and resources.workers is None:
        return 1
    return max(1, min(resources.workers or processors(), resources.memory_bytes // PROCESS_BYTES))


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a temporary folder in `parent` (None: the system's), deleted at the end.

    Deletes the temporary folders of dead processes first. Raises SourceError if none can be made.
    """
    # Imported here: short commands do without.
    from tempfile import TemporaryDirectory, gettempdir

    place = parent or Path(gettempdir())
    with writing(place):
        remove_leftovers(place)
        folder = TemporaryDirectory(
            prefix=temporary_prefix(), dir=parent, ignore_cleanup_errors=True
        )
    with folder as name:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            hold(descriptor)
            yield Path(name)
        finally:
            os.close(descriptor)

"""The resources of a large run: memory, processes and a folder for temporary files."""

import errno
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nwx.bulk.whole_files import hold, remove_leftovers, temporary_prefix, writing
from nwx.data_classes import dataclass
from nwx.errors import ErrorText

MEMORY_BYTES = 512 << 20
PROCESS_BYTES = 96 << 20
"""The memory of a worker process in addition to its share of the work."""

_USUAL_WORKERS = 4
_WORTH_PROCESSES_BYTES = 48 << 20


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of a run: total memory in bytes, temporary folder, processes.

    A `folder` of None means the system's, `workers` of None one per processor.
    """

    memory_bytes: int = MEMORY_BYTES
    folder: Path | None = None
    workers: int | None = None


def processors() -> int:
    """Return the number of processors available to this process."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usual_workers() -> int:
    """Return the default number of server processes: one per processor, up to 4."""
    return min(processors(), _USUAL_WORKERS)


def workers_for(input_bytes: int, resources: Resources) -> int:
    """Return the number of processes that are worth starting for an input and fit in memory."""
    if input_bytes < _WORTH_PROCESSES_BYTES and resources.workers is None:
        return 1
    return max(1, min(resources.workers or processors(), resources.memory_bytes // PROCESS_BYTES))


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Create a temporary folder in `parent` (None: the system's), deleted at the end.

    Deletes the temporary folders of dead processes first. Raises SourceError if it cannot be
    created.
    """
    # Imported late: short commands do not need it.
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


_SPARE_FOR_SORTING = 1 << 20
_FEW_FILES = 128  # a low limit is suspect: the failed code may have closed its files by now


def full_temporary_folder() -> Path | None:
    """Return the folder for temporary files if it is nearly full.

    SQLite sorts in it, even if Python falls back to another folder.
    """
    # Imported late: it loads slower than the rest of this module, and full disks are rare.
    import tempfile

    told = os.environ.get("SQLITE_TMPDIR") or os.environ.get("TMPDIR")
    folder = Path(told or tempfile.gettempdir())
    try:
        return folder if shutil.disk_usage(folder).free < _SPARE_FOR_SORTING else None
    except OSError:
        return None


def exceeded_limit() -> ErrorText | None:
    """Return a text on the limit of this process that is, or may be, reached; None if unknown."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return ErrorText("too many files are open; allow more (ulimit -n)")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most < _FEW_FILES:
        return ErrorText(
            "this process may open %(most)s files; allow more (ulimit -n)", most=str(most)
        )
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if largest != resource.RLIM_INFINITY:
        return ErrorText(
            "this process may write files of at most %(most)s bytes; allow more (ulimit -f)",
            most=str(largest),
        )
    return None

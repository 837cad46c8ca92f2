"""Folders in which one process at a time makes something large."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nwx.errors import EngineBusyError, EngineError


@contextmanager
def locked_folder(folder: Path, work: str) -> Iterator[Path]:
    """Give a folder to work in, made where it is missing, which no other process has meanwhile.

    The system lets go of the lock when the process dies. Raises
    EngineBusyError where another process has it (`work` says what that
    does, as in `builds facets`), EngineError where it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise EngineError(f"{folder} cannot be written ({error.strerror})") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EngineBusyError(
                f"another process {work} in {folder}; wait for it to end"
            ) from error
        yield folder
    finally:
        os.close(handle)

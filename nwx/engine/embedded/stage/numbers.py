"""Numbers for new ids, each given once, to any process while an archive is being written."""

import fcntl
import os
from pathlib import Path

from nwx.errors import EngineError

_WIDTH = 8


class Numbers:
    """The next free number, in a file whose lock the system releases when a process dies."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def begin(self, first: int) -> None:
        """Make `first` the next number that is given."""
        self._file.write_bytes(first.to_bytes(_WIDTH, "big"))

    def take(self, count: int) -> int:
        """Return the first of so many numbers in a row, which nobody else is given.

        Raises EngineError where no writer has the archive open.
        """
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise EngineError(
                f"no process has the archive open to write to it: {self._file} is missing"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            first = int.from_bytes(os.pread(handle, _WIDTH, 0), "big")
            os.pwrite(handle, (first + count).to_bytes(_WIDTH, "big"), 0)
        finally:
            os.close(handle)
        return first

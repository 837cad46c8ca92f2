"""What a process that reads tells its parent through shared memory, also when it dies."""

from ctypes import Array, c_longlong
from multiprocessing import get_context

_NOTHING = -1

_context = get_context("forkserver")


class Pulse:
    """Memory shared with a worker: the record in extraction, and the bytes read of the file."""

    def __init__(self) -> None:
        self._cells: Array[c_longlong] = _context.RawArray(c_longlong, [_NOTHING, 0])

    @property
    def extracting(self) -> int | None:
        """The offset of the record whose text is being extracted."""
        return None if self._cells[0] == _NOTHING else self._cells[0]

    @extracting.setter
    def extracting(self, offset: int | None) -> None:
        """Say which record is next, None after its extraction."""
        self._cells[0] = _NOTHING if offset is None else offset

    @property
    def position(self) -> int:
        """The bytes of the file that were read."""
        return self._cells[1]

    @position.setter
    def position(self, position: int) -> None:
        """Say how many bytes of the file were read."""
        self._cells[1] = position

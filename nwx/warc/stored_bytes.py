"""Bytes of stored files, and the faults in them."""

from typing import BinaryIO

from nwx.data_classes import dataclass
from nwx.errors import FormatError

BLOCK_BYTES = 1 << 18
READ_FAILURES = (OSError, EOFError, FormatError)
"""Exceptions of reading a stored file; FormatError if the enclosing ZIP file is damaged."""


@dataclass(frozen=True, slots=True)
class RecordFault:
    """A fault in stored bytes, with its offset."""

    offset: int
    kind: str
    message: str


class Raw:
    """The bytes of a stored file, read forward, with their offsets.

    If reading fails, the bytes end and `failure` is the reason; `failure_kind` is `read`, or `zip`
    if the enclosing ZIP file is damaged.
    """

    __slots__ = ("_handle", "base", "data", "failure", "failure_kind", "pos")

    def __init__(self, handle: BinaryIO, start: int = 0) -> None:
        self._handle = handle
        self.data = b""
        self.pos = 0
        self.base = 0
        self.failure = ""
        self.failure_kind = "read"
        if start:
            handle.seek(start)
            self.base = start

    @property
    def offset(self) -> int:
        """The offset of the next byte."""
        return self.base + self.pos

    def fill(self) -> bool:
        """Append bytes to `data`, dropping those before `pos`; False at the end of the file."""
        try:
            block = self._handle.read(BLOCK_BYTES)
        except READ_FAILURES as error:
            self.failure = str(error) or type(error).__name__
            self.failure_kind = "zip" if isinstance(error, FormatError) else "read"
            return False
        if not block:
            return False
        self.base += self.pos
        self.data = self.data[self.pos :] + block
        self.pos = 0
        return True

    def peek(self, count: int) -> bytes:
        """Return the next bytes without advancing, fewer only at the end of the file."""
        while len(self.data) - self.pos < count and self.fill():
            pass
        return self.data[self.pos : self.pos + count]

    def take(self, count: int) -> bytes:
        """Return up to `count` next bytes, b"" only at the end of the file."""
        return bytes(self.view(count))

    def view(self, count: int) -> memoryview:
        """Return up to `count` next bytes without copying, none only at the end of the file."""
        if self.pos >= len(self.data):
            self.fill()
        taken = memoryview(self.data)[self.pos : self.pos + count]
        self.pos += len(taken)
        return taken

    def skip(self, count: int) -> None:
        """Advance by `count` bytes, or to the end of the file."""
        while count > 0 and (taken := len(self.take(count))):
            count -= taken

    def skip_zeros(self) -> bool:
        """Skip zeros, which pad files on tapes; False at the end of the file."""
        while True:
            rest = self.data[self.pos :]
            self.pos += len(rest) - len(rest.lstrip(b"\0"))
            if self.pos < len(self.data):
                return True
            if not self.fill():
                return False

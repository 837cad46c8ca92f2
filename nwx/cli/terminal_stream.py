"""Lines of bytes on their way to a terminal."""

import io
from typing import BinaryIO

from nwx.cli.output import clean


class TerminalStream(io.BufferedIOBase):
    """Writes lines to a terminal without the signs in them that could steer it.

    For people alone: files and pipes get the bytes as they are.
    """

    def __init__(self, terminal: BinaryIO) -> None:
        self._terminal = terminal
        self._rest = b""

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        """Take bytes; whole lines are written."""
        *lines, self._rest = (self._rest + bytes(data)).split(b"\n")
        for line in lines:
            self._put(line, b"\n")
        return len(data)

    def flush(self) -> None:
        """Write what is left of a line."""
        if self._rest:
            self._put(self._rest, b"")
            self._rest = b""
        self._terminal.flush()

    def _put(self, line: bytes, end: bytes) -> None:
        text = clean(line.decode("utf-8", "surrogateescape"))
        self._terminal.write(text.encode("utf-8") + end)

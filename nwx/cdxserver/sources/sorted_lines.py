"""Sorted lines of text as a source: places are found, rows are made, the order is turned."""

import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from nwx.cdx.rows import CdxRow, is_revisit_row
from nwx.engine.work import current_work
from nwx.errors import CdxError, CdxQueryError, SourceError

LINES_BETWEEN_CHECKS = 4_096

MOST_REVERSED_BYTES = 1 << 30
"""The most that is put on disk to give lines in the opposite order."""

_HELD_BYTES = 16 << 20
_BACKWARD_BYTES = 1 << 18

_logger = logging.getLogger("nwx.cdxserver")


class LineReader:
    """Makes rows of the lines of one file, and notes the first that cannot be read."""

    def __init__(self, file: str, parse: Callable[[str], CdxRow]) -> None:
        self._file = file
        self._parse = parse
        self.bad_lines = 0

    def rows(self, lines: Iterable[bytes], revisits: bool | None) -> Iterator[CdxRow]:
        """Stream the rows of lines; those that cannot be read are counted and left out."""
        for line in lines:
            try:
                row = self._parse(line.decode("utf-8", "surrogateescape").rstrip("\r"))
            except CdxError as error:
                self._note(line, error)
                continue
            if revisits is None or is_revisit_row(row) == revisits:
                yield row

    def _note(self, line: bytes, error: CdxError) -> None:
        self.bad_lines += 1
        if self.bad_lines == 1:
            _logger.warning(
                "%s has lines that cannot be read: %s: %r", self._file, error, line[:200]
            )


def place_of_line(line: bytes) -> bytes:
    """Return the beginning of a line that it is sorted by: urlkey and timestamp."""
    first = line.find(b" ")
    second = line.find(b" ", first + 1) if first >= 0 else -1
    return line[:second] if second >= 0 else line


def in_order(lines: Iterable[bytes], file: str) -> Iterator[bytes]:
    """Pass lines on; raises SourceError at the first that should stand before the last one."""
    before = b""
    for line in lines:
        if not line:
            continue
        here = place_of_line(line)
        if here < before:
            raise SourceError(
                f"{file} is not sorted: {here[:80]!r} stands behind {before[:80]!r};"
                " sort it with LC_ALL=C sort"
            )
        before = here
        yield line


def backwards(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Stream lines the other way round: from memory where they are few, else from disk.

    Raises CdxQueryError where they are too many for that.
    """
    held: list[bytes] = []
    size = 0
    lines = _checked(lines)
    for line in lines:
        held.append(line)
        size += len(line) + 100
        if size > _HELD_BYTES:
            yield from _from_disk(held, lines)
            return
    yield from reversed(held)


def _checked(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Pass lines on, and look now and then whether the question is to stop."""
    work = current_work()
    for number, line in enumerate(lines, 1):
        yield line
        if not number % LINES_BETWEEN_CHECKS:
            work.check()


def _from_disk(held: list[bytes], lines: Iterator[bytes]) -> Iterator[bytes]:
    with tempfile.TemporaryFile(prefix="nwx-cdx-") as spool:
        size = spool.write(b"".join(line + b"\n" for line in held))
        held.clear()
        for line in lines:
            size += spool.write(line + b"\n")
            if size > MOST_REVERSED_BYTES:
                raise CdxQueryError(
                    "that is too much to be answered newest first; narrow it with url, from or to"
                )
        spool.flush()
        yield from lines_backwards(spool, 0, size)


def lines_backwards(stream: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """Stream the lines between two offsets of a file, the last one first, without newlines."""
    rest = b""
    while end > start:
        begin = max(start, end - _BACKWARD_BYTES)
        block = os.pread(stream.fileno(), end - begin, begin) + rest
        end = begin
        rest, *lines = block.split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        yield from reversed(lines)
    if rest:
        yield rest

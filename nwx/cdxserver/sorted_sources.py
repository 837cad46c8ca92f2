"""Sorted CDX files and ZipNum clusters as sources of a CDX server."""

import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nwx.bulk.sorted_file import SortedFile
from nwx.cdx.files import compression
from nwx.cdx.layouts import Layout, parse_header
from nwx.cdx.rows import CdxRow, is_revisit_row, row_parser
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan
from nwx.engine.document_index import current_work
from nwx.errors import CdxError, CdxQueryError, SourceError
from nwx.values.urlkeys import urlkey
from nwx.zipnum.cluster import Cluster, open_cluster

LINES_BETWEEN_CHECKS = 4_096

MOST_REVERSED_BYTES = 1 << 30
"""The maximum size written to disk to reverse lines."""

_HELD_BYTES = 16 << 20
_BACKWARD_BYTES = 1 << 18

_logger = logging.getLogger("nwx.cdxserver")


class LineReader:
    """Parses the lines of one file to rows, and logs the first that cannot be parsed."""

    def __init__(self, file: str, parse: Callable[[str], CdxRow]) -> None:
        self._file = file
        self._parse = parse
        self.bad_lines = 0

    def rows(self, lines: Iterable[bytes], revisits: bool | None) -> Iterator[CdxRow]:
        """Yield the rows of lines; unreadable lines are counted and skipped."""
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
    """Return the sort key of a line: urlkey and timestamp."""
    first = line.find(b" ")
    second = line.find(b" ", first + 1) if first >= 0 else -1
    return line[:second] if second >= 0 else line


def in_order(lines: Iterable[bytes], file: str) -> Iterator[bytes]:
    """Yield the lines; raises SourceError at the first line that is out of order."""
    before = b""
    for line in lines:
        if not line:
            continue
        here = place_of_line(line)
        if here < before:
            raise SourceError(
                f"{file} is not sorted: {here[:80]!r} comes after {before[:80]!r};"
                " sort it with LC_ALL=C sort"
            )
        before = here
        yield line


def backwards(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines in reverse order, buffered in memory if they are few, else on disk.

    Raises CdxQueryError if they are too many.
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
    """Yield the lines, and check regularly whether the query was cancelled."""
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
                    "too many captures to answer newest first; narrow it with url, from or to"
                )
        spool.flush()
        yield from lines_backwards(spool, 0, size)


def lines_backwards(stream: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """Yield the lines between two offsets of a file in reverse order, without newlines."""
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


_HEADER_BYTES = 1 << 12
_BLOCK_BYTES = 600_000
"""The distance of marks: about 3,000 lines."""
_PROBES = 200


class _Handle:
    """An open file, closed when its last reader releases it."""

    def __init__(self, path: Path) -> None:
        self.number = -1
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes at an offset; safe with concurrent readers."""
        return os.pread(self.number, length, offset)

    def __del__(self) -> None:
        if self.number >= 0:
            os.close(self.number)


@dataclass(frozen=True, slots=True)
class _Opened:
    """An open file, its state when it was opened, and its reader."""

    file: SortedFile
    state: tuple[int, int, int]
    reader: LineReader


class CdxFileSource:
    """A sorted CDX file as a source; it may grow or be replaced while it is queried.

    Raises SourceError if it cannot be searched: it is compressed or not sorted, or its keys are not
    SURT.
    """

    def __init__(self, path: Path, collection: str) -> None:
        self.is_local = True
        self.path = path
        self.name = path.name
        self._collection = collection
        self._opened = self._open()
        self._check()

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Return the captures of a span in its order."""
        if span.collection not in ("", self._collection):
            return iter(())
        opened = self._current()
        lines = self._lines(opened, span)
        if span.newest_first:
            lines = backwards(lines)
        return opened.reader.rows(lines, span.revisits)

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterable[CdxBlock] | None:
        """Return None: lines are read as rows."""

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Yield the place of the first capture, and of one about every 600,000 bytes."""
        if span.collection not in ("", self._collection):
            return
        opened = self._current()
        offset = opened.file.first_not_before(_bytes(span.start).__gt__)
        end = opened.file.first_not_before(_bytes(span.end).__gt__)
        while (found := opened.file.line_at(offset)) is not None and found.offset < end:
            yield place_of_line(found.line).decode("utf-8", "surrogateescape")
            offset = found.offset + _BLOCK_BYTES

    def collections(self) -> Sequence[str]:
        """Return the collection of the lines."""
        return (self._collection,)

    def close(self) -> None:
        """Release the file; it is closed when its last reader finishes."""

    def _open(self) -> _Opened:
        with SourceError.instead_of(OSError, f"{self.path} cannot be opened"):
            if compression(str(self.path)):
                raise SourceError(
                    f"{self.path} is compressed and cannot be searched;"
                    " decompress it, or make a cluster of it with nwx zipnum build"
                )
            handle = _Handle(self.path)
        state = os.fstat(handle.number)
        layout, begin = self._header(handle)
        reader = LineReader(str(self.path), row_parser(layout, self._collection))
        file = SortedFile(str(self.path), handle.read, state.st_size, begin)
        return _Opened(file, _state(state), reader)

    def _header(self, handle: _Handle) -> tuple[Layout | None, int]:
        """Return the layout in the first line, if any, and the offset of the first capture."""
        first = handle.read(0, _HEADER_BYTES).partition(b"\n")[0]
        with SourceError.instead_of(CdxError, f"{self.path}"):
            layout = parse_header(first.rstrip(b"\r"))
        if layout is not None and layout.delimiter != " ":
            raise SourceError(
                f"{self.path}: the fields are not separated by blanks; write it again with blanks"
            )
        return layout, len(first) + 1 if layout is not None else 0

    def _current(self) -> _Opened:
        """Return the open file, reopened if it was replaced or has grown."""
        opened = self._opened
        with SourceError.instead_of(OSError, f"{self.path} cannot be read"):
            state = self.path.stat()
        if _state(state) != opened.state:
            # Readers of the previous file keep it open.
            opened = self._opened = self._open()
        return opened

    def _check(self) -> None:
        """Raise SourceError if samples show that the file is not sorted, or not by SURT."""
        opened, file = self._opened, self._opened.file
        step = max(1, (file.size - file.begin) // _PROBES)
        before = b""
        for offset in range(file.begin, file.size, step):
            found = file.line_at(offset)
            if found is None:
                return
            list(in_order((before, found.line), str(self.path)))
            before = place_of_line(found.line)
            self._check_key(opened, found.line)

    def _check_key(self, opened: _Opened, line: bytes) -> None:
        for row in opened.reader.rows([line], None):
            if b")" not in line.partition(b" ")[0] and ")" in urlkey(row.url):
                raise SourceError(
                    f"{self.path} is not sorted by SURT: {row.urlkey[:80]!r} is the key"
                    f" of {row.url[:80]!r}; create it again with nwx cdx"
                )

    def _lines(self, opened: _Opened, span: CdxSpan) -> Iterator[bytes]:
        end = _bytes(span.end)
        lines = (line for _, line in opened.file.lines_not_before(_bytes(span.start).__gt__))
        for line in in_order(lines, str(self.path)):
            if line >= end:
                return
            yield line


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _state(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns


class ClusterSource:
    """A ZipNum cluster as a source: a folder, an `.idx` file, an address, a WACZ."""

    def __init__(self, place: str, collection: str) -> None:
        self.place = place
        self.name = Path(place).name
        self.is_local = not place.startswith(("http://", "https://"))
        self._collection = collection
        self._cluster = open_cluster(place)
        self._reader = LineReader(place, row_parser(None, collection))

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Return the captures of a span in its order."""
        if span.collection not in ("", self._collection):
            return iter(())
        lines = self._lines(span)
        return self._reader.rows(backwards(lines) if span.newest_first else lines, span.revisits)

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterable[CdxBlock] | None:
        """Return None: lines are read as rows."""

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Yield the places of the first capture and of the first capture of each block."""
        if span.collection not in ("", self._collection):
            return
        start, end = _bytes(span.start), _bytes(span.end)
        first = next(self._lines(span), None)
        if first is None:
            return
        yield _text(place_of_line(first))
        for block in self._current().blocks(start, end):
            if start <= block.key < end:
                yield _text(block.key)

    def collections(self) -> Sequence[str]:
        """Return the collection of the cluster."""
        return (self._collection,)

    def close(self) -> None:
        """Close the files of the cluster."""
        self._cluster.close()

    def _current(self) -> Cluster:
        """Return the open cluster, opened again if its index was replaced."""
        if self._cluster.is_outdated():
            # Readers of the previous cluster keep it open.
            self._cluster = open_cluster(self.place)
        return self._cluster

    def _lines(self, span: CdxSpan) -> Iterator[bytes]:
        return in_order(self._current().lines(_bytes(span.start), _bytes(span.end)), self.place)


def _text(place: bytes) -> str:
    return place.decode("utf-8", "surrogateescape")

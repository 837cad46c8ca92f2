"""Pieces of CDX files, read in blocks of whole lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from nwx.formats.cdx import Layout
from nwx.formats.cdxfile import MAX_LINE_BYTES

BLOCK_BYTES = 1 << 20
PAD_BYTES = 1024
"""Zeros behind a block, so that wide loads may reach over its end."""
LONGEST_RUN_BYTES = 16 << 20

_PAD = bytes(PAD_BYTES)
_BYTES_TO_LOOK_AT = 1 << 16


@dataclass(frozen=True, slots=True)
class CdxSource:
    """A file of captures; those of one that is `held` are known already, none is a duplicate.

    `layout` is how its lines are read where no header says otherwise,
    `name` how messages call it.
    """

    path: str
    layout: Layout | None = None
    held: bool = False
    name: str = ""

    @property
    def shown(self) -> str:
        """Return the name for messages."""
        return self.name or self.path


@dataclass(frozen=True, slots=True)
class Piece:
    """The lines of a source that begin from byte `start` up to `end` (None: all that follow)."""

    source: CdxSource
    start: int = 0
    end: int | None = None


class LongRunError(Exception):
    """More lines with the same first field than can be held."""


def padded(content: bytes) -> bytes:
    """Return a block with its pad."""
    return content + _PAD


def raw_blocks(stream: BinaryIO, piece: Piece, *, by_run: bool) -> Iterator[bytes]:
    """Stream the lines of a piece in blocks with a pad; line ends are newlines, also the last.

    With `by_run` a piece begins and ends, and is cut, only where the first
    field changes. Raises LongRunError where it does not for too long.
    """
    skipped = _start(stream, piece, by_run=by_run)
    parts = _whole_lines(stream, piece, skipped)
    if by_run:
        parts = _whole_runs(parts, stream, piece)
    for part in parts:
        data = b"".join((*part, _PAD))
        windows = data.find(b"\r\n", 0, _BYTES_TO_LOOK_AT) >= 0
        yield data.replace(b"\r\n", b"\n") if windows else data


def _start(stream: BinaryIO, piece: Piece, *, by_run: bool) -> int:
    """Go to the first line of a piece and return its position."""
    if not piece.start:
        return 0
    if not by_run:
        stream.seek(piece.start - 1)
        return piece.start - 1 + len(stream.readline())
    back = min(piece.start, MAX_LINE_BYTES)
    stream.seek(piece.start - back)
    before = stream.read(back)
    position = piece.start - back + before.rfind(b"\n", 0, back - 1) + 1
    stream.seek(position)
    line = stream.readline()
    position += len(line)
    return position + _skip_run(stream, _first_field(line))


def _skip_run(stream: BinaryIO, first: bytes) -> int:
    skipped = 0
    while line := stream.readline():
        if not line.startswith(first):
            stream.seek(-len(line), 1)
            break
        skipped += len(line)
    return skipped


def _whole_lines(
    stream: BinaryIO, piece: Piece, position: int
) -> Iterator[tuple[bytes | memoryview, ...]]:
    while piece.end is None or position < piece.end:
        wanted = BLOCK_BYTES if piece.end is None else min(BLOCK_BYTES, piece.end - position)
        data = stream.read(wanted)
        if not data:
            return
        position += len(data)
        tail = b""
        if not data.endswith(b"\n"):
            tail = stream.readline(MAX_LINE_BYTES + 2)
            position += len(tail)
            if not tail.endswith(b"\n"):
                position += _skip_line(stream)
                tail += b"\n"
        yield data, tail


def _skip_line(stream: BinaryIO) -> int:
    skipped = 0
    while part := stream.readline(MAX_LINE_BYTES):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _whole_runs(
    parts: Iterator[tuple[bytes | memoryview, ...]], stream: BinaryIO, piece: Piece
) -> Iterator[tuple[bytes | memoryview, ...]]:
    carried = b""
    for part in parts:
        data = b"".join((carried, *part))
        cut = _last_run(data)
        carried = data[cut:]
        if len(carried) > LONGEST_RUN_BYTES:
            raise LongRunError
        if cut:
            yield (memoryview(data)[:cut],)
    if carried:
        rest = _rest_of_run(stream, _first_field(carried)) if piece.end is not None else b""
        yield carried, rest


def _last_run(data: bytes) -> int:
    """Return where the last lines with the same first field begin."""
    begin = data.rfind(b"\n", 0, len(data) - 1) + 1
    first = _first_field(data[begin:])
    while begin:
        before = data.rfind(b"\n", 0, begin - 1) + 1
        if not data.startswith(first, before):
            break
        begin = before
    return begin


def _rest_of_run(stream: BinaryIO, first: bytes) -> bytes:
    lines = []
    size = 0
    while line := stream.readline(MAX_LINE_BYTES + 2):
        if not line.startswith(first):
            break
        lines.append(line if line.endswith(b"\n") else line + b"\n")
        size += len(line)
        if size > LONGEST_RUN_BYTES:
            raise LongRunError
    return b"".join(lines)


def _first_field(line: bytes) -> bytes:
    return line[: line.find(b" ") + 1] or line

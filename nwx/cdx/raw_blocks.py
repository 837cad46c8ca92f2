"""Pieces of CDX files, read in blocks of whole lines."""

from collections.abc import Iterator
from io import BufferedReader
from typing import BinaryIO

from nwx.cdx.files import MAX_LINE_BYTES
from nwx.cdx.inputs import FilePiece
from nwx.errors import SourceError

_BLOCK_BYTES = 2 << 20
PAD_BYTES = 1024
"""Zeros behind a block, so that wide loads may reach over its end."""
LONGEST_RUN_BYTES = 16 << 20

_PAD = bytes(PAD_BYTES)
_BYTES_TO_LOOK_AT = 1 << 12


class LongRunError(Exception):
    """More lines with the same first field than can be held."""


def padded(content: bytes) -> bytes:
    """Return a block with its pad."""
    return content + _PAD


def raw_blocks(stream: BufferedReader, piece: FilePiece, *, by_run: bool) -> Iterator[bytes]:
    """Stream the lines of a piece in blocks with a pad; line ends are newlines, also the last.

    With `by_run` a piece begins and ends, and is cut, only where the first
    field changes. Raises LongRunError where it does not for too long, and
    SourceError at damage, behind the whole lines before it.
    """
    position = _start(stream, piece, by_run=by_run)
    carried = b""
    while piece.end is None or position < piece.end:
        wanted = _BLOCK_BYTES if piece.end is None else min(_BLOCK_BYTES, piece.end - position)
        data, damage = _read(stream, wanted)
        if not data and damage is None:
            break
        position += len(data)
        whole = not carried or carried.endswith(b"\n")
        cut = _last_run(data, whole=whole) if by_run else data.rfind(b"\n") + 1
        if cut:
            yield _block(carried, memoryview(data)[:cut])
            carried = data[cut:]
        else:
            carried += data
            if len(carried) > MAX_LINE_BYTES and b"\n" not in carried:
                position += _skip_line(stream)
                carried = carried[: MAX_LINE_BYTES + 1] + b"\n"
            elif len(carried) > LONGEST_RUN_BYTES:
                raise LongRunError
        if damage is not None:
            raise damage
    if carried:
        yield _block(carried, _rest(stream, piece, carried, by_run=by_run))


def _read(stream: BufferedReader, wanted: int) -> tuple[bytes, SourceError | None]:
    """Return up to `wanted` bytes, and what kept the rest from being read."""
    pieces = []
    try:
        while wanted and (piece := stream.read1(wanted)):
            pieces.append(piece)
            wanted -= len(piece)
    except SourceError as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


def _block(*parts: bytes | memoryview) -> bytes:
    data = b"".join((*parts, _PAD))
    windows = data.find(b"\r\n", 0, _BYTES_TO_LOOK_AT) >= 0
    return data.replace(b"\r\n", b"\n") if windows else data


def _rest(stream: BinaryIO, piece: FilePiece, carried: bytes, *, by_run: bool) -> bytes:
    """Return what belongs to the last line, or run, of a piece behind its end."""
    rest = b""
    if not carried.endswith(b"\n"):
        rest = stream.readline(MAX_LINE_BYTES + 2)
        if not rest.endswith(b"\n"):
            _skip_line(stream)
            rest += b"\n"
    if by_run and piece.end is not None:
        last = (carried + rest)[carried.rfind(b"\n", 0, len(carried) - 1) + 1 :]
        rest += _rest_of_run(stream, _first_field(last))
    return rest


def _start(stream: BinaryIO, piece: FilePiece, *, by_run: bool) -> int:
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


def _skip_line(stream: BinaryIO) -> int:
    skipped = 0
    while part := stream.readline(MAX_LINE_BYTES):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _last_run(data: bytes, *, whole: bool) -> int:
    """Return where the last lines with the same first field begin, 0 if that may be before.

    Data that are not `whole` begin within a line, of which nothing is known.
    """
    end = data.rfind(b"\n")
    begin = data.rfind(b"\n", 0, max(end, 0)) + 1
    first = _first_field(data[begin:end])
    while begin:
        before = data.rfind(b"\n", 0, begin - 1) + 1
        if not before and not whole:
            return 0
        if not data.startswith(first, before):
            return begin
        begin = before
    return 0


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

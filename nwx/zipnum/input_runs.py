"""First step of a build: inputs in any order are written as sorted runs on disk.

A task reads some pieces of input in one process and writes runs whose marks are keys of blocks:
split points are chosen from these.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nwx.bulk.process_limits import keep_memory
from nwx.bulk.sorted_file import LineBatch
from nwx.bulk.sorted_runs import ExternalSort, SortedRun
from nwx.bulk.whole_files import done_once, is_address
from nwx.cdx.blocks import PAD_BYTES, raw_blocks
from nwx.cdx.files import MAX_LINE_BYTES, open_cdx
from nwx.cdx.inputs import FilePiece, FileReading, ReadTask, record_from_json, record_json
from nwx.cdx.layouts import parse_header
from nwx.cdx.zipnum_index import block_key
from nwx.errors import CdxError, SourceError

_SHOWN_BYTES = 80
_KEY_BYTES, _DIGITS = 128, 14
_BLANK, _ZERO, _TEN = (np.uint8(number) for number in (32, 48, 10))
looks_like_cdx = re.compile(rb"[^ ]++ [0-9]{4,14} [^\n]").match
"""Tells of a line whether it begins with a urlkey and a timestamp, and goes on."""


@dataclass(slots=True)
class TaskRuns:
    """The runs of a task, and what came up while it was read."""

    runs: list[SortedRun] = field(default_factory=list)
    readings: list[FileReading] = field(default_factory=list)


def make_runs(folder: Path, task: ReadTask, memory_bytes: int) -> TaskRuns:
    """Return the runs of a task; a completed earlier call's runs are reused."""
    keep_memory()
    report = folder / f"task-{task.number:05d}.json"
    found = done_once(report, lambda: record_json(_made(folder, task, memory_bytes)))
    return record_from_json(TaskRuns, found)


def _made(folder: Path, task: ReadTask, memory_bytes: int) -> TaskRuns:
    made = TaskRuns()
    sort = ExternalSort(folder, memory_bytes, f"run-{task.number:05d}", block_key)
    for piece in task.pieces:
        reading = FileReading(piece.source.shown)
        made.readings.append(reading)
        for lines, size in sound_lines(piece, reading):
            sort.add(lines, size)
    made.runs = sort.finish()
    return made


def sound_lines(piece: FilePiece, reading: FileReading) -> Iterator[tuple[LineBatch, int]]:
    """Yield the valid lines of a piece, with the number of bytes read for them.

    Damage in the file is recorded and ends the piece. Raises SourceError if it cannot be opened, or
    an address does not answer.
    """
    with open_cdx(piece.source.path) as stream:
        for block in _readable(raw_blocks(stream, piece, by_run=False), reading):
            # The one byte is found at once, two of them take longer than the split into lines.
            if b"\r" in block and b"\r\n" in block:
                block = block.replace(b"\r\n", b"\n")
            data = block[:-PAD_BYTES]
            lines = data.split(b"\n")
            lines.pop()  # behind the last newline
            number = reading.line
            reading.line += len(lines)
            unsure = unsure_lines(block, lines)
            if len(unsure):
                bad = {at for at in unsure if not _good(lines[at], number + 1 + at, reading)}
                lines = [line for at, line in enumerate(lines) if at not in bad] if bad else lines
            yield lines, len(data)


def _readable(blocks: Iterator[bytes], reading: FileReading) -> Iterator[bytes]:
    """Pass blocks on as far as they can be read."""
    try:
        yield from blocks
    except SourceError as error:
        if is_address(reading.file) and isinstance(error.__cause__, OSError):
            raise
        reading.damage = str(error)


def unsure_lines(block: bytes, lines: LineBatch) -> list[int]:
    """Return the numbers of lines of a block, padded at its end, that need a closer check.

    All others, nearly all, begin with a urlkey of moderate length and 14 digits, and are not too
    long.
    """
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    ends = np.cumsum(lengths + 1) - 1
    starts = ends - lengths
    blanks = (_windows(block, _KEY_BYTES, starts) == _BLANK).argmax(axis=1)
    digits = _windows(block, _DIGITS + 1, starts + blanks + 1)
    sure = (digits[:, :_DIGITS] - _ZERO).max(axis=1) < _TEN
    sure &= (digits[:, _DIGITS] == _BLANK) & (blanks > 0)
    sure &= (blanks + _DIGITS + 2 < lengths) & (lengths <= MAX_LINE_BYTES)
    return [int(at) for at in np.flatnonzero(~sure)]


def _windows(block: bytes, width: int, starts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return, a row each, the bytes of a block that begin at some places, copied as one value."""
    views = np.ndarray((len(block) - width + 1,), f"V{width}", block, strides=(1,))
    return views[starts].view(np.uint8).reshape(-1, width)


def _good(line: bytes, number: int, reading: FileReading) -> bool:
    """Return whether a line is a capture; report others except headers and empty lines."""

    def note(message: str) -> bool:
        reading.add(CdxError(message, reading.file, number))
        return False

    if not line or line.startswith(b"!"):
        return False
    if len(line) > MAX_LINE_BYTES:
        return note(f"a line of more than {MAX_LINE_BYTES} bytes")
    if looks_like_cdx(line):
        return True
    if b"CDX" in line[:4]:
        message = _header_fault(line)
        return note(message) if message else False
    return note(f"no urlkey and timestamp at the start of {line[:_SHOWN_BYTES]!r}")


def _header_fault(line: bytes) -> str:
    try:
        layout = parse_header(line)
    except CdxError as error:
        return str(error)
    if layout is None:
        return f"neither a header nor a capture: {line[:_SHOWN_BYTES]!r}"
    if layout.letters[:2] in ("Nb", "Ab") and layout.delimiter == " ":
        return ""
    return (
        f"the header tells fields {layout.letters!r} between {layout.delimiter!r};"
        " an index needs lines that begin with urlkey, blank, timestamp"
    )

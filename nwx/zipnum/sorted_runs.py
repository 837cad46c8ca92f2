"""The first step of a build: inputs in any order become sorted runs on disk.

A task reads some pieces of input, which one process does, and leaves a
file of sorted lines for each stretch that fits in its memory. Of each it
remembers where some of its lines are: split points are chosen from these,
and a shard finds its lines by them.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nwx.bulk.pool import keep_memory
from nwx.bulk.sorted_merge import LineBatch, merged_lines
from nwx.bulk.spill import writing
from nwx.bulk.whole_files import whole_file
from nwx.cdx.files import MAX_LINE_BYTES, open_cdx
from nwx.cdx.lines import parse_header
from nwx.cdx.raw_blocks import PAD_BYTES, FilePiece, raw_blocks
from nwx.cdx.zipnum_index import block_key
from nwx.errors import CdxError, SourceError

_SAMPLES = 128
_MOST_PROBLEMS = 100
_SHOWN_BYTES = 80
_KEY_BYTES, _DIGITS = 128, 14
_BLANK, _ZERO, _TEN = (np.uint8(number) for number in (32, 48, 10))
looks_like_cdx = re.compile(rb"[^ ]++ [0-9]{4,14} [^\n]").match
"""Tells of a line whether it begins with a urlkey and a timestamp, and goes on."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The urlkey and timestamp of a line of a run, a sign for each byte, and its offset."""

    text: str
    offset: int

    @property
    def key(self) -> bytes:
        """The urlkey and timestamp as bytes."""
        return self.text.encode("latin-1")


@dataclass(frozen=True, slots=True)
class Run:
    """A file of sorted lines."""

    name: str
    size: int
    samples: tuple[Sample, ...]


@dataclass(slots=True)
class PieceRead:
    """What came up in a piece of a file; the lines of `problems` count from its start.

    `damage` says why it could not be read to its end, "" where it was.
    """

    file: str
    start: int
    lines: int = 0
    kept: int = 0
    problems_total: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)
    damage: str = ""

    def add(self, line: int, message: str) -> None:
        """Note a line that is left out."""
        self.problems_total += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append((line, message))


@dataclass(slots=True)
class TaskDone:
    """The runs of a task, and what it read."""

    runs: list[Run] = field(default_factory=list)
    pieces: list[PieceRead] = field(default_factory=list)


def make_runs(folder: Path, number: int, pieces: Sequence[FilePiece], run_bytes: int) -> TaskDone:
    """Return the runs of a task, those of an earlier call where it got to its end."""
    keep_memory()
    report = folder / f"task-{number:05d}.json"
    if report.exists():
        return _loaded(report)
    done = TaskDone()
    waiting: LineBatch = []
    size = 0
    for piece in pieces:
        read = PieceRead(piece.source.shown, piece.start)
        done.pieces.append(read)
        for lines, length in _clean(piece, read):
            waiting += lines
            size += length
            if waiting and size >= run_bytes:
                done.runs.append(_write_run(folder, number, len(done.runs), waiting))
                size = 0
    if waiting:
        done.runs.append(_write_run(folder, number, len(done.runs), waiting))
    with whole_file(report) as stream:
        stream.write(json.dumps(asdict(done)).encode())
    return done


def run_batches(
    folder: Path, run: Run, start: bytes, end: bytes | None, batch_bytes: int
) -> Iterator[LineBatch]:
    """Yield the lines of a run from `start` up to but without `end`."""
    keys = [sample.key for sample in run.samples]
    first = max(0, bisect_left(keys, start) - 1)
    with (folder / run.name).open("rb") as stream:
        stream.seek(run.samples[first].offset)
        rest = b""
        while data := stream.read(batch_bytes):
            *lines, rest = (rest + data).split(b"\n")
            if not lines or lines[-1] < start:
                continue
            begin = bisect_left(lines, start) if lines[0] < start else 0
            stop = len(lines) if end is None or lines[-1] < end else bisect_left(lines, end)
            if stop > begin:
                yield lines[begin:stop] if stop - begin < len(lines) else lines
            if stop < len(lines):
                return


def _loaded(report: Path) -> TaskDone:
    found = json.loads(report.read_bytes())
    runs = [
        Run(run["name"], run["size"], tuple(Sample(**sample) for sample in run["samples"]))
        for run in found["runs"]
    ]
    return TaskDone(runs, [PieceRead(**piece) for piece in found["pieces"]])


def _clean(piece: FilePiece, read: PieceRead) -> Iterator[tuple[LineBatch, int]]:
    """Yield the lines of a piece that can stand in an index, and how many bytes they were.

    Where the file cannot be read on, that is noted, and the piece ends.
    """
    with open_cdx(piece.source.path) as stream:
        for block in _readable(raw_blocks(stream, piece, by_run=False), read):
            # The one byte is found at once, two of them take longer than the split into lines.
            if b"\r" in block and b"\r\n" in block:
                block = block.replace(b"\r\n", b"\n")
            data = block[:-PAD_BYTES]
            lines = data.split(b"\n")
            lines.pop()  # behind the last newline
            number = read.lines
            read.lines += len(lines)
            unsure = unsure_lines(block, lines)
            if len(unsure):
                bad = {at for at in unsure if not _good(lines[at], number + 1 + at, read)}
                lines = [line for at, line in enumerate(lines) if at not in bad] if bad else lines
            read.kept += len(lines)
            yield lines, len(data)


def _readable(blocks: Iterator[bytes], read: PieceRead) -> Iterator[bytes]:
    """Pass blocks on as far as they can be read."""
    try:
        yield from blocks
    except SourceError as error:
        read.damage = str(error)


def unsure_lines(block: bytes, lines: LineBatch) -> list[int]:
    """Return which lines of a block, that has a pad behind them, need a closer look.

    All others begin with a urlkey of no great length and 14 digits, as
    nearly all lines do, and are not too long.
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


def _good(line: bytes, number: int, read: PieceRead) -> bool:
    """Return whether a line is a capture; headers and empty lines are none, others told."""
    if not line or line.startswith(b"!"):
        return False
    if len(line) > MAX_LINE_BYTES:
        read.add(number, f"a line of more than {MAX_LINE_BYTES} bytes")
        return False
    if looks_like_cdx(line):
        return True
    if b"CDX" in line[:4]:
        message = _header_fault(line)
        if message:
            read.add(number, message)
        return False
    read.add(number, f"no urlkey and timestamp at the start of {line[:_SHOWN_BYTES]!r}")
    return False


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


def _write_run(folder: Path, number: int, count: int, lines: LineBatch) -> Run:
    """Write lines, sorted, as a file, and forget them."""
    lines.sort()
    path = folder / f"run-{number:05d}-{count:05d}"
    samples: list[Sample] = []
    offset = 0
    step = -(-len(lines) // _SAMPLES)
    with writing(path), path.open("wb") as stream:
        for begin in range(0, len(lines), step):
            samples.append(Sample(block_key(lines[begin]).decode("latin-1"), offset))
            offset += stream.write(b"\n".join([*lines[begin : begin + step], b""]))
    lines.clear()
    return Run(path.name, offset, tuple(samples))


def join_runs(folder: Path, runs: Sequence[Run], batch_bytes: int) -> Run:
    """Write the lines of several runs as one."""
    path = folder / f"joined-{runs[0].name}"
    samples: list[Sample] = []
    offset = 0
    step = sum(run.size for run in runs) // _SAMPLES
    sources = [run_batches(folder, run, b"", None, batch_bytes) for run in runs]
    with writing(path), path.open("wb") as stream:
        for batch in merged_lines(sources):
            if not samples or offset >= samples[-1].offset + step:
                samples.append(Sample(block_key(batch[0]).decode("latin-1"), offset))
            offset += stream.write(b"\n".join([*batch, b""]))
    return Run(path.name, offset, tuple(samples))

"""External sorting: unordered lines are written to sorted runs on disk and merged.

A line is bytes without a newline, ordered by its bytes; a record of a key and a value is a line
with a separator between the two. For rows of numbers that only have to be grouped by key, use
`nwx.bulk.arrays`, which does not sort and is therefore several times faster.

`ExternalSort` is sufficient for a single process. If several processes share the work, each writes
runs of its input (`ExternalSort.finish`), and then reads its own range of keys from all runs
(`split_points`, `read_runs`). Runs are described by `SortedRun`, which can be sent to other
processes and stored as JSON, so that interrupted work resumes from the complete runs.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.bulk.sorted_file import LineBatch, merged_lines
from nwx.bulk.whole_files import writing
from nwx.data_classes import dataclass

if TYPE_CHECKING:
    from nwx.bulk.pool import Pool

MOST_RUNS = 256
"""The maximum number of runs merged at once: each has an open file and a share of the memory."""

_MARKS = 128
_MARK_BYTES = 64
_HELD_SHARE, _BATCH_SHARE = 4, 8
"""The memory that lines take in Python, as a multiple of their bytes; and twice that, for batches.
"""
_LEAST_BATCH_BYTES, _MOST_BATCH_BYTES = 1 << 16, 8 << 20


def line_start(line: bytes) -> bytes:
    """Return the first bytes of a line."""
    return line[:_MARK_BYTES]


@dataclass(frozen=True, slots=True)
class RunMark:
    """The start of a line in a run, and its offset."""

    start: bytes
    offset: int


@dataclass(frozen=True, slots=True)
class SortedRun:
    """A file of sorted lines, each ending with a newline, and marks: offsets of some lines."""

    name: str
    size: int
    marks: tuple[RunMark, ...] = ()


class ExternalSort:
    """Sorts lines added in any order, on disk if they exceed the memory.

    `memory_bytes` bounds the lines held, including Python's overhead; runs are written to `folder`,
    with names that begin with `name`. `start_of` returns the part of a line that marks keep. All
    methods raise SourceError on a full disk.
    """

    def __init__(
        self,
        folder: Path,
        memory_bytes: int,
        name: str = "run",
        start_of: Callable[[bytes], bytes] = line_start,
    ) -> None:
        self.lines = 0
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._name = name
        self._start_of = start_of
        self._waiting: LineBatch = []
        self._size = 0
        self._runs: list[SortedRun] = []

    def add(self, lines: LineBatch, size: int | None = None) -> None:
        """Add lines without newlines; `size` is their total length in bytes, if known."""
        self._waiting += lines
        self.lines += len(lines)
        self._size += sum(map(len, lines)) if size is None else size
        if self._waiting and self._size >= self._memory_bytes // _HELD_SHARE:
            self._write()

    def finish(self) -> list[SortedRun]:
        """Write the buffered lines, and return all runs."""
        if self._waiting:
            self._write()
        return self._runs

    def batches(self) -> Iterator[LineBatch]:
        """Yield all lines in order; the runs are deleted after the last."""
        if not self._runs:
            self._waiting.sort()
            if self._waiting:
                yield self._waiting
            return
        runs = joined_runs(self._folder, self.finish(), self._memory_bytes)
        yield from read_runs(self._folder, runs, self._memory_bytes)
        delete_runs(self._folder, runs)

    def _write(self) -> None:
        self._waiting.sort()
        path = self._folder / f"{self._name}-{len(self._runs):05d}"
        self._runs.append(_write_run(path, self._waiting, self._start_of))
        self._waiting.clear()
        self._size = 0


def _write_run(path: Path, lines: LineBatch, start_of: Callable[[bytes], bytes]) -> SortedRun:
    marks: list[RunMark] = []
    offset = 0
    step = -(-len(lines) // _MARKS)
    with writing(path), path.open("wb") as stream:
        for begin in range(0, len(lines), step):
            marks.append(RunMark(start_of(lines[begin]), offset))
            offset += stream.write(b"\n".join([*lines[begin : begin + step], b""]))
    return SortedRun(path.name, offset, tuple(marks))


def read_runs(
    folder: Path,
    runs: Sequence[SortedRun],
    memory_bytes: int,
    start: bytes = b"",
    end: bytes | None = None,
) -> Iterator[LineBatch]:
    """Yield the lines of runs in a folder, in order, from `start` up to but excluding `end`."""
    batch_bytes = _batch_bytes(memory_bytes, len(runs))
    return merged_lines(_read_run(folder, run, batch_bytes, start, end) for run in runs)


def _batch_bytes(memory_bytes: int, runs: int) -> int:
    """Return the number of bytes to read at once from each of several merged runs."""
    share = memory_bytes // _BATCH_SHARE // max(1, runs)
    return min(_MOST_BATCH_BYTES, max(_LEAST_BATCH_BYTES, share))


def _read_run(
    folder: Path, run: SortedRun, batch_bytes: int, start: bytes, end: bytes | None
) -> Iterator[LineBatch]:
    first = bisect_left([mark.start for mark in run.marks], start) - 1
    while first >= 0 and start.startswith(run.marks[first].start):
        first -= 1  # its line, and those before it, may not be before `start`
    with (folder / run.name).open("rb") as stream:
        stream.seek(run.marks[first].offset if first >= 0 else 0)
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


def joined_runs(
    folder: Path,
    runs: Sequence[SortedRun],
    memory_bytes: int,
    pool: "Pool | None" = None,
    start_of: Callable[[bytes], bytes] = line_start,
    *,
    keep: bool = False,
) -> Sequence[SortedRun]:
    """Merge runs until they are few enough to be read at once; return the new runs.

    `memory_bytes` is the limit of each process of the pool, or of this one without a pool. With
    `keep`, the merged runs are not deleted, for work that may be resumed.
    """
    mapped = pool.map if pool else starmap
    while len(runs) > MOST_RUNS:
        groups = [runs[at : at + MOST_RUNS] for at in range(0, len(runs), MOST_RUNS)]
        work = [(folder, group, memory_bytes, start_of) for group in groups]
        joined = []
        for group, run in zip(groups, mapped(join_runs, work), strict=True):
            joined.append(run)
            if not keep:
                delete_runs(folder, group)
        runs = joined
    return runs


def delete_runs(folder: Path, runs: Iterable[SortedRun]) -> None:
    """Delete the files of runs."""
    for run in runs:
        (folder / run.name).unlink(missing_ok=True)


def join_runs(
    folder: Path,
    runs: Sequence[SortedRun],
    memory_bytes: int,
    start_of: Callable[[bytes], bytes] = line_start,
) -> SortedRun:
    """Merge several runs into one."""
    path = folder / f"joined-{runs[0].name}"
    marks: list[RunMark] = []
    offset = 0
    step = sum(run.size for run in runs) // _MARKS
    with writing(path), path.open("wb") as stream:
        for batch in read_runs(folder, runs, memory_bytes):
            if not marks or offset >= marks[-1].offset + step:
                marks.append(RunMark(start_of(batch[0]), offset))
            offset += stream.write(b"\n".join([*batch, b""]))
    return SortedRun(path.name, offset, tuple(marks))


def split_points(runs: Iterable[SortedRun], parts: int) -> list[bytes]:
    """Return the starts of all parts but the first, for parts of about the same size.

    Taken from the marks of the runs; fewer than requested if there are too few distinct starts.
    """
    weighted = sorted((mark.start, run.size / len(run.marks)) for run in runs for mark in run.marks)
    total = sum(weight for _, weight in weighted)
    points: list[bytes] = []
    passed = 0.0
    for start, weight in weighted:
        if passed >= total * (len(points) + 1) / parts and (not points or start > points[-1]):
            points.append(start)
            if len(points) == parts - 1:
                break
        passed += weight
    return points

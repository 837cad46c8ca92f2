"""Builds clusters from unsorted CDX files: sorted runs, split points, shards."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from nwx.bulk.pool import Pool
from nwx.bulk.process_limits import keep_memory
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import Resources, temporary_folder, workers_for
from nwx.bulk.sorted_file import Distinct, LineBatch
from nwx.bulk.sorted_runs import ExternalSort, SortedRun, joined_runs, read_runs, split_points
from nwx.bulk.whole_files import done_once, is_address
from nwx.cdx.blocks import PAD_BYTES, raw_blocks
from nwx.cdx.files import MAX_LINE_BYTES, block_key, open_cdx
from nwx.cdx.inputs import (
    CdxSource,
    FilePiece,
    FileReading,
    ProblemReport,
    Problems,
    ReadTask,
    expanded_bytes,
    plan_tasks,
    ready_inputs,
    record_from_json,
    record_json,
)
from nwx.cdx.layouts import parse_header
from nwx.errors import CdxError, SourceError, UsageError
from nwx.model import STANDARD_INPUT
from nwx.zipnum import ClusterBuildOptions
from nwx.zipnum.publication import (
    SPLITS,
    emptied_folder_removed,
    finished_work,
    note_finished,
    publish,
    recover,
    work_folder,
)
from nwx.zipnum.shards import data_name, format_splits, part_name, shard_writer

_SHOWN_BYTES = 80
_KEY_BYTES, _DIGITS = 128, 14
_BLANK, _ZERO, _TEN = (np.uint8(number) for number in (32, 48, 10))
looks_like_cdx = re.compile(rb"[^ ]++ [0-9]{4,14} [^\n]").match
"""Matches a line that begins with a urlkey and a timestamp and has more fields."""


@dataclass(slots=True)
class TaskRuns:
    """The runs of a task, and the readings of its pieces."""

    runs: list[SortedRun] = field(default_factory=list)
    readings: list[FileReading] = field(default_factory=list)


def make_runs(folder: Path, task: ReadTask, memory_bytes: int) -> TaskRuns:
    """Return the runs of a task; those of a completed earlier call are reused."""
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
            # Searching one byte is fast; searching two takes longer than splitting into lines.
            if b"\r" in block and b"\r\n" in block:
                block = block.replace(b"\r\n", b"\n")
            data = block[:-PAD_BYTES]
            lines = data.split(b"\n")
            lines.pop()  # after the last newline
            number = reading.line
            reading.line += len(lines)
            unsure = unsure_lines(block, lines)
            if len(unsure):
                bad = {at for at in unsure if not _good(lines[at], number + 1 + at, reading)}
                lines = [line for at, line in enumerate(lines) if at not in bad] if bad else lines
            yield lines, len(data)


def _readable(blocks: Iterator[bytes], reading: FileReading) -> Iterator[bytes]:
    """Yield blocks until one cannot be read, and record the damage."""
    try:
        yield from blocks
    except SourceError as error:
        if is_address(reading.file) and isinstance(error.__cause__, OSError):
            raise
        reading.damage = str(error)


def unsure_lines(block: bytes, lines: LineBatch) -> list[int]:
    """Return the numbers of the lines of a padded block that need a closer check.

    All other lines, nearly all, begin with a urlkey of moderate length and 14 digits, and are not
    too long.
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
    """Return `width` bytes of a block from each position, one row each."""
    views = np.ndarray((len(block) - width + 1,), f"V{width}", block, strides=(1,))
    return views[starts].view(np.uint8).reshape(-1, width)


def _good(line: bytes, number: int, reading: FileReading) -> bool:
    """Return whether a line is a capture; report other lines, except headers and empty lines."""

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
        f"the header has fields {layout.letters!r} separated by {layout.delimiter!r};"
        " an index needs lines that begin with urlkey, blank, timestamp"
    )


_PLAN_FORM = 3
"""Incremented when the format of unfinished work changes, as it can then not be continued."""


class ReadReport(ProblemReport, Protocol):
    """A report of read files, with the reasons why some could not be read to their end."""

    damaged: list[str]


@dataclass(slots=True)
class ClusterBuildReport:
    """Counts and problems of a build.

    `repeated` counts lines left out as exact duplicates; `problems_total` counts lines that an
    index cannot contain, `problems` has the first of them. `damaged` has the reasons why files
    could not be read to their end.
    """

    lines: int = 0
    blocks: int = 0
    shards: int = 0
    repeated: int = 0
    problems_total: int = 0
    problems: list[CdxError] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    @property
    def is_fruitless(self) -> bool:
        """Whether there was input, but no readable line."""
        return not (self.lines + self.repeated) and bool(self.problems_total or self.damaged)


def build_cluster(
    folder: Path,
    sources: Sequence[CdxSource],
    options: ClusterBuildOptions,
    resources: Resources,
    progress: ShowProgress = no_progress,
) -> ClusterBuildReport:
    """Write a cluster of all lines in CDX files to a folder without a cluster.

    A killed build is continued; a finished one returns its report again. The lines before the
    damage in damaged files are used; if no line is readable, nothing is written. Raises UsageError
    if a cluster already exists, SourceError if files cannot be opened or written.
    """
    plan = plan_of(sources, options, resources)
    if found := recover(folder) or finished_work(folder, plan):
        return record_from_json(ClusterBuildReport, found)
    if any(folder.glob("*.idx")):
        raise UsageError(f"{folder} already has a cluster; merge into it, or name another folder")
    report = ClusterBuildReport()
    with emptied_folder_removed(folder), work_folder(folder, plan) as work:
        with Workers(work, sources, resources, progress) as workers:
            runs = workers.sorted_runs(report)
            if runs or not report.is_fruitless:
                _write(workers, runs, work, options, report)
        if report.shards:
            _publish(folder, work, options, report)
            note_finished(folder, plan, record_json(report))
    return report


def sorted_lines(
    sources: Sequence[CdxSource],
    resources: Resources,
    report: ReadReport,
    progress: ShowProgress = no_progress,
) -> Iterator[LineBatch]:
    """Yield the distinct lines of files, sorted; faults are added to the report."""
    with (
        temporary_folder(resources.folder) as work,
        Workers(work, sources, resources, progress) as workers,
    ):
        runs = workers.sorted_runs(report)
        yield from Distinct(read_runs(work, runs, workers.memory_bytes))


def _write(
    workers: "Workers",
    runs: Sequence[SortedRun],
    work: Path,
    options: ClusterBuildOptions,
    report: ClusterBuildReport,
) -> None:
    """Write all shards of a cluster, and its split points."""
    points = options.splits
    if points is None:
        points = tuple(split_points(runs, options.shards))
    (work / SPLITS).write_bytes(format_splits(points))
    names = [data_name(number) for number in range(len(points) + 1)]
    workers.write_shards(runs, points, names, options.lines_a_block, report)


def _publish(
    folder: Path, work: Path, options: ClusterBuildOptions, report: ClusterBuildReport
) -> None:
    numbers = range(report.shards)
    publish(
        folder,
        work,
        [part_name(number) for number in numbers],
        {data_name(number): (data_name(number),) for number in numbers},
        summary=options.summary,
        report=record_json(report),
    )


def plan_of(
    sources: Sequence[CdxSource], options: ClusterBuildOptions, resources: Resources
) -> dict[str, Any]:
    """Return the parameters of a build, which must be equal to continue a killed one."""
    files = []
    for source in sources:
        path = Path(source.path)
        if source.path == STANDARD_INPUT or not path.is_file():
            files.append([source.path, -1, id(source)])  # it cannot be read again
        else:
            found = path.stat()
            files.append([str(path.resolve()), found.st_size, found.st_mtime_ns])
    return {
        "form": _PLAN_FORM,
        "files": files,
        "shards": options.shards,
        "lines": options.lines_a_block,
        "splits": [point.decode("latin-1") for point in options.splits or ()],
        "summary": options.summary,
        "memory": resources.memory_bytes,
        "workers": resources.workers,
    }


class Workers:
    """The worker processes for some sources; `memory_bytes` is the limit of each."""

    def __init__(
        self,
        work: Path,
        sources: Sequence[CdxSource],
        resources: Resources,
        progress: ShowProgress = no_progress,
    ) -> None:
        self._work = work
        self._inputs = ready_inputs(sources, work)
        self._progress = progress
        self._count = workers_for(expanded_bytes(self._inputs), resources)
        self.memory_bytes = resources.memory_bytes // self._count
        self.pool = Pool(self._count)

    def __enter__(self) -> Self:
        self.pool.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.pool.__exit__(*error)

    def sorted_runs(self, report: ReadReport) -> Sequence[SortedRun]:
        """Write the lines of all sources to sorted runs; faults are added to the report.

        The result has few enough runs to read them all at once.
        """
        tasks = plan_tasks(self._inputs, self._count)
        problems = Problems(report)
        runs: list[SortedRun] = []
        work = [(self._work, task, self.memory_bytes) for task in tasks]
        sizes = [task.size for task in tasks]
        made = self.pool.map_shown(make_runs, work, self._progress, "sorting", sizes)
        for task, found in zip(tasks, made, strict=True):
            problems.add(task.pieces, found.readings)
            report.damaged += [each.damage for each in found.readings if each.damage]
            runs += found.runs
        return joined_runs(self._work, runs, self.memory_bytes, self.pool, block_key, keep=True)

    def write_shards(
        self,
        runs: Sequence[SortedRun],
        points: Sequence[bytes],
        names: Sequence[str],
        lines_a_block: int,
        report: ClusterBuildReport,
    ) -> None:
        """Write the data files `names` from runs, split at `points`; add counts to the report."""
        shards = [
            _Shard(number, names[number], start, end)
            for number, (start, end) in enumerate(zip([b"", *points], [*points, None], strict=True))
        ]
        work = [(shard, self._work, runs, lines_a_block, self.memory_bytes) for shard in shards]
        written = self.pool.map_shown(write_shard, work, self._progress, "writing")
        for lines, blocks, repeated in written:
            report.shards += 1
            report.lines += lines
            report.blocks += blocks
            report.repeated += repeated


@dataclass(frozen=True, slots=True)
class _Shard:
    """A data file to be written, with the lines from `start` up to but excluding `end`."""

    number: int
    name: str
    start: bytes
    end: bytes | None


def write_shard(
    shard: _Shard, work: Path, runs: Sequence[SortedRun], lines_a_block: int, memory_bytes: int
) -> tuple[int, int, int]:
    """Write a shard; return the numbers of its lines, blocks, and repeated lines left out.

    The output of a completed earlier call is reused.
    """
    keep_memory()
    report = work / f"shard-{shard.number:05d}.json"

    def write() -> tuple[int, int, int]:
        distinct = Distinct(read_runs(work, runs, memory_bytes, shard.start, shard.end))
        with shard_writer(work, shard.name, part_name(shard.number), lines_a_block) as writer:
            for batch in distinct:
                writer.add(batch)
        return writer.lines, writer.blocks, distinct.repeated

    lines, blocks, repeated = done_once(report, write)
    return lines, blocks, repeated

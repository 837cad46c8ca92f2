"""Builds a cluster from CDX files in any order: sorted runs, split points, shards."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nwx.bulk.pool import Pool, keep_memory
from nwx.bulk.progress import StepProgress, no_progress
from nwx.bulk.sorted_merge import Distinct, merged_lines
from nwx.bulk.whole_files import whole_file
from nwx.cdx.files import STANDARD_INPUT
from nwx.cdx.raw_blocks import CdxSource
from nwx.dedup.input_plan import Resources, plan_tasks, ready_inputs, workers_for
from nwx.errors import CdxError, UsageError
from nwx.zipnum.publication import SPLITS, publish, recover, work_folder
from nwx.zipnum.shards import data_name, part_name, shard_writer
from nwx.zipnum.sorted_runs import PieceRead, Run, TaskDone, join_runs, make_runs, run_batches
from nwx.zipnum.split_points import format_splits, split_points

LINES_A_BLOCK = 3000
_RUN_SHARE, _BATCH_SHARE = 4, 8
"""What lines take in memory, as Python holds them, for each of their bytes; twice, for batches."""
_LEAST_BATCH_BYTES, _MOST_BATCH_BYTES = 1 << 16, 8 << 20
_MOST_RUNS = 256
_PROBLEMS_LISTED = 1000


@dataclass(frozen=True, slots=True)
class ClusterBuildOptions:
    """Into how many shards, at which split points if they are given, of how large blocks.

    With `summary` the index is also there as cluster.summary.
    """

    shards: int = 1
    lines_a_block: int = LINES_A_BLOCK
    splits: tuple[bytes, ...] | None = None
    summary: bool = False


@dataclass(slots=True)
class ClusterBuildReport:
    """What went into a cluster.

    `repeated` counts lines left out as they were there already, byte for
    byte; `problems_total` those that cannot stand in an index, the first of
    which are in `problems`. `damaged` says of files why they could not be
    read to their end.
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
        """Whether there was something to read, and no line of it could be."""
        return not (self.lines + self.repeated) and bool(self.problems_total or self.damaged)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        problems = [
            {"file": each.file, "line": each.line, "message": str(each)} for each in self.problems
        ]
        counts = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "problems"}
        return {**counts, "problems": problems}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """Return a report from JSON values."""
        problems = [
            CdxError(each["message"], each["file"], each["line"]) for each in found["problems"]
        ]
        return cls(**{**found, "problems": problems})

    def add_pieces(self, pieces: Sequence[PieceRead]) -> None:
        """Add what could not be read, with lines numbered from the start of each file."""
        before: dict[str, int] = {}
        for piece in sorted(pieces, key=lambda each: each.start):
            first = before.get(piece.file, 0)
            before[piece.file] = first + piece.lines
            self.problems_total += piece.problems_total
            if piece.damage:
                self.damaged.append(piece.damage)
            for line, message in piece.problems:
                if len(self.problems) < _PROBLEMS_LISTED:
                    self.problems.append(CdxError(message, piece.file, first + line))


def build_cluster(
    folder: Path,
    sources: Sequence[CdxSource],
    options: ClusterBuildOptions,
    resources: Resources,
    progress: StepProgress = no_progress,
) -> ClusterBuildReport:
    """Write a cluster of all lines of some files into a folder that has none.

    A build that was killed goes on where it was. Where files end in damage,
    the lines before it are taken, and where no line at all can be read,
    nothing is written. Raises UsageError where a cluster is there already,
    SourceError where files cannot be opened or written.
    """
    is_new = not folder.exists()
    if found := recover(folder):
        return ClusterBuildReport.from_json(found)
    if any(folder.glob("*.idx")):
        raise UsageError(f"{folder} has a cluster already; merge into it, or name another folder")
    report = ClusterBuildReport()
    with work_folder(folder, plan_of(sources, options, resources)) as work:
        with Workers(work, sources, resources, progress) as workers:
            runs = workers.sorted_runs(report)
            if runs or not report.is_fruitless:
                _write(workers, runs, work, options, report)
        if report.shards:
            _publish(folder, work, options, report)
    if is_new and not report.shards:
        folder.rmdir()
    return report


def _write(
    workers: "Workers",
    runs: Sequence[Run],
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
        report=report.as_json(),
    )


def plan_of(
    sources: Sequence[CdxSource], options: ClusterBuildOptions, resources: Resources
) -> dict[str, Any]:
    """Return what has to be the same for a build to go on where another was killed."""
    files = []
    for source in sources:
        path = Path(source.path)
        if source.path == STANDARD_INPUT or not path.is_file():
            files.append([source.path, -1, id(source)])  # it cannot be read again
        else:
            found = path.stat()
            files.append([str(path.resolve()), found.st_size, found.st_mtime_ns])
    return {
        "files": files,
        "shards": options.shards,
        "lines": options.lines_a_block,
        "splits": [point.decode("latin-1") for point in options.splits or ()],
        "summary": options.summary,
        "memory": resources.memory_bytes,
        "workers": resources.workers,
    }


class Workers:
    """The processes that share the work on some sources, and how much each may hold."""

    def __init__(
        self,
        work: Path,
        sources: Sequence[CdxSource],
        resources: Resources,
        progress: StepProgress = no_progress,
    ) -> None:
        self._work = work
        self._inputs = ready_inputs(sources, work)
        self._progress = progress
        self._count = workers_for(self._inputs, resources)
        self._memory = resources.memory_bytes // self._count
        self.pool = Pool(self._count)

    def __enter__(self) -> Self:
        self.pool.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.pool.__exit__(kind, error, trace)

    def sorted_runs(self, report: ClusterBuildReport) -> Sequence[Run]:
        """Return the lines of all sources as sorted runs; faults go to the report.

        They are so few that all can be read at once.
        """
        tasks = plan_tasks(self._inputs, frozenset(), self._count)
        total = sum(task.size for task in tasks)
        read = 0
        done: list[TaskDone] = []
        run_bytes = self._memory // _RUN_SHARE
        to_do = [(self._work, task.number, task.pieces, run_bytes) for task in tasks]
        for task, found in zip(tasks, self.pool.map(make_runs, to_do), strict=True):
            done.append(found)
            read += task.size
            self._progress("sorting", read, total)
        report.add_pieces([piece for each in done for piece in each.pieces])
        return self._few([run for each in done for run in each.runs])

    def _few(self, runs: Sequence[Run]) -> Sequence[Run]:
        while len(runs) > _MOST_RUNS:
            groups = [runs[at : at + _MOST_RUNS] for at in range(0, len(runs), _MOST_RUNS)]
            room = self.batch_bytes(_MOST_RUNS)
            to_do = [(self._work, group, room) for group in groups]
            runs = list(self.pool.map(join_runs, to_do))
        return runs

    def batch_bytes(self, sources: int) -> int:
        """Return how much a process reads at once of each of several sources that it merges."""
        room = self._memory // _BATCH_SHARE // max(1, sources)
        return min(_MOST_BATCH_BYTES, max(_LEAST_BATCH_BYTES, room))

    def write_shards(
        self,
        runs: Sequence[Run],
        points: Sequence[bytes],
        names: Sequence[str],
        lines_a_block: int,
        report: ClusterBuildReport,
    ) -> None:
        """Write the data files `names` from runs, cut at split points; counts go to the report."""
        room = self.batch_bytes(len(runs))
        shards = [
            (self._work, runs, number, names[number], start, end, lines_a_block, room)
            for number, (start, end) in enumerate(pairwise([b"", *points, None]))
        ]
        for lines, blocks, repeated in self.pool.map(write_shard, shards):
            report.shards += 1
            report.lines += lines
            report.blocks += blocks
            report.repeated += repeated
            self._progress("writing", report.shards, len(shards))


def write_shard(
    work: Path,
    runs: Sequence[Run],
    number: int,
    name: str,
    start: bytes,
    end: bytes | None,
    lines_a_block: int,
    room: int,
) -> tuple[int, int, int]:
    """Write a shard and return its lines, its blocks, and the lines left out as repeated.

    What an earlier call wrote is kept.
    """
    keep_memory()
    report = work / f"shard-{number:05d}.json"
    if report.exists():
        lines, blocks, repeated = json.loads(report.read_bytes())
        return lines, blocks, repeated
    distinct = Distinct(merged_lines(run_batches(work, run, start, end, room) for run in runs))
    with shard_writer(work, name, part_name(number), lines_a_block) as writer:
        for batch in distinct:
            writer.add(batch)
    counts = (writer.lines, writer.blocks, distinct.repeated)
    with whole_file(report) as stream:
        stream.write(json.dumps(counts).encode())
    return counts

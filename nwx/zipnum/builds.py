"""Builds a cluster from CDX files in any order: sorted runs, split points, shards."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from nwx.bulk.pool import Pool
from nwx.bulk.process_limits import keep_memory
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import Resources, temporary_folder, workers_for
from nwx.bulk.sorted_file import Distinct, LineBatch
from nwx.bulk.sorted_runs import SortedRun, joined_runs, read_runs, split_points
from nwx.bulk.whole_files import done_once
from nwx.cdx.inputs import (
    CdxSource,
    ProblemReport,
    Problems,
    expanded_bytes,
    plan_tasks,
    ready_inputs,
    record_from_json,
    record_json,
)
from nwx.cdx.zipnum_index import block_key
from nwx.errors import CdxError, UsageError
from nwx.model import STANDARD_INPUT
from nwx.zipnum import ClusterBuildOptions
from nwx.zipnum.input_runs import make_runs
from nwx.zipnum.publication import (
    SPLITS,
    finished_work,
    note_finished,
    publish,
    recover,
    work_folder,
)
from nwx.zipnum.shards import data_name, format_splits, part_name, shard_writer

_PLAN_FORM = 3
"""Raised when the files of unfinished work change, so that none of another version goes on."""


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
        """Whether there was something to read, and no line of it could be."""
        return not (self.lines + self.repeated) and bool(self.problems_total or self.damaged)


def build_cluster(
    folder: Path,
    sources: Sequence[CdxSource],
    options: ClusterBuildOptions,
    resources: Resources,
    progress: ShowProgress = no_progress,
) -> ClusterBuildReport:
    """Write a cluster of all lines of some files into a folder without one.

    A killed build continues; a finished one returns its report again. In damaged files the lines
    before the damage are used; if no line at all is readable, nothing is written. Raises UsageError
    if a cluster already exists, SourceError if files cannot be opened or written.
    """
    is_new = not folder.exists()
    plan = plan_of(sources, options, resources)
    if found := recover(folder) or finished_work(folder, plan):
        return record_from_json(ClusterBuildReport, found)
    if any(folder.glob("*.idx")):
        raise UsageError(f"{folder} has a cluster already; merge into it, or name another folder")
    report = ClusterBuildReport()
    with work_folder(folder, plan) as work:
        with Workers(work, sources, resources, progress) as workers:
            runs = workers.sorted_runs(report)
            if runs or not report.is_fruitless:
                _write(workers, runs, work, options, report)
        if report.shards:
            _publish(folder, work, options, report)
            note_finished(folder, plan, record_json(report))
    if is_new and not report.shards:
        folder.rmdir()
    return report


def sorted_lines(
    sources: Sequence[CdxSource],
    resources: Resources,
    report: ReadReport,
    progress: ShowProgress = no_progress,
) -> Iterator[LineBatch]:
    """Yield the different lines of files in any order, sorted; faults are added to the report."""
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
    """Return the parameters that must be equal for a build to continue a killed one."""
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
    """The processes that share the work on some sources, and how much each may hold."""

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
        """Return the lines of all sources as sorted runs; faults are added to the report.

        The runs are few enough to be read all at once.
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
        """Write the data files `names` from runs, cut at split points; counts go to the report."""
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
    """A data file to be written: of the lines from `start` up to but without `end`."""

    number: int
    name: str
    start: bytes
    end: bytes | None


def write_shard(
    shard: _Shard, work: Path, runs: Sequence[SortedRun], lines_a_block: int, memory_bytes: int
) -> tuple[int, int, int]:
    """Write a shard; return its lines, its blocks, and the repeated lines left out.

    Output of an earlier call is kept.
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

"""What all tasks of one run share."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nwx.bulk.pool import Pool, TaskResult
from nwx.bulk.progress import ShowProgress
from nwx.bulk.resources import PROCESS_BYTES, Resources
from nwx.bulk.whole_files import writing
from nwx.cdx.inputs import CdxInput, CdxSource, ReadTask, expanded_bytes, read_in_tasks
from nwx.cdx.lines import CdxLine, format_cdx
from nwx.dedup.capture_filter import CaptureFilter

_BYTES_A_LINE = 120
_BYTES_TO_SETTLE = 160
_LEAST_ROOM_BYTES = 16 << 20
_MOST_BITS = 12


@dataclass(frozen=True, slots=True)
class DedupPlan:
    """Which captures are looked at, and how: all tasks of a run have the same.

    `seed` is that of the numbers of keys, whose first `bits` bits tell the
    part that an entry belongs to. Tasks leave their files in `folder`.
    """

    selection: CaptureFilter
    seed: int
    bits: int
    folder: Path
    strict: bool = False
    summary: bool = False


def part_bits(inputs: Sequence[CdxInput], resources: Resources, workers: int) -> int:
    """Return by how many bits of the key entries are spread, so that a part fits in memory."""
    room = max(resources.memory_bytes // workers - PROCESS_BYTES // 2, _LEAST_ROOM_BYTES)
    parts = -(-expanded_bytes(inputs) // _BYTES_A_LINE * _BYTES_TO_SETTLE // room)
    return min(_MOST_BITS, max(2 * workers, parts).bit_length())


def read_by_plan(
    plan: DedupPlan,
    inputs: Sequence[CdxInput],
    workers: int,
    read: Callable[[DedupPlan, list[ReadTask]], TaskResult],
) -> TaskResult:
    """Return what `read` makes of all tasks; it may be called again, as in `read_in_tasks`."""
    return read_in_tasks(
        plan.folder,
        inputs,
        workers,
        lambda folder, tasks: read(replace(plan, folder=folder), tasks),
    )


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """Processes that share tasks, and where it is shown how far they are."""

    pool: Pool
    progress: ShowProgress

    def results(
        self,
        step: str,
        function: Callable[..., TaskResult],
        plan: DedupPlan,
        tasks: Sequence[ReadTask],
        *others: object,
    ) -> Iterator[tuple[ReadTask, TaskResult]]:
        """Yield each task with what `function(plan, task, *others)` returns, in order."""
        work = [(plan, task, *others) for task in tasks]
        sizes = [task.size for task in tasks]
        return zip(tasks, self.shown(step, function, work, sizes), strict=True)

    def shown(
        self,
        step: str,
        function: Callable[..., TaskResult],
        work: Sequence[tuple[object, ...]],
        sizes: Sequence[int] | None = None,
    ) -> Iterator[TaskResult]:
        """Yield what a function returns for each of some arguments, and show how much is done."""
        return self.pool.map_shown(function, work, self.progress, step, sizes)


def held_source(lines: Iterable[CdxLine], folder: Path) -> CdxSource:
    """Return a source of captures that are held already, told by an engine or anything else."""
    path = folder / "held.cdx"
    with writing(path), path.open("wb") as stream:
        for line in lines:
            stream.write(format_cdx(line).encode("utf-8", "surrogateescape") + b"\n")
    return CdxSource(str(path), held=True, name="the captures held")

"""The exclusion list that revisit records are by themselves."""

import shutil
from collections.abc import Sequence
from typing import BinaryIO

from nwx.bulk.pool import Pool
from nwx.bulk.progress import StepProgress, no_progress
from nwx.cdx.raw_blocks import CdxSource
from nwx.dedup.capture_filter import CaptureFilter, Revisits
from nwx.dedup.input_plan import Resources, ready_inputs, temporary_folder, tried, workers_for
from nwx.dedup.reports import DedupReport, Problems
from nwx.dedup.tasks import DedupPlan, ReadTask, WrittenLines, write

_COPY_BYTES = 1 << 20


def find_revisits(
    sources: Sequence[CdxSource],
    output: BinaryIO,
    *,
    resources: Resources | None = None,
    strict: bool = False,
    summary: bool = False,
    progress: StepProgress = no_progress,
) -> DedupReport:
    """Write a `date digest url` line for each revisit, in the order of the input.

    Nothing is written to `output` before all is read. Raises CdxError on
    the first broken line if `strict`, SourceError where something cannot
    be read or written.
    """
    resources = resources or Resources()
    with temporary_folder(resources.folder) as folder:
        inputs = ready_inputs(sources, folder)
        workers = workers_for(inputs, resources)
        plan = DedupPlan(CaptureFilter(revisits=Revisits.ONLY), 0, 1, folder, strict, summary)
        with Pool(workers) as pool:
            report, parts = tried(
                plan, inputs, workers, lambda plan, tasks: _read(plan, pool, tasks, progress)
            )
        for part in parts:
            with part.path.open("rb") as stream:
                shutil.copyfileobj(stream, output, _COPY_BYTES)
        return report


def _read(
    plan: DedupPlan, pool: Pool, tasks: list[ReadTask], progress: StepProgress
) -> tuple[DedupReport, list[WrittenLines]]:
    report = DedupReport()
    problems = Problems(report, strict=plan.strict)
    parts = []
    done, total = 0, sum(task.size for task in tasks)
    work = [(plan, task, None) for task in tasks]
    for task, written in zip(tasks, pool.map(write, work), strict=True):
        problems.add(task, written.readings)
        report.add(written.passed)
        report.duplicates += written.lines
        report.savings.add(written.savings)
        parts.append(written)
        done += task.size
        progress("reading", done, total)
    return report, parts

"""The exclusion list that revisit records are by themselves."""

import shutil
from collections.abc import Sequence
from typing import BinaryIO

from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import Resources, temporary_folder, workers_for
from nwx.cdx.inputs import CdxSource, ReadTask, expanded_bytes, ready_inputs
from nwx.cdx.problems import Problems
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.choices import Revisits
from nwx.dedup.plans import DedupPlan, TaskRunner, read_by_plan
from nwx.dedup.reports import DedupReport
from nwx.dedup.tasks import WrittenLines, write

_COPY_BYTES = 1 << 20


def find_revisits(
    sources: Sequence[CdxSource],
    output: BinaryIO,
    *,
    resources: Resources | None = None,
    strict: bool = False,
    summary: bool = False,
    progress: ShowProgress = no_progress,
) -> DedupReport:
    """Write a `date digest url` line for each revisit, in the order of the input.

    Nothing is written to `output` before all is read. Raises CdxError on
    the first broken line if `strict`, SourceError where something cannot
    be read or written.
    """
    resources = resources or Resources()
    with temporary_folder(resources.folder) as folder:
        inputs = ready_inputs(sources, folder)
        workers = workers_for(expanded_bytes(inputs), resources)
        plan = DedupPlan(CaptureFilter(revisits=Revisits.ONLY), 0, 1, folder, strict, summary)
        with Pool(workers) as pool:
            runner = TaskRunner(pool, progress)
            report, parts = read_by_plan(
                plan, inputs, workers, lambda plan, tasks: _read(plan, tasks, runner)
            )
        for part in parts:
            with part.path.open("rb") as stream:
                shutil.copyfileobj(stream, output, _COPY_BYTES)
        return report


def _read(
    plan: DedupPlan, tasks: list[ReadTask], runner: TaskRunner
) -> tuple[DedupReport, list[WrittenLines]]:
    report = DedupReport()
    problems = Problems(report, strict=plan.strict)
    parts = []
    for task, written in runner.results("reading", write, plan, tasks, None):
        problems.add(task.pieces, written.readings)
        report.add(written.passed)
        report.duplicates += written.lines
        report.savings.add(written.savings)
        parts.append(written)
    return report, parts

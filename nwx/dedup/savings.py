"""What deduplication would have saved, told from CDX files alone."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nwx.bulk.pool import Pool
from nwx.bulk.process_limits import keep_memory
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import Resources, temporary_folder, workers_for
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FileReading, Problems, ReadTask, expanded_bytes, ready_inputs
from nwx.dedup.capture_filter import CaptureFilter, Passed, keep_selected
from nwx.dedup.duplicates import find_duplicates
from nwx.dedup.key_hashes import Key, Revisits
from nwx.dedup.tasks import DedupPlan, DedupReport, Savings, TaskRunner, add_savings, read_by_plan

USUAL_REVISIT_BYTES = 500
"""What a compressed revisit record takes where the files do not tell."""


@dataclass(slots=True)
class SavingsReport:
    """What there is, and what would have been saved of it by each policy.

    `captures` are those that were looked at, revisits aside, by MIME type
    and host; `without_length` counts those whose record length is not
    known. `policies` holds a report of duplicates for each key.
    """

    captures: Savings = field(default_factory=Savings)
    without_length: int = 0
    revisits: int = 0
    revisits_bytes: int = 0
    reading: DedupReport = field(default_factory=DedupReport)
    policies: dict[Key, DedupReport] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many captures were looked at."""
        return self.captures.mime_duplicates.total()

    @property
    def revisit_bytes(self) -> int:
        """What a revisit record takes: the mean of those that there are, or what is usual."""
        if not (self.revisits and self.revisits_bytes):
            return USUAL_REVISIT_BYTES
        return round(self.revisits_bytes / self.revisits)

    def net_bytes(self, key: Key) -> int:
        """Return what a policy would have saved, the revisit records it needs taken off."""
        found = self.policies[key]
        return max(0, found.savings.bytes - found.duplicates * self.revisit_bytes)


def measure_savings(
    sources: Sequence[CdxSource],
    keys: Sequence[Key],
    selection: CaptureFilter,
    *,
    resources: Resources | None = None,
    strict: bool = False,
    progress: ShowProgress = no_progress,
) -> SavingsReport:
    """Return what each of some policies would have saved.

    `selection` says which captures are looked at. Revisits in the files
    have been saved already: they count apart. Raises CdxError on the first
    broken line if `strict`, SourceError where something cannot be read.
    """
    resources = resources or Resources()
    selection = replace(selection, revisits=Revisits.OUT)
    with temporary_folder(resources.folder) as folder:
        # Standard input can be read once only: from here on it is a file.
        inputs = ready_inputs(sources, folder)
        workers = workers_for(expanded_bytes(inputs), resources)
        with Pool(workers) as pool:
            runner = TaskRunner(pool, progress)
            report = read_by_plan(
                DedupPlan(selection, 0, 1, folder / "totals", strict),
                inputs,
                workers,
                lambda plan, tasks: _totals(plan, tasks, runner),
            )
        with Path(os.devnull).open("wb") as nowhere:
            for key in keys:
                report.policies[key] = find_duplicates(
                    [each.source for each in inputs],
                    nowhere,
                    replace(selection, key=key),
                    resources=resources,
                    summary=True,
                    progress=progress,
                )
    return report


@dataclass(slots=True)
class _Part:
    """What one task counted."""

    readings: list[FileReading] = field(default_factory=list)
    passed: Passed = field(default_factory=Passed)
    captures: Savings = field(default_factory=Savings)
    without_length: int = 0
    revisits: int = 0
    revisits_bytes: int = 0


def _totals(plan: DedupPlan, tasks: list[ReadTask], runner: TaskRunner) -> SavingsReport:
    report = SavingsReport()
    problems = Problems(report.reading, strict=plan.strict)
    for task, part in runner.results("counting", _count, plan, tasks):
        problems.add(task.pieces, part.readings)
        report.reading.add(part.passed)
        report.captures.add(part.captures)
        report.without_length += part.without_length
        report.revisits += part.revisits
        report.revisits_bytes += part.revisits_bytes
    return report


def _count(plan: DedupPlan, task: ReadTask) -> _Part:
    """Count the captures of a task that are looked at."""
    keep_memory()
    part = _Part()
    for piece in task.pieces:
        reading = FileReading(piece.source.shown)
        part.readings.append(reading)
        for block in blocks(piece, reading):
            columns = CdxColumns(block, reading)
            revisits = columns.is_revisit()
            part.revisits += int(revisits.sum())
            part.revisits_bytes += int(columns.sizes()[revisits].clip(0).sum())
            keep_selected(columns, plan.selection, part.passed)
            part.without_length += int((columns.sizes() < 0).sum())
            add_savings(part.captures, columns)
    return part

"""Duplicates among captures: the second and later of each key, from CDX files of any size.

A line names all captures of its URL, digest and second. So those that have
all three in common with the capture that is kept are not listed: whoever
leaves out what is listed would leave that one out too.

Nothing is sorted. An input that is in order already is read once, run of
lines by run of lines (`nwx.dedup.sorted_input`). Any other is read twice: first
each line becomes an entry of 32 bytes (the number of its key and its
date), spread by key over files on disk; what shares a key then lies in one
of them, and each is settled in memory. Then the lines are read again and
those found to be duplicates are written. Both ways give the same lines, in
the order of the input.
"""

import secrets
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nwx.bulk.pool import Pool
from nwx.bulk.progress import StepProgress, no_progress
from nwx.bulk.spill import Segment, writing
from nwx.cdx.lines import CdxLine
from nwx.cdx.raw_blocks import CdxSource, LongRunError
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.input_plan import (
    Resources,
    held_lines,
    part_bits,
    ready_inputs,
    temporary_folder,
    tried,
    workers_for,
)
from nwx.dedup.reports import DedupReport, Problems
from nwx.dedup.sorted_input import RunsFound, all_different, collect_runs, seem_in_order
from nwx.dedup.tasks import CollectedEntries, DedupPlan, Flags, ReadTask, collect, settle, write

_COPY_BYTES = 1 << 20


def find_duplicates(
    sources: Sequence[CdxSource],
    output: BinaryIO,
    selection: CaptureFilter,
    *,
    resources: Resources | None = None,
    held: Iterable[CdxLine] | None = None,
    strict: bool = False,
    summary: bool = False,
    progress: StepProgress = no_progress,
) -> DedupReport:
    """Write a `date digest url` line for each duplicate, in the order of the input.

    Captures of a source that is `held`, and the lines `held` (those of an
    engine), come before all others of their key. Nothing is written to
    `output` before all is known. Raises CdxError on the first broken line
    if `strict`, SourceError where something cannot be read or written.
    """
    resources = resources or Resources()
    with temporary_folder(resources.folder) as folder:
        inputs = ready_inputs(sources, folder)
        if held is not None:
            inputs += ready_inputs([held_lines(held, folder)], folder)
        workers = workers_for(inputs, resources)
        bits = part_bits(inputs, resources, workers)
        plan = DedupPlan(selection, secrets.randbits(64), bits, folder, strict, summary)
        with Pool(workers) as pool:
            run = _Run(pool, progress)
            if seem_in_order([each.source for each in inputs], selection.key):
                in_order = replace(plan, folder=folder / "in-order")
                try:
                    return tried(
                        in_order,
                        inputs,
                        workers,
                        lambda plan, tasks: run.in_order(output, plan, tasks),
                    )
                except (_NotInOrderError, LongRunError):
                    shutil.rmtree(in_order.folder, ignore_errors=True)
            return tried(
                plan, inputs, workers, lambda plan, tasks: run.in_any_order(output, plan, tasks)
            )


class _NotInOrderError(Exception):
    """Captures of one URL are apart."""


@dataclass(slots=True)
class _Run:
    pool: Pool
    progress: StepProgress
    report: DedupReport = field(default_factory=DedupReport)

    def in_order(self, output: BinaryIO, plan: DedupPlan, tasks: list[ReadTask]) -> DedupReport:
        self.report = DedupReport()
        found = self._read_runs(plan, tasks)
        work = [(segments,) for segments in _by_part(found).values()]
        for done, different in enumerate(self.pool.map(all_different, work), 1):
            if not different:
                raise _NotInOrderError
            self.progress("comparing", done, len(work))
        for each in found:
            _copy(each.path, output)
        return self.report

    def _read_runs(self, plan: DedupPlan, tasks: list[ReadTask]) -> list[RunsFound]:
        problems = Problems(self.report, strict=plan.strict)
        collected = []
        done, total = 0, sum(task.size for task in tasks)
        work = [(plan, task) for task in tasks]
        for task, found in zip(tasks, self.pool.map(collect_runs, work), strict=True):
            problems.add(task, found.readings)
            self.report.add(found.passed)
            self.report.savings.add(found.savings)
            self.report.keys += found.keys
            self.report.spared += found.spared
            self.report.duplicates += found.lines
            collected.append(found)
            done += task.size
            self.progress("reading", done, total)
        return collected

    def in_any_order(self, output: BinaryIO, plan: DedupPlan, tasks: list[ReadTask]) -> DedupReport:
        self.report = DedupReport()
        collected = self._collect(plan, tasks)
        flags = _flag(plan, tasks, collected)
        self._settle(plan, flags, collected)
        self._write(plan, [task for task in tasks if not task.held], flags, output)
        return self.report

    def _collect(self, plan: DedupPlan, tasks: list[ReadTask]) -> list[CollectedEntries]:
        problems = Problems(self.report, strict=plan.strict)
        collected = []
        done, total = 0, sum(task.size for task in tasks)
        work = [(plan, task) for task in tasks]
        for task, found in zip(tasks, self.pool.map(collect, work), strict=True):
            problems.add(task, found.readings)
            if not task.held:
                self.report.add(found.passed)
            collected.append(found)
            done += task.size
            self.progress("reading", done, total)
        return collected

    def _settle(self, plan: DedupPlan, flags: Flags, collected: list[CollectedEntries]) -> None:
        work = [(plan, flags, segments) for segments in _by_part(collected).values()]
        for done, (keys, spared) in enumerate(self.pool.map(settle, work), 1):
            self.report.keys += keys
            self.report.spared += spared
            self.progress("comparing", done, len(work))

    def _write(
        self, plan: DedupPlan, tasks: list[ReadTask], flags: Flags, output: BinaryIO
    ) -> None:
        done, total = 0, sum(task.size for task in tasks)
        work = [(plan, task, flags) for task in tasks]
        for task, written in zip(tasks, self.pool.map(write, work), strict=True):
            _copy(written.path, output)
            self.report.duplicates += written.lines
            self.report.savings.add(written.savings)
            done += task.size
            self.progress("writing", done, total)


def _by_part(collected: Sequence[CollectedEntries | RunsFound]) -> dict[int, list[Segment]]:
    parts: dict[int, list[Segment]] = {}
    for found in collected:
        for segment in found.segments:
            parts.setdefault(segment.part, []).append(segment)
    return parts


def _copy(path: Path, output: BinaryIO) -> None:
    with path.open("rb") as stream:
        shutil.copyfileobj(stream, output, _COPY_BYTES)
    path.unlink()


def _flag(plan: DedupPlan, tasks: list[ReadTask], collected: list[CollectedEntries]) -> Flags:
    """Make the file of flags, filled to its end here: a full disk can be told now, not later."""
    path = plan.folder / "flags"
    bases, size = [], 0
    with writing(path), path.open("wb") as stream:
        for task, found in zip(tasks, collected, strict=True):
            bases.append(-1 if task.held else size)
            if not task.held:
                packed = np.frombuffer(found.beaten, np.uint8)
                stream.write(np.unpackbits(packed, count=found.entries).tobytes())
                size += found.entries
    return Flags(path, tuple(bases), size)

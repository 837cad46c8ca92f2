"""Duplicates among captures, all but one per key, in CDX files of any size.

An output line names all captures with its URL, digest and timestamp. Captures that share all three
with the kept capture are therefore not listed: leaving out the listed captures would leave out the
kept one too.

Nothing is sorted. Sorted input is read once, by runs of lines (`nwx.dedup.sorted_input`). Other
input is read twice. The first pass writes an entry of 32 bytes per line (key number and date) to
files on disk, partitioned by key, so that all entries of a key are in one file; each file is
processed in memory. The second pass writes the lines found to be duplicates. Both methods write the
same lines, in input order.
"""

import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nwx.bulk.arrays import segments_by_part
from nwx.bulk.pool import Pool
from nwx.bulk.process_limits import keep_memory
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import Resources, temporary_folder, workers_for
from nwx.bulk.whole_files import writing
from nwx.cdx.blocks import LongRunError, blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FileReading, Problems, ReadTask, expanded_bytes, ready_inputs
from nwx.cdx.rows import CdxRow
from nwx.dedup.capture_filter import CaptureFilter, Passed, keep_selected
from nwx.dedup.digest_lists import HeldSavings, measure_held
from nwx.dedup.policies import Key, Revisits
from nwx.dedup.sorted_input import RunsFound, all_different, collect_runs, seem_in_order
from nwx.dedup.tasks import (
    CollectedEntries,
    DedupPlan,
    DedupReport,
    Flags,
    Savings,
    TaskRunner,
    WrittenLines,
    add_savings,
    collect,
    held_source,
    part_bits,
    read_by_plan,
    settle,
    write,
)
from nwx.errors import SourceError

_COPY_BYTES = 1 << 20


def find_duplicates(
    sources: Sequence[CdxSource],
    output: BinaryIO,
    selection: CaptureFilter,
    *,
    resources: Resources | None = None,
    held: Iterable[CdxRow] | None = None,
    strict: bool = False,
    summary: bool = False,
    progress: ShowProgress = no_progress,
) -> DedupReport:
    """Write a `date digest url` line for each duplicate, in input order.

    Captures of `held` sources, and of the lines `held` (from an engine), precede all others of
    their key. Nothing is written to `output` before all input is processed. Raises CdxError on the
    first broken line if `strict`, SourceError if something cannot be read or written, or if no line
    of the held sources can be read.
    """
    resources = resources or Resources()
    with temporary_folder(resources.folder) as folder:
        inputs = ready_inputs(sources, folder)
        if held is not None:
            inputs += ready_inputs([held_source(held, folder)], folder)
        workers = workers_for(expanded_bytes(inputs), resources)
        bits = part_bits(inputs, resources, workers)
        plan = DedupPlan(selection, secrets.randbits(64), bits, folder, strict, summary)
        with Pool(workers, preload=[__name__]) as pool:
            run = _Run(TaskRunner(pool, progress))
            if seem_in_order([each.source for each in inputs], selection.key):
                in_order = replace(plan, folder=folder / "in-order")
                try:
                    return read_by_plan(
                        in_order,
                        inputs,
                        workers,
                        lambda plan, tasks: run.in_order(output, plan, tasks),
                    )
                except (_NotInOrderError, LongRunError):
                    shutil.rmtree(in_order.folder, ignore_errors=True)
            return read_by_plan(
                plan, inputs, workers, lambda plan, tasks: run.in_any_order(output, plan, tasks)
            )


class _NotInOrderError(Exception):
    """Captures of one URL are not adjacent: the input is not sorted."""


@dataclass(slots=True)
class _Run:
    runner: TaskRunner
    report: DedupReport = field(default_factory=DedupReport)

    def in_order(self, output: BinaryIO, plan: DedupPlan, tasks: list[ReadTask]) -> DedupReport:
        self.report = DedupReport()
        found = self._read_runs(plan, tasks)
        parts = segments_by_part(segment for each in found for segment in each.segments)
        work = [(segments,) for segments in parts.values()]
        for different in self.runner.shown("comparing", all_different, work):
            if not different:
                raise _NotInOrderError
        for each in found:
            _copy(each.path, output)
        return self.report

    def _read_runs(self, plan: DedupPlan, tasks: list[ReadTask]) -> list[RunsFound]:
        problems = Problems(self.report, strict=plan.strict)
        collected = []
        for task, found in self.runner.results("reading", collect_runs, plan, tasks):
            problems.add(task.pieces, found.readings)
            self.report.add(found.passed)
            self.report.savings.add(found.savings)
            self.report.keys += found.keys
            self.report.spared += found.spared
            self.report.duplicates += found.lines
            collected.append(found)
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
        collected, held, broken = [], Passed(), []
        for task, found in self.runner.results("reading", collect, plan, tasks):
            problems.add(task.pieces, found.readings)
            (held if task.held else self.report).add(found.passed)
            if task.held:
                broken += [error for reading in found.readings for error in reading.problems]
            collected.append(found)
        if broken and not held.lines:
            raise SourceError(f"{broken[0].file}: no line can be read: {broken[0]}")
        return collected

    def _settle(self, plan: DedupPlan, flags: Flags, collected: list[CollectedEntries]) -> None:
        parts = segments_by_part(segment for each in collected for segment in each.segments)
        work = [(plan, flags, segments) for segments in parts.values()]
        for keys, spared in self.runner.shown("comparing", settle, work):
            self.report.keys += keys
            self.report.spared += spared

    def _write(
        self, plan: DedupPlan, tasks: list[ReadTask], flags: Flags, output: BinaryIO
    ) -> None:
        for _, written in self.runner.results("writing", write, plan, tasks, flags):
            _copy(written.path, output)
            self.report.duplicates += written.lines
            self.report.savings.add(written.savings)


def _copy(path: Path, output: BinaryIO) -> None:
    with path.open("rb") as stream:
        shutil.copyfileobj(stream, output, _COPY_BYTES)
    path.unlink()


def _flag(plan: DedupPlan, tasks: list[ReadTask], collected: list[CollectedEntries]) -> Flags:
    """Write the flags file at its full size, so that a full disk fails now and not later."""
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


def find_revisits(
    sources: Sequence[CdxSource],
    output: BinaryIO,
    *,
    resources: Resources | None = None,
    strict: bool = False,
    summary: bool = False,
    progress: ShowProgress = no_progress,
) -> DedupReport:
    """Write a `date digest url` line for each revisit, in input order.

    Nothing is written to `output` before all input is read. Raises CdxError on the first broken
    line if `strict`, SourceError if something cannot be read or written.
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


USUAL_REVISIT_BYTES = 500
"""The size of a compressed revisit record if the files have none to measure."""


@dataclass(slots=True)
class SavingsReport:
    """The captures in the input, and the savings of each policy.

    `captures` counts the selected captures, without revisits, by MIME type and host;
    `without_length` counts captures of unknown record length. `policies` has a report of duplicates
    for each key.
    """

    captures: Savings = field(default_factory=Savings)
    without_length: int = 0
    revisits: int = 0
    revisits_bytes: int = 0
    reading: DedupReport = field(default_factory=DedupReport)
    policies: dict[Key, DedupReport] = field(default_factory=dict)
    held: HeldSavings | None = None

    @property
    def count(self) -> int:
        """The number of selected captures."""
        return self.captures.mime_duplicates.total()

    @property
    def revisit_bytes(self) -> int:
        """The size of a revisit record: the mean of existing ones, else USUAL_REVISIT_BYTES."""
        if not (self.revisits and self.revisits_bytes):
            return USUAL_REVISIT_BYTES
        return round(self.revisits_bytes / self.revisits)

    def net_bytes(self, key: Key) -> int:
        """Return the bytes a policy would have saved, minus the revisit records it needs."""
        found = self.policies[key]
        return self.net_of(found.duplicates, found.savings.bytes)

    def net_of(self, captures: int, size: int) -> int:
        """Return the bytes of captures minus the revisit records that replace them."""
        return max(0, size - captures * self.revisit_bytes)


def measure_savings(
    sources: Sequence[CdxSource],
    keys: Sequence[Key],
    selection: CaptureFilter,
    *,
    held: str | None = None,
    resources: Resources | None = None,
    strict: bool = False,
    progress: ShowProgress = no_progress,
) -> SavingsReport:
    """Return the savings of several policies, and of payloads held elsewhere (`held`).

    `selection` chooses the captures. Revisits in the files are savings already made and are counted
    separately. Raises CdxError on the first broken line if `strict`, SourceError if something
    cannot be read.
    """
    resources = resources or Resources()
    selection = replace(selection, revisits=Revisits.OUT)
    with temporary_folder(resources.folder) as folder:
        # Standard input can be read only once: a copy is used from here on.
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
        if held is not None:
            report.held = measure_held([each.source for each in inputs], held, selection)
    return report


@dataclass(slots=True)
class _Part:
    """Counts of one task."""

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
    """Count the selected captures and the revisits of a task."""
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

"""The output folder of a job, with the job's plan and whether it is complete.

`_SUCCESS` exists once everything is written. Until then `_nwx-job.json` stores what the job was
asked for, and `_work` holds unfinished output. Hadoop and Spark skip names that begin with `_`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from nwx.bulk.progress import Note
from nwx.errors import JobError, UsageError
from nwx.jobs.folders import JobFolder, absolute_place
from nwx.model import ReadError

ERRORS_OF_A_JOB = 1000
"""So many errors a report of a job lists, and one of a piece; all are counted."""

UNREAD_KINDS = frozenset(("crash", "missing", "open", "read"))
"""The kinds of errors of what could not be read, for which an output is not whole."""


@dataclass(slots=True)
class PieceReport:
    """Result of one piece of work: counts by noun, errors, and values of the job.

    `note` is called now and then with the reader's position in bytes, to locate a crash.
    """

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[ReadError] = field(default_factory=list)
    errors_total: int = 0
    values: dict[str, Any] = field(default_factory=dict)
    note: Note = lambda done: None

    def add_errors(self, errors: Iterable[ReadError]) -> None:
        """Count errors; the first ones are listed."""
        for error in errors:
            self.errors_total += 1
            if len(self.errors) < ERRORS_OF_A_JOB:
                self.errors.append(error)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "counts": dict(self.counts),
            "errors": [asdict(each) for each in self.errors],
            "errors_total": self.errors_total,
            "values": self.values,
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "PieceReport":
        """Return a report from JSON values."""
        errors = [ReadError(**each) for each in found["errors"]]
        return cls(Counter(found["counts"]), errors, found["errors_total"], found["values"])


@dataclass(frozen=True, slots=True)
class ReportFolder:
    """The reports of pieces, by number, in a folder that executors and the driver reach."""

    folder: JobFolder

    def write(self, reports: Mapping[int, PieceReport]) -> None:
        """Store the reports of a task's pieces, replacing earlier ones of the same task."""
        content = {str(number): report.as_json() for number, report in reports.items()}
        self.folder.write(f"{min(reports):09d}.json", json.dumps(content).encode())

    def read(self) -> dict[int, PieceReport]:
        """Return all reports by number, in the order of their files."""
        names = [name for name in self.folder.names() if name.endswith(".json")]
        read = (json.loads(content) for content in self.folder.read_all(names))
        return {
            int(number): PieceReport.from_json(report)
            for reports in read
            for number, report in reports.items()
        }

    def read_whole(self, pieces: int) -> dict[int, PieceReport]:
        """Return the reports of all `pieces`.

        Raises JobError if one is missing.
        """
        found = self.read()
        if missing := set(range(pieces)) - found.keys():
            raise JobError(
                f"{len(missing)} of {pieces} reports are missing in {self.folder.place}; "
                "another job may write to the same folder"
            )
        return found


@dataclass(slots=True)
class JobReport:
    """Result of a job: counts by noun, and read errors.

    `is_whole` is true if everything asked for was read and written, damage inside files aside; the
    output then has `_SUCCESS`. `warnings` concern output that is complete but possibly unintended.
    """

    job: str
    counts: Counter[str] = field(default_factory=Counter)
    errors: list[ReadError] = field(default_factory=list)
    errors_total: int = 0
    is_whole: bool = True
    warnings: list[str] = field(default_factory=list)

    def add(self, piece: PieceReport) -> None:
        """Add what came of a piece of work; the job is not whole where it could not be read."""
        self.is_whole &= not any(error.kind in UNREAD_KINDS for error in piece.errors)
        self.counts += piece.counts
        self.errors_total += piece.errors_total
        self.errors += piece.errors[: max(0, ERRORS_OF_A_JOB - len(self.errors))]

    def add_errors(self, errors: Iterable[ReadError]) -> None:
        """Add errors that belong to no piece of work."""
        piece = PieceReport()
        piece.add_errors(errors)
        self.add(piece)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "job": self.job,
            "is_whole": self.is_whole,
            "counts": dict(self.counts),
            "warnings": self.warnings,
            "errors_total": self.errors_total,
            "errors": [asdict(each) for each in self.errors],
        }


SUCCESS = "_SUCCESS"
PLAN = "_nwx-job.json"
REPORT = "_report.json"
WORK_FOLDER = "_work"


class OutputMode(StrEnum):
    """What happens to output that is there already."""

    NEW = "new"  # refused
    RESUME = "resume"  # kept, and the rest is done
    OVERWRITE = "overwrite"  # deleted, if the same job made it


@dataclass(frozen=True, slots=True)
class JobOutput:
    """The folder of a job's output while the job runs."""

    folder: JobFolder
    work: JobFolder
    reports: ReportFolder

    def finish(self, report: JobReport) -> None:
        """Write the report, and mark the output as whole if it is."""
        self.folder.write(REPORT, json.dumps(report.as_json()).encode())
        if report.is_whole:
            self.work.delete()
            self.folder.write(SUCCESS, b"")


def open_output(
    place: str,
    job: str,
    plan: Mapping[str, Any],
    mode: OutputMode = OutputMode.NEW,
    *,
    can_resume: bool = False,
) -> JobOutput:
    """Return the output of a job at a path or an address, ready to be written.

    `plan` is what the job is asked for, in JSON values, without where it runs: only a job of the
    same plan is resumed. Messages offer `--resume` if the job `can_resume`. Raises UsageError if
    the mode does not allow the existing content of the folder.
    """
    place = absolute_place(place)
    folder = JobFolder(place)
    wanted = {"job": job, **plan}
    if not folder.is_empty():
        found = _plan_of(folder)
        if found is None:
            raise UsageError(f"{place} holds something that no job wrote; name a new folder")
        if found["job"] != job:
            # It may be what this job is to read.
            raise UsageError(
                f"{place} was made by the job {found['job']}, not {job}; name a new folder"
            )
        if mode is OutputMode.NEW:
            resume = "--resume goes on with it, " if can_resume else ""
            raise UsageError(f"{place} is there already; {resume}--overwrite replaces it")
        if mode is OutputMode.OVERWRITE:
            folder.delete()
        elif found != wanted:
            raise UsageError(f"{place} {_difference(found, wanted)}; --overwrite replaces it")
    folder.delete(SUCCESS)
    folder.write(PLAN, json.dumps(wanted).encode())
    return JobOutput(
        folder, folder.inner(WORK_FOLDER), ReportFolder(folder.inner(f"{WORK_FOLDER}/reports"))
    )


def _plan_of(folder: JobFolder) -> dict[str, Any] | None:
    """Return the plan of the job that made a folder, None if no job made it."""
    if not folder.exists(PLAN):
        return None
    try:
        plan = json.loads(folder.read(PLAN))
    except ValueError:
        return None
    return plan if isinstance(plan, dict) and "job" in plan else None


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    names = [name for name in wanted if found.get(name) != wanted[name]]
    return f"was made with another value of {', '.join(names)}"

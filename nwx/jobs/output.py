"""The output of a job: a folder that says whether it is whole, and of which job it is.

`_SUCCESS` is there when everything was written. Until then `_nwx-job.json`
says what the job was asked for, and `_work` holds what is not yet in its
place. Hadoop and Spark pass over names that begin with `_`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nwx.errors import UsageError
from nwx.jobs.folders import JobFolder
from nwx.jobs.reports import JobReport, ReportFolder

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

    `plan` is what the job is asked for, in JSON values, without where it
    runs: only a job of the same plan is resumed. Messages offer `--resume`
    where the job `can_resume`. Raises UsageError where the folder has
    something that the mode does not allow.
    """
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
    """Return what the job that made a folder was asked for, None where no job made it."""
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

"""The output folder of a job, with the job's plan and whether it is complete.

`_SUCCESS` exists once everything is written. `_nwx-job.json` has the plan of the job, and `_work`
unfinished output. Hadoop and Spark skip names that begin with `_`.
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, cast

from nwx.bulk.progress import Note, batches
from nwx.bulk.whole_files import is_address, unfinished_path, whole_file
from nwx.errors import JobError, SourceError, UsageError
from nwx.model import ReadError

_HADOOP_NAMES = {"s3a": "s3", "s3n": "s3", "wasbs": "abfs", "abfss": "abfs"}
_OBJECT_STORES = frozenset(("s3", "gs", "gcs", "abfs", "az", "oci", "oss"))
_READ_AT_ONCE = 500
_FAILURES = (OSError, ValueError, RuntimeError, ImportError)


def fsspec_address(address: str) -> str:
    """Return an address in fsspec's spelling: `s3://…` for Hadoop's `s3a://…`."""
    scheme, colon, rest = address.partition("://")
    return f"{_HADOOP_NAMES.get(scheme, scheme)}{colon}{rest}"


def absolute_place(place: str) -> str:
    """Return an absolute path without resolving links, or an address in fsspec's spelling."""
    return fsspec_address(place) if is_address(place) else os.path.abspath(place)  # noqa: PTH100


@dataclass(frozen=True, slots=True)
class JobFolder:
    """A folder at `place`, a path or an address; file names are relative, with `/`.

    Each method raises SourceError if the file system fails, JobError if a file cannot be written.
    """

    place: str

    def path(self, name: str = "") -> str:
        """Return the path or address of a file."""
        return f"{self.place.rstrip('/')}/{name}" if name else self.place

    def inner(self, name: str) -> "JobFolder":
        """Return a folder inside this one."""
        return JobFolder(self.path(name))

    def exists(self, name: str = "") -> bool:
        """Return whether a file or folder exists."""
        with self._failing("looked up", name):
            system, path = self._found(name)
            return bool(system.exists(path))

    def is_empty(self) -> bool:
        """Return whether the folder is empty or missing."""
        with self._failing("looked up", ""):
            system, path = self._found("")
            return not system.exists(path) or (system.isdir(path) and not system.ls(path, False))

    def names(self, inner: str = "") -> list[str]:
        """Return the sorted names of all files below an inner folder; none if it is missing."""
        with self._failing("listed", inner):
            system, root = self._found("")
            _, path = self._found(inner)
            start = len(root.rstrip("/")) + 1
            return sorted(each[start:] for each in system.find(path) if each != root)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with self._failing("read", name):
            system, path = self._found(name)
            return bytes(system.cat_file(path))

    def read_all(self, names: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of files in order, fetching many at a time."""
        for some in batches(names, _READ_AT_ONCE):
            with self._failing("read", ""):
                paths = [self._found(name)[1] for name in some]
                found = self._found("")[0].cat(paths)
                contents = [bytes(found[path]) for path in paths]
            yield from contents

    def write(self, name: str, content: bytes) -> None:
        """Write a file, replacing an existing one."""
        with self.new_file(name) as stream:
            stream.write(content)

    @contextmanager
    def new_file(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a stream that becomes a file at the end; no file is left after an error.

        A SourceError raised inside, by reading the source, is not changed to JobError.
        """
        raised: SourceError | None = None
        try:
            with self._unfinished(name) as stream:
                try:
                    yield stream
                except SourceError as error:
                    raised = error
                    raise
        except SourceError as error:
            if error is raised:
                raise
            raise JobError(str(error)) from error

    @contextmanager
    def _unfinished(self, name: str) -> Iterator[IO[bytes]]:
        if not is_address(self.place):
            with self._failing("written", name):
                path = Path(self.path(name))
                path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as stream:
                yield stream
            return
        with TemporaryFile() as spooled:
            yield spooled
            spooled.seek(0)
            with self._failing("written", name):
                self._upload(spooled, name)

    def delete(self, name: str = "") -> None:
        """Delete a file, or a folder recursively, if it exists."""
        with self._failing("deleted", name):
            system, path = self._found(name)
            if system.exists(path):
                system.rm(path, recursive=True)

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file, replacing an existing one."""
        with self._failing("renamed", name):
            system, path = self._found(name)
            if is_address(self.place):
                _replace(system, path, self._found(new_name)[1])
            else:
                target = Path(self.path(new_name))
                target.parent.mkdir(parents=True, exist_ok=True)
                Path(self.path(name)).replace(target)

    def _upload(self, spooled: IO[bytes], name: str) -> None:
        system, path = self._found(name)
        first = path if _is_object_store(system) else str(unfinished_path(Path(path)))
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
        with system.open(first, "wb") as stream:
            shutil.copyfileobj(spooled, stream, 1 << 20)
        if first != path:
            _replace(system, first, path)

    def _found(self, name: str) -> tuple[Any, str]:
        """Return the fsspec file system and the path of a file on it."""
        import fsspec

        place = fsspec_address(self.path(name))
        system, path = fsspec.core.url_to_fs(place)
        system.invalidate_cache()
        return system, cast(str, path)

    @contextmanager
    def _failing(self, what: str, name: str) -> Iterator[None]:
        """Convert failures of file systems to errors that name the file."""
        try:
            yield
        except _FAILURES as error:
            reason = getattr(error, "strerror", None) or error
            raise SourceError(f"{self.path(name)} cannot be {what}: {reason}") from error


def _replace(system: Any, path: str, target: str) -> None:
    """Rename a file, deleting an existing target first, as many file systems require."""
    if system.exists(target):
        system.rm(target)
    system.mv(path, target)


def _is_object_store(system: Any) -> bool:
    """Return whether files on a file system appear only when completely uploaded."""
    names = system.protocol if isinstance(system.protocol, tuple | list) else (system.protocol,)
    return not _OBJECT_STORES.isdisjoint(names)


ERRORS_OF_A_JOB = 1000
"""The most errors listed in the report of a job or a piece; all are counted."""

UNREAD_KINDS = frozenset(("crash", "missing", "open", "read"))
"""The kinds of errors on unreadable input, which make an output incomplete."""


@dataclass(slots=True)
class PieceReport:
    """Result of one piece of work: counts by noun, errors, and values of the job.

    `note` is called periodically with the reader's position in bytes, to locate a crash.
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
    """The reports of pieces, by number, in a folder accessible to executors and the driver."""

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

    `is_whole` is true if all input was read and all output written, damage inside files aside; the
    output then has `_SUCCESS`. `warnings` concern output that is complete but possibly unintended.
    """

    job: str
    counts: Counter[str] = field(default_factory=Counter)
    errors: list[ReadError] = field(default_factory=list)
    errors_total: int = 0
    is_whole: bool = True
    warnings: list[str] = field(default_factory=list)

    def add(self, piece: PieceReport) -> None:
        """Add the result of a piece of work; the job is incomplete if it could not be read."""
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
    """How existing output is treated."""

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
        """Write the report, and mark the output as complete if it is."""
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

    `plan` has the options of the job, as JSON values, except where it runs: only a job with the
    same plan is resumed. Messages offer `--resume` if the job `can_resume`. Raises UsageError if
    the mode does not allow the existing content of the folder.
    """
    place = absolute_place(place)
    folder = JobFolder(place)
    wanted = {"job": job, **plan}
    if not folder.is_empty():
        found = _plan_of(folder)
        if found is None:
            raise UsageError(f"{place} contains something that no job wrote; name a new folder")
        if found["job"] != job:
            # It may be the input of this job.
            raise UsageError(
                f"{place} was made by the job {found['job']}, not {job}; name a new folder"
            )
        if mode is OutputMode.NEW:
            resume = "--resume goes on with it, " if can_resume else ""
            raise UsageError(f"{place} already exists; {resume}--overwrite replaces it")
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

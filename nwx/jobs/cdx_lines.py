"""Lines of CDX files as jobs read them: those that can stand in an index, by piece."""

from collections.abc import Iterator, Mapping, Sequence

from nwx.bulk.addresses import is_address
from nwx.bulk.sorted_merge import LineBatch
from nwx.cdx.inputs import ReadTask
from nwx.cdx.problems import FileReading, Problems
from nwx.errors import CdxError, SourceError
from nwx.jobs.pieces import UnreachableError
from nwx.jobs.reports import JobReport, PieceReport
from nwx.model import ReadError
from nwx.zipnum.input_runs import TaskRuns, sound_lines

READINGS = "readings"


def task_lines(task: ReadTask, report: PieceReport) -> Iterator[LineBatch]:
    """Yield the lines of a task that can stand in an index; what cannot goes to the report.

    Raises UnreachableError where an address does not answer.
    """
    readings: list[FileReading] = []
    for piece in task.pieces:
        reading = FileReading(piece.source.shown)
        readings.append(reading)
        position = piece.start
        try:
            for lines, size in sound_lines(piece, reading):
                yield lines
                position += size
                report.note(position)
        except SourceError as error:
            if task_is_far(task):
                raise UnreachableError(str(error)) from error
            raise
    report.values[READINGS] = TaskRuns([], readings).as_json()[READINGS]


def task_name(task: ReadTask) -> str:
    """Return the files of a task, as messages call them."""
    return ", ".join(dict.fromkeys(piece.source.shown for piece in task.pieces))


def task_is_far(task: ReadTask) -> bool:
    """Tell whether a task reads over the network."""
    return any(is_address(piece.source.path) for piece in task.pieces)


class _Broken:
    """The broken lines of all tasks, as `Problems` collects them."""

    def __init__(self) -> None:
        self.problems: list[CdxError] = []
        self.problems_total = 0


def add_readings(
    report: JobReport, tasks: Sequence[ReadTask], pieces: Mapping[int, PieceReport]
) -> None:
    """Add to a report what could not be read of tasks: lines by number, and damaged files.

    `pieces` has the report of each task.
    """
    broken = _Broken()
    problems = Problems(broken)
    damaged: list[ReadError] = []
    for task in tasks:
        piece = pieces[task.number]
        report.add(piece)
        found = TaskRuns.from_json({"runs": [], READINGS: piece.values.get(READINGS, [])})
        problems.add(task.pieces, found.readings)
        damaged += [
            ReadError(each.file, None, "damage", each.damage)
            for each in found.readings
            if each.damage
        ]
    report.add_errors(damaged)
    listed = [
        ReadError(each.file or "", None, "line", f"line {each.line}: {each}")
        for each in broken.problems
    ]
    report.add_errors(listed)
    report.errors_total += broken.problems_total - len(listed)

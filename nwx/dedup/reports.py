"""What a run over CDX files says when it is over."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from nwx.cdx.blocks import FileReading
from nwx.dedup.capture_filter import Passed
from nwx.dedup.tasks import ReadTask, Savings
from nwx.errors import CdxError

PROBLEMS_LISTED = 1000


@dataclass(slots=True)
class DedupReport:
    """What was read and found.

    `lines` counts captures that could be read, `not_captures` lines of
    requests, metadata and the like beside them, `keys` the different keys
    among those looked at and those held, `duplicates` the lines written,
    `spared` the captures that are not listed because their line would name
    the one that is kept, being of the same URL, digest and second.
    `problems` lists the first broken lines, `problems_total` counts all.
    """

    lines: int = 0
    not_captures: int = 0
    without_digest: int = 0
    filtered: int = 0
    keys: int = 0
    duplicates: int = 0
    spared: int = 0
    problems_total: int = 0
    problems: list[CdxError] = field(default_factory=list)
    savings: Savings = field(default_factory=Savings)

    def add(self, passed: Passed) -> None:
        """Add the counts of a part."""
        self.lines += passed.lines
        self.not_captures += passed.not_captures
        self.without_digest += passed.without_digest
        self.filtered += passed.filtered


class LayoutChangedError(Exception):
    """A file has another layout further down, so that it cannot be read in pieces."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Problems:
    """The broken lines of all tasks, each by its number in its whole file."""

    def __init__(self, report: DedupReport, *, strict: bool) -> None:
        self._report = report
        self._strict = strict
        self._before = 0

    def add(self, task: ReadTask, readings: Iterable[FileReading]) -> None:
        """Add those of the next task.

        Raises the first problem if `strict`, LayoutChangedError where the
        rest of a file may have been misread.
        """
        for piece, reading in zip(task.pieces, readings, strict=False):
            if reading.layout_changed and (piece.start or piece.end):
                raise LayoutChangedError(piece.source.path)
            before = self._before if piece.start else 0
            self._before = before + reading.line
            room = PROBLEMS_LISTED - len(self._report.problems)
            for problem in sorted(reading.problems, key=lambda each: each.line or 0)[:room]:
                place = before + (problem.line or 0)
                self._report.problems.append(CdxError(str(problem), problem.file, place))
            self._report.problems_total += reading.problems_total
            if self._strict and self._report.problems:
                first = self._report.problems[0]
                raise CdxError(f"{first.file}:{first.line}: {first}", first.file, first.line)

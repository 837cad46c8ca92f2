"""Lines of CDX files that cannot be read, by file and line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from nwx.cdx.inputs import FilePiece, LayoutChangedError
from nwx.errors import CdxError

PROBLEMS_LISTED = 1000
"""So many problems a report lists; all are counted."""

_LISTED_OF_A_PIECE = 100


@dataclass(slots=True)
class FileReading:
    """What came up while the lines of a piece were read; `line` counts within the piece.

    `damage` says why it could not be read to its end, where it was read
    all the same.
    """

    file: str
    line: int = 0
    problems: list[CdxError] = field(default_factory=list)
    problems_total: int = 0
    layout_changed: bool = False
    damage: str = ""

    def add(self, error: CdxError) -> None:
        """Note a broken line; the first ones are kept."""
        self.problems_total += 1
        if len(self.problems) < _LISTED_OF_A_PIECE:
            self.problems.append(error)


class ProblemReport(Protocol):
    """A report that lists the first broken lines and counts all."""

    problems: list[CdxError]
    problems_total: int


class Problems:
    """The broken lines of all tasks, each by its number in its whole file, noted in a report."""

    def __init__(self, report: ProblemReport, *, strict: bool = False) -> None:
        self._report = report
        self._strict = strict
        self._before = 0

    def add(self, pieces: Sequence[FilePiece], readings: Iterable[FileReading]) -> None:
        """Add those of the pieces of the next task.

        Raises the first problem if `strict`, LayoutChangedError where the
        rest of a file may have been misread.
        """
        for piece, reading in zip(pieces, readings, strict=False):
            if reading.layout_changed and (piece.start or piece.end):
                raise LayoutChangedError(piece.source.path)
            before = self._before if piece.start else 0
            self._before = before + reading.line
            room = PROBLEMS_LISTED - len(self._report.problems)
            for problem in sorted(reading.problems, key=lambda each: each.line or 0)[:room]:
                line = before + (problem.line or 0)
                self._report.problems.append(CdxError(str(problem), problem.file, line))
            self._report.problems_total += reading.problems_total
            if self._strict and self._report.problems:
                first = self._report.problems[0]
                raise CdxError(f"{first.file}:{first.line}: {first}", first.file, first.line)


def problems_json(problems: Iterable[CdxError]) -> list[dict[str, Any]]:
    """Return broken lines as programs read them."""
    return [{"file": each.file, "line": each.line, "message": str(each)} for each in problems]

"""Broken lines are told by their number in their whole file."""

from dataclasses import dataclass, field

import pytest

from nwx.cdx.inputs import CdxSource, FilePiece, LayoutChangedError
from nwx.cdx.problems import PROBLEMS_LISTED, FileReading, Problems, problems_json
from nwx.errors import CdxError

SOURCE = CdxSource("a.cdx")


@dataclass
class Report:
    """What problems are noted in."""

    problems: list[CdxError] = field(default_factory=list)
    problems_total: int = 0


def reading(lines: int, *broken: int) -> FileReading:
    found = FileReading("a.cdx", lines)
    for line in broken:
        found.add(CdxError("broken", "a.cdx", line))
    return found


def test_lines_are_numbered_over_the_pieces_of_a_file() -> None:
    report = Report()
    problems = Problems(report)
    problems.add([FilePiece(SOURCE, 0, 100)], [reading(10, 7, 3)])
    problems.add(
        [FilePiece(SOURCE, 100, 200), FilePiece(CdxSource("b.cdx"))], [reading(5, 1), reading(9, 2)]
    )
    assert [problem.line for problem in report.problems] == [3, 7, 11, 2]
    assert report.problems_total == 4
    assert problems_json(report.problems)[0] == {"file": "a.cdx", "line": 3, "message": "broken"}


def test_the_first_are_listed_and_all_are_counted() -> None:
    report = Report()
    problems = Problems(report)
    for _ in range(20):
        problems.add([FilePiece(SOURCE)], [reading(300, *range(1, 301))])
    assert (len(report.problems), report.problems_total) == (PROBLEMS_LISTED, 6_000)


def test_strict_stops_at_the_first() -> None:
    with pytest.raises(CdxError, match=r"a\.cdx:3: broken"):
        Problems(Report(), strict=True).add([FilePiece(SOURCE)], [reading(10, 7, 3)])


def test_a_piece_whose_layout_changed_may_have_been_misread() -> None:
    changed = reading(10)
    changed.layout_changed = True
    Problems(Report()).add([FilePiece(SOURCE)], [changed])
    with pytest.raises(LayoutChangedError):
        Problems(Report()).add([FilePiece(SOURCE, 0, 100)], [changed])

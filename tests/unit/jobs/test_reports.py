"""Reports of pieces and of jobs."""

from pathlib import Path

import pytest

from nwx.errors import JobError
from nwx.jobs import reports
from nwx.jobs.folders import JobFolder
from nwx.jobs.reports import JobReport, PieceReport, ReportFolder
from nwx.model import ReadError


def _piece(kind: str, count: int = 1) -> PieceReport:
    piece = PieceReport()
    piece.counts["lines"] = 2
    piece.values["a"] = [1]
    piece.add_errors([ReadError("x.warc", 7, kind, "torn")] * count)
    return piece


def test_a_piece_that_is_done_twice_counts_once(tmp_path: Path) -> None:
    folder = ReportFolder(JobFolder(str(tmp_path)))
    assert folder.read() == {}
    for numbers in ((10, 11), (2,), (10, 11)):
        folder.write({number: _piece("gzip") for number in numbers})
    found = folder.read()
    assert list(found) == [2, 10, 11]
    del found[11]
    assert (found[2].counts, found[2].values) == ({"lines": 2}, {"a": [1]})
    job = JobReport("cdx")
    for piece in found.values():
        job.add(piece)
    assert (job.counts["lines"], job.errors_total, job.is_whole) == (4, 2, True)
    assert job.as_json()["errors"][0] == {
        "file": "x.warc",
        "offset": 7,
        "kind": "gzip",
        "message": "torn",
    }


def test_a_report_that_is_missing_is_noticed(tmp_path: Path) -> None:
    folder = ReportFolder(JobFolder(str(tmp_path)))
    folder.write({0: _piece("gzip"), 1: _piece("gzip")})
    assert list(folder.read_whole(2)) == [0, 1]
    with pytest.raises(JobError, match="1 of 3 reports are missing in"):
        folder.read_whole(3)


def test_what_was_not_read_is_not_whole_and_errors_are_listed_up_to_a_number() -> None:
    job = JobReport("cdx")
    job.add(_piece("crash", reports.ERRORS_OF_A_JOB + 5))
    job.add_errors([ReadError("y.warc", None, "missing", "gone")])
    assert not job.is_whole
    assert len(job.errors) == reports.ERRORS_OF_A_JOB
    assert job.errors_total == reports.ERRORS_OF_A_JOB + 6

"""Lines of CDX files, as tasks read them."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.cdx.inputs import CdxSource, FilePiece, ReadTask
from nwx.errors import SourceError
from nwx.jobs.cdx_lines import add_readings, task_is_far, task_lines, task_name
from nwx.jobs.pieces import UnreachableError
from nwx.jobs.reports import JobReport, PieceReport

LINE = b"com,a)/ 20200101000000 http://a.com/ text/html 200 X - - 1 2 a.warc\n"


def test_broken_lines_have_the_number_in_their_file(tmp_path: Path) -> None:
    path = tmp_path / "a.cdx"
    path.write_bytes(LINE * 3 + b"bad\n" + LINE * 2 + b"worse\n" + LINE)
    source, cut = CdxSource(str(path)), 3 * len(LINE) + 1
    tasks = [
        ReadTask(0, (FilePiece(source, 0, cut),), cut),
        ReadTask(1, (FilePiece(source, cut, path.stat().st_size),), 1),
    ]
    reports = {task.number: PieceReport() for task in tasks}
    lines = [
        line for task in tasks for batch in task_lines(task, reports[task.number]) for line in batch
    ]
    assert lines == [LINE.strip()] * 6
    job = JobReport("zipnum")
    add_readings(job, tasks, reports)
    assert [error.message.partition(":")[0] for error in job.errors] == ["line 4", "line 7"]
    assert (job.errors_total, job.is_whole) == (2, True)
    assert task_name(tasks[0]) == str(path)


def test_a_torn_file_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "a.cdx.gz"
    path.write_bytes(gzip.compress(LINE) + gzip.compress(LINE)[:-9])
    task = ReadTask(0, (FilePiece(CdxSource(str(path))),), 1)
    report, job = PieceReport(), JobReport("zipnum")
    assert [line for batch in task_lines(task, report) for line in batch][:1] == [LINE.strip()]
    add_readings(job, [task], {0: report})
    assert [(error.file, error.kind) for error in job.errors] == [(str(path), "damage")]
    assert job.is_whole


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    task = ReadTask(0, (FilePiece(CdxSource(str(tmp_path / "none"))),), 1)
    with pytest.raises(SourceError, match="none cannot be opened"):
        list(task_lines(task, PieceReport()))
    far = replace(task, pieces=(FilePiece(CdxSource("memory://none/x.cdx")),))
    assert task_is_far(far) and not task_is_far(task)
    with pytest.raises(UnreachableError, match=r"none/x\.cdx cannot be opened"):
        list(task_lines(far, PieceReport()))

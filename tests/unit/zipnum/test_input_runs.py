"""Inputs become runs of lines that can stand in an index."""

from pathlib import Path

import pytest

from nwx.bulk.sorted_runs import read_runs
from nwx.cdx.inputs import CdxSource, FilePiece, ReadTask, record_from_json, record_json
from nwx.zipnum.input_runs import TaskRuns, make_runs
from tests.unit.zipnum.making import cdxj_lines

LINES = cdxj_lines(500)


def task_of(path: Path, lines: list[bytes]) -> ReadTask:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return ReadTask(3, (FilePiece(CdxSource(str(path))),), path.stat().st_size)


@pytest.mark.parametrize("memory", [20_000, 1 << 20])
def test_runs_hold_all_captures_in_order(tmp_path: Path, memory: int) -> None:
    task = task_of(tmp_path / "a.cdxj", [b"!header", *LINES[::-1], b"", b"no capture"])
    found = make_runs(tmp_path, task, memory)
    lines = [line for batch in read_runs(tmp_path, found.runs, memory) for line in batch]
    assert lines == LINES
    (reading,) = found.readings
    assert [problem.line for problem in reading.problems] == [503]
    assert all(mark.start.count(b" ") == 1 for run in found.runs for mark in run.marks)


def test_a_task_that_is_done_is_not_done_again(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a.cdxj", [*LINES, b"no capture"])
    first = make_runs(tmp_path, task, 1 << 20)
    (tmp_path / "a.cdxj").unlink()
    again = make_runs(tmp_path, task, 1 << 20)
    assert again.runs == first.runs
    noted = record_json(first)
    assert record_json(again) == noted == record_json(record_from_json(TaskRuns, noted))

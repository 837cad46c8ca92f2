"""Sources are prepared to be read twice, and split into tasks."""

import gzip
import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import pytest

from nwx.cdx import inputs
from nwx.cdx.inputs import (
    PROBLEMS_LISTED,
    CdxSource,
    FilePiece,
    FileReading,
    LayoutChangedError,
    Problems,
    ReadTask,
    expanded_bytes,
    plan_tasks,
    read_in_tasks,
    ready_inputs,
    record_json,
)
from nwx.errors import CdxError, SourceError


def source(path: Path, size: int, *, held: bool = False) -> CdxSource:
    path.write_bytes(b"x" * size)
    return CdxSource(str(path), held=held)


def test_a_file_is_read_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x" * 100, mtime=0))
    plain, zipped = ready_inputs(
        [source(tmp_path / "a", 100), CdxSource(str(tmp_path / "a.gz"))], tmp_path
    )
    assert (plain.source.path, plain.size, plain.compressed) == (str(tmp_path / "a"), 100, False)
    assert zipped.compressed
    assert expanded_bytes([plain, zipped]) == 100 + 8 * zipped.size


def test_a_pipe_is_copied_and_keeps_its_name(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(b"a line\n",))
    writer.start()
    (found,) = ready_inputs([CdxSource(str(pipe))], tmp_path)
    writer.join()
    assert Path(found.source.path).read_bytes() == b"a line\n"
    assert found.source.shown == str(pipe)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be opened"):
        ready_inputs([CdxSource(str(tmp_path / "none"))], tmp_path)


def test_tasks_cover_all_bytes_once_and_never_mix_held_captures_with_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", 100)
    monkeypatch.setattr(inputs, "_TASK_BYTES", 100)
    given = [
        source(tmp_path / "a", 250),
        source(tmp_path / "b", 20),
        source(tmp_path / "c", 20, held=True),
    ]
    ready = ready_inputs(given, tmp_path)
    tasks = plan_tasks(ready, 1)
    assert [task.number for task in tasks] == list(range(len(tasks)))
    assert [task.held for task in tasks] == [False, False, False, True]
    assert sum(task.size for task in tasks) == 290
    assert [(piece.start, piece.end) for task in tasks[:3] for piece in task.pieces] == [
        (0, 100),
        (100, 200),
        (200, 250),
        (0, None),
    ]
    whole = plan_tasks(ready, 1, frozenset([given[0].path]))
    assert whole[0].pieces == (FilePiece(given[0]),)
    assert plan_tasks([], 1) == []


def test_a_file_whose_layout_changes_is_read_again_in_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", 100)
    monkeypatch.setattr(inputs, "_TASK_BYTES", 100)
    given = source(tmp_path / "a", 250)
    folders = []

    def read(folder: Path, tasks: list[ReadTask]) -> int:
        folders.append(folder)
        assert folder.is_dir()
        if len(tasks) > 1:
            raise LayoutChangedError(given.path)
        return len(tasks)

    assert read_in_tasks(tmp_path / "work", ready_inputs([given], tmp_path), 1, read) == 1
    assert len(set(folders)) == 2


SOURCE = CdxSource("a.cdx")


@dataclass
class Report:
    """Records problems."""

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
    assert record_json(report.problems)[0] == {"file": "a.cdx", "line": 3, "message": "broken"}


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

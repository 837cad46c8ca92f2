"""The three steps of finding duplicates, one task at a time."""

from pathlib import Path

import pytest

from nwx.bulk.arrays import segments_by_part
from nwx.bulk.pool import Pool
from nwx.bulk.progress import WorkProgress
from nwx.bulk.resources import Resources
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxInput, CdxSource, FilePiece, FileReading, ReadTask, ready_inputs
from nwx.cdx.rows import CdxRow
from nwx.dedup.capture_filter import CaptureFilter, Passed
from nwx.dedup.tasks import (
    DedupPlan,
    DedupReport,
    Flags,
    Savings,
    TaskRunner,
    collect,
    held_source,
    list_lines,
    part_bits,
    read_by_plan,
    settle,
    write,
)

LINES = (
    "k 2014 http://a/ text/html 200 AAAA - - 50 7 f\n"
    "l 2015 http://b/ image/png 200 AAAA - - 70 7 f\n"
    "k 2016 http://a/ text/html 200 AAAA - - 30 7 f\n"
)


def test_entries_are_collected_settled_and_written(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_text(LINES)
    plan = DedupPlan(CaptureFilter(), 1, 1, tmp_path, summary=True)
    task = ReadTask(0, (FilePiece(CdxSource(str(tmp_path / "a.cdx"))),), len(LINES))
    found = collect(plan, task)
    assert (found.entries, found.passed.lines) == (3, 3)
    # Entries beaten by a neighbour are dropped at once.
    assert found.beaten == bytes([0b00100000])
    (tmp_path / "flags").write_bytes(b"\0\0\1")
    flags = Flags(tmp_path / "flags", (0,), 3)
    parts = segments_by_part(found.segments).values()
    assert sum(settle(plan, flags, segments)[0] for segments in parts) == 2
    written = write(plan, task, flags)
    assert written.path.read_bytes() == b"2016 AAAA http://a/\n"
    assert (written.lines, written.savings.bytes) == (1, 30)


def test_without_flags_all_lines_are_written(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_text(LINES)
    task = ReadTask(4, (FilePiece(CdxSource(str(tmp_path / "a.cdx"))),), len(LINES))
    written = write(DedupPlan(CaptureFilter(), 1, 1, tmp_path), task, None)
    assert written.lines == 3
    assert written.path.name == "lines-4"


def test_savings_of_parts_are_added_up() -> None:
    total, part = Savings(), Savings(5)
    part.mime_duplicates["a/b"] = 2
    total.add(part)
    total.add(part)
    assert (total.bytes, total.mime_duplicates["a/b"]) == (10, 4)


@pytest.mark.parametrize(("count", "longest"), [(1, 5), (3, 400), (40, 5), (40, 400)])
def test_each_line_has_date_digest_and_url_as_written(
    tmp_path: Path, count: int, longest: int
) -> None:
    fields = [
        (f"http://a/{'x' * (number * 13 % longest)}", f"2014{number % 12 + 1:02}", f"D{number}")
        for number in range(count)
    ]
    path = tmp_path / "a.cdx"
    path.write_text("".join(f"k {date} {url} a/b 200 {digest} 5\n" for url, date, digest in fields))
    reading = FileReading("a")
    (block,) = blocks(FilePiece(CdxSource(str(path))), reading)
    expected = "".join(f"{date} {digest} {url}\n" for url, date, digest in fields)
    assert list_lines(CdxColumns(block, reading)) == expected.encode()


GIGABYTE = 1 << 30


def plan_in(folder: Path) -> DedupPlan:
    return DedupPlan(CaptureFilter(), 1, 3, folder)


def test_there_are_more_parts_where_memory_is_small() -> None:
    inputs = [CdxInput(CdxSource("a"), GIGABYTE, compressed=False)]
    bits = [part_bits(inputs, Resources(memory), 1) for memory in (GIGABYTE, 256 << 20, 64 << 20)]
    assert bits == sorted(bits)
    assert bits[0] < bits[-1] <= 12
    assert part_bits([], Resources(), 2) == 3


def test_each_task_comes_with_its_result_and_is_shown() -> None:
    tasks = [ReadTask(number, (FilePiece(CdxSource("a")),), 10) for number in range(3)]
    shown: list[WorkProgress] = []
    with Pool(1) as pool:
        runner = TaskRunner(pool, shown.append)
        results = runner.results("reading", _number, plan_in(Path()), tasks, "more")
        assert list(results) == [(task, (task.number, "more")) for task in tasks]
    assert shown[-1] == WorkProgress("reading", 30, 30)


def _number(plan: DedupPlan, task: ReadTask, more: str) -> tuple[int, str]:
    return task.number, more


def test_tasks_have_a_folder_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_text("k 2014 http://a/ a/b 200 AAAA 5\n")
    inputs = ready_inputs([CdxSource(str(tmp_path / "a.cdx"))], tmp_path)
    folder, count = read_by_plan(
        plan_in(tmp_path / "work"), inputs, 1, lambda plan, tasks: (plan.folder, len(tasks))
    )
    assert (folder.parent, count) == (tmp_path / "work", 1)


def test_captures_that_are_held_become_a_source(tmp_path: Path) -> None:
    source = held_source([CdxRow("k", "2014", "http://a/", digest="AAAA")], tmp_path)
    assert source.held
    assert Path(source.path).read_text() == "k 2014 http://a/ - - AAAA - - - - -\n"


def test_the_counts_of_parts_are_added_up() -> None:
    report = DedupReport()
    for _ in range(2):
        report.add(Passed(lines=10, not_captures=1, without_digest=2, filtered=3))
    counts = (report.lines, report.not_captures, report.without_digest, report.filtered)
    assert counts == (20, 2, 4, 6)
    assert (report.keys, report.duplicates, report.problems) == (0, 0, [])

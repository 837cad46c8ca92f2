"""Runs over CDX files: parts that fit in memory, tasks with their results."""

from pathlib import Path

from nwx.bulk.pool import Pool
from nwx.bulk.progress import WorkProgress
from nwx.bulk.resources import Resources
from nwx.cdx.inputs import CdxInput, CdxSource, FilePiece, ReadTask, ready_inputs
from nwx.cdx.lines import CdxLine
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.plans import DedupPlan, TaskRunner, held_source, part_bits, read_by_plan

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
    source = held_source([CdxLine("k", "2014", "http://a/", digest="AAAA")], tmp_path)
    assert source.held
    assert Path(source.path).read_text() == "k 2014 http://a/ - - AAAA - - - - -\n"

"""What executors find of duplicates, without Spark, is what one machine finds."""

import io
import json
import random
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

from nwx.cdx import inputs
from nwx.cdx.inputs import CdxSource, plan_tasks, ready_inputs, record_from_json, record_json
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.duplicates import find_duplicates
from nwx.dedup.policies import Keep, Key, Revisits
from nwx.dedup.tasks import DedupPlan, Savings
from nwx.jobs import best_captures
from nwx.jobs.best_captures import (
    ANSWER_SCHEMA,
    BEST_SCHEMA,
    COUNTED,
    TaskFound,
    answers_by_run,
    bests_of_task,
    compared_bests,
    duplicates_of_task,
)

HOT = "http://hot.example.org/"


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", 2000)


def _line(chance: random.Random) -> str:
    url = chance.choice([HOT, HOT, HOT, "http://example.org/?a=1", "https://www.example.org/?a=1"])
    mime = chance.choice(["text/html", "image/png", "warc/revisit"])
    digest = chance.choice(["A" * 32, "sha1:" + "A" * 32, "B" * 32, "-"])
    size = chance.choice(["-", "100", "200"])
    second = chance.randrange(4)
    return f"org,example)/ 2015010100000{second} {url} {mime} 200 {digest} - - {size} 5 f.warc.gz\n"


def _cdx(folder: Path, name: str, lines: int, seed: int) -> str:
    chance = random.Random(seed)
    path = folder / name
    path.write_text("".join(_line(chance) for _ in range(lines)))
    return str(path)


def _plan(selection: CaptureFilter, folder: Path) -> DedupPlan:
    return DedupPlan(selection, 7, 1, folder, summary=True)


def _where(rows: pa.Table, wanted: list[bool]) -> pa.Table:
    return rows.filter(pa.array(wanted, pa.bool_()))


def _distributed(
    sources: list[CdxSource], plan: DedupPlan, partitions: int = 3
) -> tuple[bytes, TaskFound, int]:
    """Do what Spark does: rows to partitions by key, answers to tasks."""
    tasks = plan_tasks(ready_inputs(sources, plan.folder), 1)
    rows = pa.concat_tables(
        pa.Table.from_batches(bests_of_task(plan, task, TaskFound()), BEST_SCHEMA) for task in tasks
    )
    answers = ANSWER_SCHEMA.empty_table()
    for part in range(partitions):
        mine = _where(rows, [key % partitions == part for key in rows["key"].to_pylist()])
        batches = list(compared_bests(mine.to_batches(max_chunksize=5)))
        answers = pa.concat_tables([answers, pa.Table.from_batches(batches, ANSWER_SCHEMA)])
    of_task = answers["task"].to_pylist()
    found, output = TaskFound(), b""
    ordered = answers.sort_by([("task", "ascending"), ("run", "ascending")])
    runs = list(answers_by_run(ordered.to_batches(max_chunksize=3)))
    for task in tasks:
        mine = [(run, rows) for number, run, rows in runs if number == task.number]
        output += b"".join(duplicates_of_task(plan, task, mine, found))
    counted = _where(answers, [number == COUNTED for number in of_task])
    return output, found, sum(counted["key"].to_pylist())


@pytest.mark.parametrize(("key", "keep"), [*product(Key, Keep)])
@pytest.mark.parametrize(("task_bytes", "run"), [(2000, 1 << 20), (1 << 20, 7)])
def test_the_list_is_that_of_one_machine(
    tmp_path: Path, key: Key, keep: Keep, task_bytes: int, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a file is many tasks, or many files are one of many runs."""
    monkeypatch.setattr(best_captures, "_RUN_CAPTURES", run)
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", task_bytes)
    selection = CaptureFilter(key=key, keep=keep, revisits=Revisits.OUT)
    sources = [CdxSource(_cdx(tmp_path, f"{n}.cdx", 60, n)) for n in range(3)]
    for held in (False, True):
        if held:
            sources.append(CdxSource(_cdx(tmp_path, "held.cdx", 4, 9), held=True))
            sources.append(CdxSource(_cdx(tmp_path, "held2.cdx", 4, 10), held=True))
        wanted = io.BytesIO()
        report = find_duplicates(sources, wanted, selection, summary=True)
        output, found, keys = _distributed(sources, _plan(selection, tmp_path))
        assert output == wanted.getvalue()
        assert output
        assert (found.lines, found.spared, keys) == (report.duplicates, report.spared, report.keys)
        assert found.savings == report.savings


def test_a_url_of_very_many_captures_is_one_row_a_task(tmp_path: Path) -> None:
    dates = [f"20150101{n // 3600:02}{n // 60 % 60:02}{n % 60:02}" for n in range(9000)]
    lines = [f"org,hot)/ {date} {HOT} text/html 200 {'A' * 32} - - 1 5 f\n" for date in dates]
    (tmp_path / "hot.cdx").write_text("".join(lines))
    plan = _plan(CaptureFilter(), tmp_path)
    tasks = plan_tasks(ready_inputs([CdxSource(str(tmp_path / "hot.cdx"))], tmp_path), 1)
    assert len(tasks) > 3
    batches = [list(bests_of_task(plan, task, TaskFound())) for task in tasks]
    assert [sum(map(len, found)) for found in batches] == [1] * len(tasks)
    counts = [found[0].column("captures")[0].as_py() for found in batches]
    assert sum(counts) == 9000


def test_no_more_than_a_run_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_captures, "_RUN_CAPTURES", 10)
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", 1 << 20)
    source = CdxSource(_cdx(tmp_path, "a.cdx", 95, 1))
    plan = _plan(CaptureFilter(), tmp_path)
    (task,) = plan_tasks(ready_inputs([source], tmp_path), 1)
    found = [sum(rows["captures"].to_pylist()) for rows in bests_of_task(plan, task, TaskFound())]
    assert max(found) == 10
    assert len(found) >= 5


def test_keys_that_share_their_first_half_are_told_apart() -> None:
    rows = [(5, 1, 0, 3, 0, 3), (5, 2, 1, 3, 0, 3), (5, 2, 1 << 40, 4, 0, 4), (5, 1, 7, 2, 0, 2)]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    batch = pa.RecordBatch.from_arrays([*columns, pa.array([1] * 4)], schema=BEST_SCHEMA)
    answers = pa.Table.from_batches(compared_bests([batch]), ANSWER_SCHEMA)
    told = Counter(map(tuple, (row.values() for row in answers.to_pylist())))
    assert told == Counter([(0, 0, 5, 1, 7, 2), (1, 0, 5, 2, 1, 3), (COUNTED, 0, 2, 0, 0, 0)])


def test_what_cannot_be_read_is_noted_by_piece(tmp_path: Path) -> None:
    (tmp_path / "bad.cdx").write_text("nonsense\n" + _line(random.Random(1)) + "more nonsense\n")
    plan = replace(_plan(CaptureFilter(), tmp_path), summary=False)
    (task,) = plan_tasks(ready_inputs([CdxSource(str(tmp_path / "bad.cdx"))], tmp_path), 1)
    found = TaskFound()
    assert sum(map(len, bests_of_task(plan, task, found))) == 1
    found = record_from_json(TaskFound, json.loads(json.dumps(record_json(found))))
    assert [each.line for each in found.readings[0].problems] == [1, 3]
    assert found.readings[0].problems[0].file == str(tmp_path / "bad.cdx")
    assert (found.passed.lines, found.savings) == (1, Savings())


def test_savings_travel_as_json() -> None:
    savings = Savings(5, Counter(a=2), Counter(a=5), Counter(h=2), Counter(h=5))
    found = TaskFound(lines=2, savings=savings)
    assert record_from_json(TaskFound, json.loads(json.dumps(record_json(found)))) == found

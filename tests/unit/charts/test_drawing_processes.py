"""Processes that draw: kept while they are of use, replaced when they end."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from nwx.charts import drawing_processes
from nwx.charts.drawing_processes import (
    DrawingProcess,
    DrawingProcesses,
    TaskRefusedError,
    TaskTimeoutError,
)

SECONDS = 60.0


def task(text: str = "a") -> dict[str, Any]:
    """Return the task of drawing a text."""
    marks = [{"type": "text", "encode": {"enter": {"text": {"value": text}}}}]
    return {"task": "svg", "spec": {"marks": marks}, "config": {"background": "white"}}


@pytest.fixture
def processes() -> Iterator[DrawingProcesses]:
    with closing(DrawingProcesses()) as made:
        yield made


def kept(processes: DrawingProcesses) -> DrawingProcess:
    """Return the process that is kept."""
    assert processes._kept is not None
    return processes._kept


def test_a_process_is_kept_for_the_next_task(processes: DrawingProcesses) -> None:
    assert b">one</text>" in processes.do(task("one"), SECONDS)
    first = kept(processes)
    assert b">two</text>" in processes.do(task("two"), SECONDS)
    assert kept(processes) is first


def test_a_task_that_is_refused_leaves_the_process_as_it_was(processes: DrawingProcesses) -> None:
    processes.do(task(), SECONDS)
    first = kept(processes)
    with pytest.raises(TaskRefusedError, match="conversion failed"):
        processes.do({**task(), "spec": {"mark": "nonsense"}}, SECONDS)
    assert processes.do(task(), SECONDS)
    assert kept(processes) is first


def test_a_process_that_ended_is_replaced(processes: DrawingProcesses) -> None:
    processes.do(task(), SECONDS)
    first = kept(processes)
    first._process.terminate()
    first._process.wait()
    assert processes.do(task(), SECONDS)
    assert kept(processes) is not first


def test_a_process_that_ended_unseen_is_replaced(
    processes: DrawingProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes.do(task(), SECONDS)
    first = kept(processes)
    monkeypatch.setattr(first, "do", lambda task, seconds: first._process.kill())
    assert processes.do(task(), SECONDS)
    assert kept(processes) is not first


def test_a_task_that_ends_the_process_is_refused(processes: DrawingProcesses) -> None:
    processes.do(task(), SECONDS)
    with pytest.raises(TaskRefusedError):
        processes.do(task("a\x00b"), SECONDS)
    assert processes.do(task(), SECONDS)


def test_a_process_that_takes_too_long_is_ended(processes: DrawingProcesses) -> None:
    with pytest.raises(TaskTimeoutError):
        processes.do(task(), 0.0)
    assert processes._kept is None


def test_a_process_is_replaced_after_many_tasks(
    processes: DrawingProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing_processes, "TASKS_A_PROCESS", 2)
    processes.do(task(), SECONDS)
    assert processes._kept is not None
    processes.do(task(), SECONDS)
    assert processes._kept is None


def test_a_process_ends_when_nobody_can_give_it_tasks_any_more() -> None:
    with closing(DrawingProcess()) as process:
        process.do(task(), SECONDS)
        assert process._process.stdin is not None
        process._process.stdin.close()
        assert process._process.wait(SECONDS) == 0


def test_a_process_that_was_forked_leaves_that_of_its_parent_alone(
    processes: DrawingProcesses,
) -> None:
    processes.do(task(), SECONDS)
    with closing(kept(processes)) as first:
        processes.forget()
        assert processes._kept is None
        os.kill(first._process.pid, signal.SIGCONT)
        assert first.is_running()

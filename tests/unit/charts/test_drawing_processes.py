"""Processes that draw pictures, and tasks that they refuse."""

from typing import Any

import pytest

from nwx.charts.drawing_processes import DrawingProcesses, TaskRefusedError, TaskTimeoutError

SECONDS = 60.0


def task(text: str = "a") -> dict[str, Any]:
    """Return the task of drawing a text."""
    marks = [{"type": "text", "encode": {"enter": {"text": {"value": text}}}}]
    return {"task": "svg", "spec": {"marks": marks}, "config": {"background": "white"}}


def test_a_task_that_is_refused_or_ends_the_process_leaves_the_next_alone() -> None:
    processes = DrawingProcesses()
    assert b">one</text>" in processes.do(task("one"), SECONDS)
    with pytest.raises(TaskRefusedError, match="conversion failed"):
        processes.do({**task(), "spec": {"mark": "nonsense"}}, SECONDS)
    with pytest.raises(TaskRefusedError):
        processes.do(task("a\x00b"), SECONDS)
    assert b">two</text>" in processes.do(task("two"), SECONDS)
    with pytest.raises(TaskTimeoutError):
        processes.do(task(), 0.0)

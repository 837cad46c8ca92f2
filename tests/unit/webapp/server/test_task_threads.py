"""Threads go on whatever a task does."""

import threading

import pytest

from webapp.server.task_threads import TaskThreads


def test_a_task_that_fails_takes_no_thread_with_it(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("no such piece")

    done = threading.Event()
    threads = TaskThreads(1, "answer")
    threads.submit(fail)
    threads.submit(done.set)
    assert done.wait(5)
    threads.end()
    assert "no such piece" in caplog.text

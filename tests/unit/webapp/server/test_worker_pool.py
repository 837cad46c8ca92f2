"""Workers that replace each other, with processes that are only pretended."""

import os
import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest

from webapp.server import worker_pool
from webapp.server.worker import CLOSED, READY, WorkerOrder


class _Process:
    """A process that never ends by itself; `channel` is its end of the channel."""

    stdin = None
    returncode = 1

    def __init__(self, command: list[str], **options: Any) -> None:
        self.channel = socket.socket(fileno=os.dup(options["pass_fds"][0]))
        _started.append(self)

    def poll(self) -> None:
        """Return that the process runs."""

    def wait(self, seconds: float | None = None) -> int:
        """Return at once."""
        return self.returncode


_started: list[_Process] = []


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[worker_pool.WorkerPool]:
    """A pool of one worker that is ready."""
    monkeypatch.setattr(worker_pool.subprocess, "Popen", _Process)
    monkeypatch.setattr(worker_pool, "_LOOK_SECONDS", 0.01)
    _started.clear()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        pool = worker_pool.WorkerPool(listening, 1, cast("WorkerOrder", None))
        pool._add()
        _started[0].channel.send(READY)
        pool._step()
        yield pool
        pool.close()
        for process in _started:
            process.channel.close()


def test_a_worker_that_was_replaced_may_still_tell_something(
    pool: worker_pool.WorkerPool,
) -> None:
    pool._renewing = True
    pool._step()
    _started[1].channel.send(READY)
    _started[0].channel.send(CLOSED)
    pool._step()
    assert [worker.process for worker in pool._workers] == [_started[1]]


def test_one_that_dies_while_it_is_replaced_is_not_started_twice(
    pool: worker_pool.WorkerPool,
) -> None:
    pool._renewing = True
    pool._step()
    _started[0].channel.close()
    pool._step()
    assert pool._due == []
    _started[1].channel.send(READY)
    pool._step()
    assert [worker.is_ready for worker in pool._workers] == [True]


def test_a_replacement_that_dies_is_started_again_where_nobody_is_left(
    pool: worker_pool.WorkerPool,
) -> None:
    pool._renewing = True
    pool._step()
    _started[0].channel.close()
    pool._step()
    _started[1].channel.close()
    pool._step()
    assert len(pool._due) == 1

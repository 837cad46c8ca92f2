"""Workers that replace each other, with fake processes."""

import socket
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from webapp.server import worker_pool
from webapp.server.connections import place_of
from webapp.server.worker import (
    BEGUN,
    CLOSED,
    CONNECTION_NUMBER,
    READY,
    WORKER_MESSAGE,
    WorkerOrder,
)


class _Process:
    """A process that never ends on its own; `channel` is its end of the channel."""

    exitcode = 1

    def __init__(self, target: object, args: tuple[socket.socket, WorkerOrder]) -> None:
        self.channel = args[0].dup()
        _started.append(self)

    def start(self) -> None:
        """Do nothing."""

    def is_alive(self) -> bool:
        """Return True: the process runs until it is joined."""
        return True

    def join(self, seconds: float | None = None) -> None:
        """Return immediately."""

    def kill(self) -> None:
        """Do nothing."""


_started: list[_Process] = []


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[worker_pool.WorkerPool]:
    """A pool with one worker that is ready."""
    server = SimpleNamespace(Process=_Process)
    monkeypatch.setattr(worker_pool, "fork_server", lambda *modules: server)
    monkeypatch.setattr(worker_pool, "_LOOK_SECONDS", 0.01)
    _started.clear()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        pool = worker_pool.WorkerPool(
            listening, 1, cast("WorkerOrder", SimpleNamespace(maker=SimpleNamespace(modules=())))
        )
        pool._add()
        _started[0].channel.send(WORKER_MESSAGE.pack(READY, 0))
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
    _started[1].channel.send(WORKER_MESSAGE.pack(READY, 0))
    _started[0].channel.send(WORKER_MESSAGE.pack(CLOSED, 0))
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
    _started[1].channel.send(WORKER_MESSAGE.pack(READY, 0))
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


def _handed(process: _Process) -> tuple[socket.socket, int]:
    """Receive a connection like a worker."""
    data, (descriptor,), _, _ = socket.recv_fds(process.channel, CONNECTION_NUMBER.size, 1)
    return socket.socket(fileno=descriptor), CONNECTION_NUMBER.unpack(data)[0]


def test_what_a_dead_worker_has_not_read_is_handed_to_another(
    pool: worker_pool.WorkerPool,
) -> None:
    clients = [socket.create_connection(place_of(pool._listening)) for _ in range(4)]
    for number, client in enumerate(clients):
        client.sendall(b"%d" % number)
    pool._add()
    _started[1].channel.send(WORKER_MESSAGE.pack(READY, 0))
    pool._step()
    pool._step()
    taken = [_handed(process) for process in _started for _ in range(2)]
    # The first worker reads one of its two connections, and dies while it sends more messages.
    assert taken[0][0].recv(9) == b"0"
    _started[0].channel.send(WORKER_MESSAGE.pack(BEGUN, taken[0][1]) + b"c")
    pool._step()
    for accepted, _ in taken[:2]:
        accepted.close()
    assert clients[0].recv(9) == b""  # no other process has it
    _started[0].channel.close()
    pool._step()
    pool._step()
    again, _ = _handed(_started[1])
    assert again.recv(9) == b"2"
    for one in (*clients, again, *(accepted for accepted, _ in taken[2:])):
        one.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts bytes read")
def test_what_a_worker_read_before_it_died_is_given_to_nobody(
    pool: worker_pool.WorkerPool,
) -> None:
    clients = [socket.create_connection(place_of(pool._listening)) for _ in range(2)]
    clients[0].sendall(b"GET / HTTP/1.1")
    pool._step()
    pool._step()
    taken = [_handed(_started[0])[0] for _ in clients]
    assert taken[0].recv(99) == b"GET / HTTP/1.1"  # it is killed before it reports this
    for accepted in taken:
        accepted.close()
    _started[0].channel.close()
    pool._step()
    clients[0].settimeout(5)
    assert clients[0].recv(9) == b""
    assert len(pool._waiting) == 1
    for one in clients:
        one.close()


def test_connections_that_no_worker_takes_wait(pool: worker_pool.WorkerPool) -> None:
    _started[0].channel.close()
    pool._step()
    with socket.create_connection(place_of(pool._listening)) as client:
        client.sendall(b"hello")
        pool._waiting.append(pool._listening.accept()[0])
        pool._step()
        pool._add()
        _started[1].channel.send(WORKER_MESSAGE.pack(READY, 0))
        pool._step()
        pool._step()
        accepted, _ = _handed(_started[1])
        assert accepted.recv(9) == b"hello"
        accepted.close()

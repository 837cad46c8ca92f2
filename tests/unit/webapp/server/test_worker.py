"""A worker that cannot start reports it to its parent, if there still is one."""

import logging
import os
import pickle
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar

import pytest
from elastic_transport import ConnectionError, NodeConfig, Transport

from nwx.errors import NoArchiveError
from webapp.server.worker import (
    FAILED,
    ApplicationMaker,
    OpenedApplication,
    WorkerOrder,
    serve_order,
)


@dataclass(frozen=True)
class _Failing(ApplicationMaker):
    modules: ClassVar[tuple[str, ...]] = ()

    def open(self, stack: ExitStack) -> OpenedApplication:
        raise NoArchiveError("no archive")


@pytest.fixture(autouse=True)
def _same_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep the group and the log of the process that runs the tests."""
    monkeypatch.setattr(os, "setpgid", lambda *_: None)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    yield
    logging.getLogger("elastic_transport.transport").setLevel(logging.NOTSET)


def test_a_failure_is_sent_to_the_parent() -> None:
    parent, channel = socket.socketpair()
    serve_order(channel, WorkerOrder(_Failing(), ("", 0), 1))
    with parent:
        sent = parent.recv(10_000)
    assert sent.startswith(FAILED)
    assert str(pickle.loads(sent[1:])) == "no archive"


def test_a_failure_after_the_parent_has_ended_is_silent() -> None:
    parent, channel = socket.socketpair()
    parent.close()
    serve_order(channel, WorkerOrder(_Failing(), ("", 0), 1))
    assert channel.fileno() == -1


def test_failed_connections_to_a_server_are_logged_without_tracebacks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    parent, channel = socket.socketpair()
    parent.close()
    serve_order(channel, WorkerOrder(_Failing(), ("", 0), 1))
    transport = Transport([NodeConfig("http", "127.0.0.1", 1)], max_retries=1)
    with pytest.raises(ConnectionError):
        transport.perform_request("GET", "/")
    assert len(caplog.records) == 2
    assert [one for one in caplog.records if one.exc_info] == []

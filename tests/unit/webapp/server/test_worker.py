"""A worker that cannot start reports it to its parent, if there still is one."""

import logging
import os
import pickle
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar

import pytest

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
def _same_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the group and the log of the process that runs the tests."""
    monkeypatch.setattr(os, "setpgid", lambda *_: None)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)


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

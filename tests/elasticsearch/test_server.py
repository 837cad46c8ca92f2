"""The server ends with the processes that use it."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.elasticsearch import jdk
from tests.elasticsearch.server import CHECKOUT

# Shares the lock of a state folder until it is killed, with a supervisor whose server
# is a process that only sleeps.
USER = """
import sys, time
from contextlib import contextmanager
from pathlib import Path
from tests.elasticsearch import server

@contextmanager
def node(product):
    yield "http://sleeping"

if sys.argv[1] == "supervise":
    server.node = node
    server.supervise(Path(sys.argv[2]), server.ELASTICSEARCH)
else:
    with server.running(Path(sys.argv[2])) as address:
        print(address, flush=True)
        time.sleep(600)
"""


def test_the_server_ends_when_its_users_are_killed(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text(USER, encoding="utf-8")
    state = tmp_path / "state"
    state.mkdir()
    (state / "supervisor.log").touch()
    with (state / "users.lock").open("a") as lock:
        # A supervisor without users ends at once: the test is a user until others exist.
        fcntl.flock(lock, fcntl.LOCK_SH)
        supervisor = _start(script, "supervise", state)
        users = [_start(script, "use", state, read=True) for _ in range(2)]
        for user in users:
            assert user.stdout is not None
            assert user.stdout.readline() == "http://sleeping\n"
    _kill(users[0])
    time.sleep(0.5)
    assert supervisor.poll() is None
    _kill(users[1])
    assert supervisor.wait(20) == 0
    assert not state.exists()


def _start(script: Path, command: str, state: Path, read: bool = False) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, script, command, state],
        cwd=CHECKOUT,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE if read else None,
        text=True,
    )


def _kill(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def test_without_a_jdk_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old"
    (old / "bin").mkdir(parents=True)
    (old / "bin" / "javac").touch()
    (old / "release").write_text('JAVA_VERSION="17.0.15"\n')
    monkeypatch.setenv("ES_JAVA_HOME", str(old))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(jdk, "_FOLDERS", ())
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    with pytest.raises(jdk.JdkError, match=r"JDK of version 21.*ES_JAVA_HOME.*old: version 17"):
        jdk.find_jdk()
    (old / "release").write_text('JAVA_VERSION="21"\n')
    assert jdk.find_jdk() == old

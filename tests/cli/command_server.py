"""Runs commands in forked processes that have already loaded Python and all modules.

Loading takes most commands longer than their work. The server, a separate process, loads
everything once and forks for each command.

    python -m tests.cli.command_server FD

receives requests on a socket. Tests of start-up, signals and terminals need processes started like
a user's.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import util
from pathlib import Path
from types import ModuleType
from typing import Any

CHECKOUT = Path(__file__).parent.parent.parent
COMMAND = str(Path(sys.executable).parent / "nwx")
_MOST_BYTES = 1 << 17
_PRELOADED = (
    "nwx.engine.server_engines",
    "nwx.engine.embedded.engine",
    "nwx.importing.worker",
    "nwx.steering.analysis_process",
)
_LEFT_OUT = "nwx.cli.spark"
_FORK_SERVER = "from multiprocessing.forkserver import main"
_FREE_FD = 500
"""Commands have no open files from this descriptor on."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Result of a command: its exit code, negative for a signal, and its output."""

    code: int
    out: bytes
    err: bytes


class CommandServer:
    """Runs the commands of this process; ends together with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.command_server", str(theirs.fileno())],
            cwd=CHECKOUT,
            env={**environment, "OPENBLAS_NUM_THREADS": "1"},  # to fork, have no threads
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        atexit.register(self.end)

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes, seconds: float
    ) -> Ended:
        """Run `nwx` with arguments; after `seconds` kill the command and raise TimeoutError."""
        request = json.dumps([list(arguments), dict(environment), str(Path.cwd())]).encode()
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin)
            given.seek(0)
            answer, theirs = os.pipe()
            fds = [given.fileno(), out.fileno(), err.fileno(), theirs]
            try:
                socket.send_fds(self._socket, [request], fds)
            finally:
                os.close(theirs)
            with os.fdopen(answer) as told:
                code = _told_code(told, arguments, seconds)
            for file in (out, err):
                file.seek(0)
            return Ended(code, out.read(), err.read())

    @property
    def descriptor(self) -> int:
        """The file descriptor of the socket, for processes that inherit it and send requests."""
        return self._socket.fileno()

    def end(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.wait()


def _told_code(told: Any, arguments: Sequence[str], seconds: float) -> int:
    process = int(told.readline())
    ready, _, _ = select.select([told], [], [], seconds)
    if not ready:
        os.kill(process, signal.SIGKILL)
        raise TimeoutError(f"nwx {' '.join(arguments)} took longer than {seconds} s")
    return int(told.readline())


def _serve(requests: socket.socket) -> tuple[list[str], dict[str, str], str] | None:
    """Fork for each request; return it in the child process, None if there are no more requests."""
    while True:
        data, fds, _, _ = socket.recv_fds(requests, _MOST_BYTES, 4)
        if not data:
            return None
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if command := os.fork():
                _tell_end(command, fds[3])
            for number, fd in enumerate(fds[:3]):
                os.dup2(fd, number)
            break
        for fd in fds:
            os.close(fd)
    for fd in fds:
        os.close(fd)
    arguments, environment, folder = json.loads(data)
    return arguments, environment, folder


def _tell_end(command: int, answer: int) -> None:
    os.write(answer, f"{command}\n".encode())
    _, status = os.waitpid(command, 0)
    os.write(answer, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _preload() -> None:
    for name in _PRELOADED:
        importlib.import_module(name)
    package = importlib.import_module("nwx.cli")
    for module in pkgutil.walk_packages(package.__path__, "nwx.cli."):
        if not module.name.startswith(_LEFT_OUT):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def _become(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Make this process look like one started for the command."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [COMMAND, *arguments]
    sys.path[0] = str(Path(COMMAND).parent)
    main = ModuleType("__main__")
    main.__file__ = COMMAND
    sys.modules["__main__"] = main  # its child processes run this file
    sys.stdin = sys.__stdin__ = open(0, encoding=sys.stdin.encoding)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding=sys.stdout.encoding)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # type: ignore[misc]  # noqa: SIM115
        2, "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace"
    )


def _keep_spare() -> None:
    """Fork a spare process that becomes the fork server of this command's child processes.

    Like this command it has all modules loaded. It ends if it is not needed.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not (spare := os.fork()):
        ours.close()
        _serve_forks(theirs)
    theirs.close()
    spares, started = [spare], util.spawnv_passfds

    def start(path: Any, arguments: Sequence[str], fds: Sequence[int]) -> int:
        if not arguments[-1].startswith(_FORK_SERVER) or not spares:
            return started(path, arguments, fds)
        socket.send_fds(ours, [json.dumps([arguments[-1], list(fds)]).encode()], list(fds))
        return spares.pop()

    util.spawnv_passfds = start


def _serve_forks(requests: socket.socket) -> None:
    """Run the code that Python would be started for, with files under the requested numbers."""
    data, fds, _, _ = socket.recv_fds(requests, _MOST_BYTES, 2)
    if data:
        command, numbers = json.loads(data)
        requests.close()
        moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, _FREE_FD) for fd in fds]
        for fd, number in zip(moved, numbers, strict=True):
            os.dup2(fd, number)
        os.closerange(_FREE_FD, _FREE_FD + len(moved))
        with suppress(SystemExit):
            exec(command, {})
    os._exit(0)


def main() -> None:
    """Serve, and run the command in each forked process."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _preload()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        request = _serve(requests)
    if request is not None:
        _become(*request)
        _keep_spare()
        _run(importlib.import_module("nwx.cli.main").main)


def _run(command: Callable[[], object]) -> None:
    """Run a command and end like Python, but without tearing down modules."""
    code: object = 1
    try:
        code = command()
    except SystemExit as error:
        code = error.code
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        _end(code)


def _end(code: object) -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    main()

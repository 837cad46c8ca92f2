"""Child processes: their start, messages, deadline, cause of death, and end with the parent.

`ChildProcess` is a new interpreter, for programs with threads and libraries that block or
crash; for forked workers see `nwx.bulk.guarded_process`.
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import forkserver, get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from tempfile import TemporaryFile
from typing import IO, Any

from nwx.bulk.process_limits import forbid_core_dumps
from nwx.data_classes import dataclass

_LAST_BYTES = 4096
_MOST_CHARACTERS = 200
_PROGRAM = "from nwx.bulk.child_processes import run_child; run_child()"


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a process: its exit code, negative for a signal, and its last output line."""

    code: int
    last_line: str = ""
    was_late: bool = False

    @property
    def how(self) -> str:
        """The signal or exit code: `SIGSEGV`, or `exit code 3`."""
        return signal.Signals(-self.code).name if self.code < 0 else f"exit code {self.code}"

    @property
    def is_foreign(self) -> bool:
        """Whether another process killed it, such as the kernel when memory ran out."""
        return self.code == -signal.SIGKILL and not self.was_late

    def cause(self, item_seconds: float) -> str:
        """Return why the process ended, as text; `item_seconds` is the time limit of an item."""
        if self.was_late:
            return f"took longer than {item_seconds:g} s"
        if self.code == -signal.SIGPROF:
            return "took too much processor time for one step"
        return f"crashed ({self.how})" if self.code < 0 else f"failed: {self.last_line}"


def death_of(code: int | None, last_line: str = "", *, was_late: bool = False) -> Death:
    """Return the death of a process by its exit code; timer signals mean that it was late."""
    late_codes = (-signal.SIGALRM, -signal.SIGVTALRM, -signal.SIGXCPU)
    return Death(code or 0, last_line, was_late or code in late_codes)


def last_line(output: IO[bytes]) -> str:
    """Return the last line a process printed, cleaned for use in a message."""
    start = max(0, os.fstat(output.fileno()).st_size - _LAST_BYTES)
    text = os.pread(output.fileno(), _LAST_BYTES, start).decode("utf-8", "replace")
    line = (text.strip().splitlines() or ["no reason given"])[-1]
    return "".join(sign if sign.isprintable() else "?" for sign in line)[:_MOST_CHARACTERS]


ChildFunction = Callable[["Connection[Any, Any]"], None]
"""Called in a child process with its end of the connection; returns when that is closed."""


class ChildProcess:
    """A new interpreter in its own session, which calls a module's `function`.

    Its output is discarded, except for the last line in its `death`.
    """

    def __init__(self, function: ChildFunction) -> None:
        self.asked = 0
        self._output = TemporaryFile()  # noqa: SIM115 - closed by `end`
        own, other = socket.socketpair()
        self.connection: Connection[Any, Any] = Connection(own.detach())
        called = (function.__module__, function.__qualname__, str(other.fileno()))
        try:
            with other:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _PROGRAM, *called],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    env=os.environ | {"PYTHONPATH": _import_path()},
                    pass_fds=[other.fileno()],
                    start_new_session=True,
                )
        except OSError:
            self.connection.close()
            self._output.close()
            raise

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    def ask(self, *messages: bytes, seconds: float) -> bytes | Death:
        """Send messages and return the answer, or the death of the process.

        The process is killed if no answer begins within `seconds`; functions that handle hostile
        items also set their own deadline.
        """
        self.asked += 1
        is_late = False
        try:
            for message in messages:
                self.connection.send_bytes(message)
            # With no time left it is late, even if the answer is there already.
            is_late = seconds <= 0 or not self.connection.poll(seconds)
            if not is_late:
                return self.connection.recv_bytes()
        except (EOFError, OSError):
            pass  # it has died
        return self.death(0 if is_late else None)

    def death(
        self, seconds: float | None = None, before_kill: Callable[[int], object] = int
    ) -> Death:
        """Wait for the end of the process and return it; kill the process after `seconds`.

        `before_kill` is called with the process id before that.
        """
        is_late = False
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            is_late = True
            before_kill(self.pid)
            self._process.kill()
            self._process.wait()
        return death_of(self._process.returncode, last_line(self._output), was_late=is_late)

    def end(self, seconds: float = 0, before_kill: Callable[[int], object] = int) -> None:
        """Close the connection, and kill the process if it is still running after `seconds`.

        May be called twice.
        """
        self.connection.close()
        if not self._output.closed:
            self.death(seconds, before_kill)
            self._output.close()


@contextmanager
def children_without_interrupts() -> Iterator[None]:
    """Start child processes within this context that Ctrl-C does not reach; their parent ends them.

    Otherwise those that are still loading modules would print tracebacks. An interrupt of this
    process waits until the end of the context, when all children are known.
    """
    resource_tracker.ensure_running()  # it unblocks the signal
    with _delayed_interrupt():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _delayed_interrupt() -> Iterator[None]:
    """Handle an interrupt after this context, also one that another thread receives."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if noted:
            signal.raise_signal(signal.SIGINT)


def fork_server(*modules: str) -> ForkServerContext:
    """Start a process that preloads modules and forks others; return its context.

    Only the modules of the first call are loaded.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["nwx.bulk.safe_path", *modules])
    # It must not import modules from the working folder.
    changed = {"PYTHONPATH": _import_path(), "PYTHONSAFEPATH": "1"}
    # NumPy's threads would wait busily for work that they never get.
    changed["OPENBLAS_THREAD_TIMEOUT"] = "4"
    before = {name: os.environ.get(name) for name in changed}
    os.environ |= changed
    try:
        with children_without_interrupts():
            forkserver.ensure_running()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    return context


def _import_path() -> str:
    return os.pathsep.join(map(os.path.abspath, sys.path))


def run_child() -> None:
    """Call the function named on the command line of a child process."""
    module, name, number = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    forbid_core_dumps()
    with Connection(int(number)) as connection:
        getattr(import_module(module), name)(connection)


def requests(
    connection: "Connection[Any, Any]", idle_seconds: float | None = None
) -> Iterator[bytes]:
    """Yield messages until the parent closes the connection, or sends none for `idle_seconds`."""
    with suppress(EOFError, OSError):
        while connection.poll(idle_seconds):
            yield connection.recv_bytes()


class KeptProcess:
    """A child process reused for several requests; concurrent threads use additional processes.

    It is replaced after `most_questions` requests, is not shared with forks of this process, and
    ends with it.
    """

    def __init__(self, function: ChildFunction, most_questions: int = sys.maxsize) -> None:
        self._function, self._most_questions = function, most_questions
        self._guard = threading.Lock()
        self.kept: ChildProcess | None = None
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self.forget)

    def ask(self, *messages: bytes, seconds: float) -> bytes | Death:
        """Send messages and return the answer, or the death of the process.

        If another process killed it, the request is repeated once.
        """
        was_killed = False
        while True:
            process = self._take()
            is_new = not process.asked
            try:
                answer = process.ask(*messages, seconds=seconds)
            finally:
                self._put_back(process)
            if isinstance(answer, Death) and answer.is_foreign and not was_killed:
                was_killed = True
                continue
            # A kept process may have exited before the request.
            if is_new or not isinstance(answer, Death) or answer.code:
                return answer

    def _take(self) -> ChildProcess:
        with self._guard:
            process, self.kept = self.kept, None
        if process is not None and not process.is_alive:
            process.end()
            process = None
        return process or ChildProcess(self._function)

    def _put_back(self, process: ChildProcess) -> None:
        with self._guard:
            is_useful = process.is_alive and process.asked < self._most_questions
            if is_useful and self.kept is None:
                self.kept = process
                return
        process.end()

    def close(self) -> None:
        """End the kept process."""
        with self._guard:
            process, self.kept = self.kept, None
        if process is not None:
            process.end()

    def forget(self) -> None:
        """Drop the kept process without ending it: after a fork, it belongs to the parent."""
        self._guard = threading.Lock()
        self.kept = None

"""Forked processes that handle hostile items one by one and may die of any of them.

The kernel ends a process that exceeds its limit of time or memory; the parent can see which item
caused it, and why.
"""

import os
import signal
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from ctypes import Array, c_longlong
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from tempfile import TemporaryFile
from typing import Any

from nwx.bulk.child_processes import Death, children_without_interrupts, death_of, last_line
from nwx.bulk.process_limits import (
    collect_rarely,
    forbid_core_dumps,
    leave_signals_to_parent,
    limit_memory,
    return_large_blocks,
    set_item_deadline,
)
from nwx.bulk.resources import temporary_folder

MOST_STEP_SECONDS = 600.0
"""The limit of processor time for reading from one record to the next: enough for 100 GB."""

_NOTHING = -1

_context = get_context("forkserver")


class Pulse:
    """Memory shared with a process: the current item and its progress.

    Readable after the process has died.
    """

    def __init__(self) -> None:
        self._cells: Array[c_longlong] = _context.RawArray(c_longlong, [_NOTHING, 0])

    @property
    def item(self) -> int | None:
        """The number of the current item, None between items."""
        return None if self._cells[0] == _NOTHING else self._cells[0]

    @item.setter
    def item(self, number: int | None) -> None:
        """Set the current item, None after it."""
        self._cells[0] = _NOTHING if number is None else number

    @property
    def position(self) -> int:
        """The progress of the process."""
        return self._cells[1]

    @position.setter
    def position(self, position: int) -> None:
        """Set the progress of the process."""
        self._cells[1] = position


class ItemGuard:
    """A time limit per item: the kernel ends this process when an item exceeds it.

    `seconds` are processor time.
    """

    def __init__(self, pulse: Pulse, seconds: float) -> None:
        self._pulse, self._seconds = pulse, seconds

    def __call__(self, item: int) -> "ItemGuard":
        self._pulse.item = item
        return self

    def __enter__(self) -> None:
        set_item_deadline(self._seconds)

    def __exit__(self, kind: object, *_: object) -> None:
        set_item_deadline(0)
        # After an exception the item stays marked, as this process dies of it.
        if kind is None:
            self._pulse.item = None


class StepGuard:
    """A time limit per step: the kernel ends this process when a step exceeds it.

    Only processor time of this process counts, not waiting for a busy machine or a slow network.
    """

    def __init__(self, seconds: float = MOST_STEP_SECONDS) -> None:
        self._seconds = seconds

    def next(self, done: int = 0) -> None:
        """Begin the next step; `done` is ignored, for use as a progress callback."""
        del done
        signal.setitimer(signal.ITIMER_PROF, self._seconds)

    def __enter__(self) -> "StepGuard":
        self.next()
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)


class GuardedProcess:
    """A forked process that handles hostile items with native code.

    It calls `work` with its end of `connection`, `pulse` and the arguments, and ends when `work`
    returns or `memory_bytes` are exceeded. `end` removes its temporary files.
    """

    def __init__(
        self,
        work: Callable[..., None],
        *arguments: object,
        memory_bytes: int,
        context: ForkServerContext | SpawnContext = _context,
        has_children: bool = False,
    ) -> None:
        self.pulse = Pulse()
        self.connection: Connection[Any, Any]
        self.connection, theirs = context.Pipe()
        self._output = TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._held = ExitStack()
        folder = self._held.enter_context(temporary_folder())
        bounds = (_SharedFile(self._output.fileno()), str(folder), memory_bytes)
        self._process: BaseProcess = context.Process(
            target=_run_guarded,
            args=(*bounds, work, theirs, self.pulse, *arguments),
            daemon=not has_children,
        )
        try:
            with theirs, children_without_interrupts():
                self._process.start()
        except (OSError, EOFError):
            self._close()
            raise

    @property
    def pid(self) -> int | None:
        """The id of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process is still running."""
        return self._process.is_alive()

    def death(self, seconds: float | None = None) -> Death:
        """Wait for the end of the process and return it; kill the process after `seconds`."""
        self._process.join(seconds)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        return death_of(self._process.exitcode, last_line(self._output))

    def end(self) -> None:
        """Kill the process, and remove its temporary files."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._close()

    def _close(self) -> None:
        self.connection.close()
        self._output.close()
        self._held.close()


class _SharedFile:
    """An open file that a forked process inherits."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[Callable[[Any], "_SharedFile"], tuple[object]]:
        return _inherited_file, (DupFd(self.descriptor),)


def _inherited_file(handle: Any) -> _SharedFile:
    return _SharedFile(handle.detach())


def _run_guarded(
    output: _SharedFile,
    folder: str,
    memory_bytes: int,
    work: Callable[..., None],
    *arguments: object,
) -> None:
    tempfile.tempdir = folder
    leave_signals_to_parent()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    collect_rarely()
    return_large_blocks()
    forbid_core_dumps()
    limit_memory(memory_bytes)
    # Output of libraries must not mix with a progress bar; its last line explains a crash.
    os.dup2(output.descriptor, 1)
    os.dup2(output.descriptor, 2)
    os.close(output.descriptor)
    work(*arguments)

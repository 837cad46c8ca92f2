"""What a process needs that handles hostile items one by one, and may die of any of them.

An item may hang, crash the process or eat all memory. The kernel ends the
process then, and its parent learns of which item it died, and why.
"""

import os
import resource
import signal
from ctypes import Array, c_longlong
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType

from nwx.bulk.gc_tuning import collect_rarely, return_large_blocks

MOST_STEP_SECONDS = 600.0
"""So much processor time may reading take between two records: enough for one of 100 GB."""

_NOTHING = -1
_LAST_BYTES = 4096
_MOST_CHARACTERS = 200

_context = get_context("forkserver")


class Pulse:
    """Memory shared with a process: the item in hand, and how far it is.

    It can be read after the process has died.
    """

    def __init__(self) -> None:
        self._cells: Array[c_longlong] = _context.RawArray(c_longlong, [_NOTHING, 0])

    @property
    def item(self) -> int | None:
        """The number of the item in hand."""
        return None if self._cells[0] == _NOTHING else self._cells[0]

    @item.setter
    def item(self, number: int | None) -> None:
        """Say which item is next, None after it."""
        self._cells[0] = _NOTHING if number is None else number

    @property
    def position(self) -> int:
        """How far the process is."""
        return self._cells[1]

    @position.setter
    def position(self, position: int) -> None:
        """Say how far the process is."""
        self._cells[1] = position


class ItemGuard:
    """Guards the work on an item: the kernel ends this process when it takes too long.

    A signal handler would wait for native code to return; the default
    action of SIGALRM waits for nothing, the parent's life included.
    """

    def __init__(self, pulse: Pulse, seconds: float) -> None:
        self._pulse, self._seconds = pulse, seconds

    def __call__(self, item: int) -> "ItemGuard":
        self._pulse.item = item
        return self

    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        # After an exception the item stays marked: this process ends of it.
        if kind is None:
            self._pulse.item = None


class StepGuard:
    """Guards work that is done in steps: the kernel ends this process when one takes too long.

    What counts is the processor time of this process, so that none ends
    because a machine is busy or a network slow.
    """

    def __init__(self, seconds: float = MOST_STEP_SECONDS) -> None:
        self._seconds = seconds

    def next(self, done: int = 0) -> None:
        """Begin the next step; how much is `done` does not matter."""
        del done
        signal.setitimer(signal.ITIMER_PROF, self._seconds)

    def __enter__(self) -> "StepGuard":
        self.next()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)


def prepare_process(memory_bytes: int, log: Path) -> None:
    """Make this process ready to run hostile items through native code.

    It may use so much memory. All that it prints goes to `log`. Where the
    folder of that has gone, the parent has ended meanwhile: so does this
    process, without a word.
    """
    leave_signals_to_parent()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    collect_rarely()
    return_large_blocks()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [memory_bytes] if most == resource.RLIM_INFINITY else [memory_bytes, most]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), most))
    # Libraries' own words must not mix with a progress bar; the last of them tells of a crash.
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    except FileNotFoundError:
        os._exit(0)
    os.dup2(file, 1)
    os.dup2(file, 2)


def leave_signals_to_parent() -> None:
    """Pass over the signals that terminals and service managers send to a whole group."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def cause_of_death(process: BaseProcess, item_seconds: float, log: Path) -> str:
    """Return in words why a process has ended, or is about to end."""
    process.join()
    code = process.exitcode or 0
    if code == -signal.SIGALRM:
        return f"took longer than {item_seconds:g} s"
    return words_of_signal(-code) if code < 0 else f"failed: {_last_line(log)}"


def words_of_signal(number: int) -> str:
    """Return in words that a signal has ended a process, a StepGuard's included."""
    if number == signal.SIGPROF:
        return "took too much processor time for one step"
    return f"crashed ({signal.Signals(number).name})"


def _last_line(log: Path) -> str:
    """Return what a process said last, fit for a message."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LAST_BYTES))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    line = lines[-1] if lines else "no reason given"
    return "".join(sign if sign.isprintable() else "?" for sign in line)[:_MOST_CHARACTERS]

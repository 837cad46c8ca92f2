"""Processes that may be killed by an item: the parent learns which item, and why."""

import os
import signal
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from nwx.bulk.guarded_process import GuardedProcess, ItemGuard, Pulse, StepGuard


def test_no_item_is_in_hand_at_first_nor_behind_one() -> None:
    pulse = Pulse()
    assert (pulse.item, pulse.position) == (None, 0)
    pulse.item, pulse.position = 0, 5
    assert (pulse.item, pulse.position) == (0, 5)
    pulse.item = None
    assert pulse.item is None


def hang() -> None:
    time.sleep(3600)


def spin() -> None:
    while True:
        pass


def wait_a_while() -> None:
    time.sleep(1)


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def fail() -> None:
    raise ValueError("a module's own fault\x07")


def hoard() -> None:
    bytearray(1 << 34)


def work(connection: Connection, pulse: Pulse, action: Callable[[], None]) -> None:
    """Process two good items and a third one."""
    guard = ItemGuard(pulse, 0.5)
    for item in range(2):
        with guard(item):
            pass
    with guard(2):
        action()


@pytest.mark.parametrize(
    ("action", "cause"),
    [
        (hang, "took longer than 0.5 s"),
        (spin, "took longer than 0.5 s"),
        (crash, "crashed (SIGSEGV)"),
        (fail, "failed: ValueError: a module's own fault?"),
        (hoard, "failed: MemoryError"),
    ],
)
def test_the_cause_and_the_item_are_known(action: Callable[[], None], cause: str) -> None:
    process = GuardedProcess(work, action, memory_bytes=1 << 30)
    assert process.death().cause(0.5) == cause
    assert process.pulse.item == 2
    process.end()


def test_an_item_may_wait_longer_than_it_may_work() -> None:
    process = GuardedProcess(work, wait_a_while, memory_bytes=1 << 30)
    assert process.death().code == 0
    assert process.pulse.item is None
    process.end()


def wait_for_the_parent(connection: Connection, pulse: Pulse) -> None:
    """Set position 1, as signals are ignored by now, and end when the parent changes it."""
    pulse.position = 1
    while pulse.position == 1:
        time.sleep(0.01)


def test_signals_are_left_to_the_parent() -> None:
    process = GuardedProcess(wait_for_the_parent, memory_bytes=1 << 30)
    while process.pulse.position == 0:
        time.sleep(0.01)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(process.pid or 0, number)
    process.pulse.position = 2
    assert process.death().code == 0
    process.end()


def test_a_process_that_does_not_end_in_time_is_killed() -> None:
    process = GuardedProcess(wait_for_the_parent, memory_bytes=1 << 30)
    assert process.death(0.1).how == "SIGKILL"
    process.end()


def step_and_hang(connection: Connection, pulse: Pulse, steps: int) -> None:
    """Use the CPU time of two steps, divided into `steps` steps, and end."""
    with StepGuard(0.2) as guard:
        for _ in range(steps):
            guard.next()
            end = time.process_time() + 0.4 / steps
            while time.process_time() < end:
                pass


@pytest.mark.parametrize(("steps", "code"), [(8, 0), (1, -signal.SIGPROF)])
def test_a_step_has_so_much_processor_time(steps: int, code: int) -> None:
    process = GuardedProcess(step_and_hang, steps, memory_bytes=1 << 30)
    death = process.death(60)
    assert death.code == code
    if code:
        assert death.cause(1) == "took too much processor time for one step"
    process.end()


def leave_files(connection: Connection, pulse: Pulse) -> None:
    """Create a temporary folder, report its path, and hang."""
    connection.send(tempfile.mkdtemp())
    time.sleep(3600)


def test_temporary_files_of_a_process_that_is_killed_are_removed() -> None:
    process = GuardedProcess(leave_files, memory_bytes=1 << 30)
    folder = Path(process.connection.recv())
    assert folder.is_dir()
    process.end()
    assert not folder.parent.exists()

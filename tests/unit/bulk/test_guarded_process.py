"""Processes that may die of an item: the parent learns of which, and why."""

import os
import signal
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest

from nwx.bulk.guarded_process import (
    ItemGuard,
    Pulse,
    StepGuard,
    cause_of_death,
    leave_signals_to_parent,
    prepare_process,
)

_context = get_context("forkserver")


def test_no_item_is_in_hand_at_first_nor_behind_one() -> None:
    pulse = Pulse()
    assert (pulse.item, pulse.position) == (None, 0)
    pulse.item, pulse.position = 0, 5
    assert (pulse.item, pulse.position) == (0, 5)
    pulse.item = None
    assert pulse.item is None


def hang() -> None:
    time.sleep(3600)


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def fail() -> None:
    raise ValueError("a module's own fault\x07")


def hoard() -> None:
    bytearray(1 << 34)


def work(action: Callable[[], None], pulse: Pulse, log: Path) -> None:
    """Handle two good items, and a third one."""
    prepare_process(1 << 30, log)
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
        (crash, "crashed (SIGSEGV)"),
        (fail, "failed: ValueError: a module's own fault?"),
        (hoard, "failed: MemoryError"),
    ],
)
def test_the_cause_and_the_item_are_known(
    tmp_path: Path, action: Callable[[], None], cause: str
) -> None:
    pulse, log = Pulse(), tmp_path / "log"
    process = _context.Process(target=work, args=(action, pulse, log))
    process.start()
    assert cause_of_death(process, 0.5, log) == cause
    assert pulse.item == 2


def wait_for_the_parent(pulse: Pulse) -> None:
    """Say that signals are passed over, then end after a while."""
    leave_signals_to_parent()
    pulse.position = 1
    while pulse.position == 1:
        time.sleep(0.01)


def test_signals_are_left_to_the_parent() -> None:
    pulse = Pulse()
    process = _context.Process(target=wait_for_the_parent, args=(pulse,))
    process.start()
    while pulse.position == 0:
        time.sleep(0.01)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(process.pid or 0, number)
    pulse.position = 2
    process.join()
    assert process.exitcode == 0


def test_a_process_whose_parent_has_ended_meanwhile_ends_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It was being started when the parent took away the folder of its log."""
    process = _context.Process(target=prepare_process, args=(1 << 30, tmp_path / "gone" / "1.log"))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert capfd.readouterr().err == ""


def step_and_hang(steps: int) -> None:
    """Use as much processor time as two steps may take, in so many steps, and end."""
    with StepGuard(0.2) as guard:
        for _ in range(steps):
            guard.next()
            end = time.process_time() + 0.4 / steps
            while time.process_time() < end:
                pass


@pytest.mark.parametrize(("steps", "code"), [(8, 0), (1, -signal.SIGPROF)])
def test_a_step_has_so_much_processor_time(tmp_path: Path, steps: int, code: int) -> None:
    process = _context.Process(target=step_and_hang, args=(steps,))
    process.start()
    process.join(60)
    assert process.exitcode == code
    if code:
        log = tmp_path / "log"
        assert cause_of_death(process, 1, log) == "took too much processor time for one step"

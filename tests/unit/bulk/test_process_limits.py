"""Garbage collection is less frequent for a while, and large blocks are returned to the system."""

import ctypes
import gc
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from nwx.bulk.process_limits import (
    keep_memory,
    rare_collections,
    return_free_memory,
    return_large_blocks,
)

GROWN = """
from pathlib import Path
from nwx.bulk.process_limits import return_large_blocks

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

print(return_large_blocks())
for _ in range(4):
    bytearray(24 << 20)
before = held()
blocks = [bytearray(1 << 20) for _ in range(40)]
kept = blocks.pop(), bytes(1000)
del blocks
print(held() - before < 8 << 20)
"""

BETWEEN = """
from pathlib import Path
from nwx.bulk.process_limits import return_free_memory, return_large_blocks

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

return_large_blocks()
before = held()
kept = [(bytearray(200_000), bytearray(1_000)) for _ in range(200)]
kept = [small for _, small in kept]
return_free_memory()
print(held() - before < 8 << 20)
"""


@pytest.fixture
def _usual_thresholds() -> Iterator[None]:
    """Python's thresholds: importing the commands has changed them in this process."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_usual_thresholds")
def test_the_thresholds_of_before_come_back() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="no"), rare_collections():
        assert gc.get_threshold()[0] > before[0]
        raise ValueError("no")
    assert gc.get_threshold() == before


@pytest.mark.usefixtures("_usual_thresholds")
def test_they_come_back_when_the_last_of_several_threads_has_ended() -> None:
    before = gc.get_threshold()
    first, second = ExitStack(), ExitStack()
    first.enter_context(rare_collections())
    second.enter_context(rare_collections())
    first.close()
    assert gc.get_threshold()[0] > before[0]
    second.close()
    assert gc.get_threshold() == before


def test_what_was_freed_is_held_no_longer() -> None:
    ran = subprocess.run([sys.executable, "-c", GROWN], capture_output=True, check=True, text=True)
    assert ran.stdout.split() == ["True", "True"]


def test_what_is_free_between_blocks_in_use_is_returned() -> None:
    command = [sys.executable, "-c", BETWEEN]
    assert subprocess.run(command, capture_output=True, check=True).stdout.split() == [b"True"]


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert return_large_blocks() is False
    return_free_memory()


def test_memory_is_kept_once() -> None:
    keep_memory()
    keep_memory()

"""How many processes there are to be, and where temporary files lie."""

import ctypes
import gc
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from nwx.bulk import resources
from nwx.bulk.resources import (
    Resources,
    keep_memory,
    processors,
    rare_collections,
    return_large_blocks,
    temporary_folder,
    workers_for,
)
from nwx.errors import SourceError

GIGABYTE = 1 << 30


def test_little_work_needs_no_processes() -> None:
    assert workers_for(1 << 20, Resources()) == 1
    assert workers_for(1 << 20, Resources(workers=2)) == 2


def test_there_are_as_many_as_memory_has_room_for() -> None:
    assert workers_for(GIGABYTE, Resources(100 << 20, workers=8)) == 1
    assert workers_for(GIGABYTE, Resources(300 << 20, workers=8)) == 3
    assert workers_for(GIGABYTE, Resources(100 * GIGABYTE)) == processors()


def test_a_temporary_folder_goes_away(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        (folder / "file").touch()
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be written"), temporary_folder(tmp_path / "none"):
        pass


def test_no_more_than_four_processes_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    for available, answering in ((1, 1), (2, 2), (4, 4), (64, 4)):
        monkeypatch.setattr(resources, "processors", lambda found=available: found)
        assert resources.usual_workers() == answering


GROWN = """
from pathlib import Path
from nwx.bulk.resources import return_large_blocks

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


def test_the_thresholds_of_before_come_back() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="no"), rare_collections():
        assert gc.get_threshold()[0] > before[0]
        raise ValueError("no")
    assert gc.get_threshold() == before


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


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert return_large_blocks() is False


def test_memory_is_kept_once() -> None:
    keep_memory()
    keep_memory()

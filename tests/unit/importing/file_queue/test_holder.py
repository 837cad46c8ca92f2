"""Names of importers, and whether those of this machine still run."""

import subprocess
import sys
from pathlib import Path

import pytest

from nwx.importing.file_queue import holder
from nwx.importing.file_queue.holder import is_known_dead, own_holder


def test_a_process_that_runs_is_not_dead_and_one_that_ended_is() -> None:
    assert not is_known_dead(own_holder())
    program = "from nwx.importing.file_queue.holder import own_holder; print(own_holder())"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert is_known_dead(ended.stdout.decode().strip())


def test_another_process_with_the_same_number_is_not_the_holder() -> None:
    host, pid, machine, started, token = own_holder().split("/")
    assert is_known_dead("/".join((host, pid, machine, f"{int(started) - 1}", token)))


@pytest.mark.parametrize("name", ["", "host", "host/1/elsewhere/5/x", "host/x//5/x", "host/1//5/x"])
def test_nothing_is_known_of_other_machines(name: str) -> None:
    assert not is_known_dead(name)


def test_nothing_is_known_without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(holder, "_PROC", tmp_path)
    assert not is_known_dead(own_holder())
    assert own_holder() != own_holder()

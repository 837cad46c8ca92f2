"""Numbers that several processes take."""

import subprocess
import sys
from pathlib import Path

import pytest

from nwx.engine.embedded.stage.numbers import Numbers
from nwx.errors import EngineError

TAKE = """
import sys
from pathlib import Path
from nwx.engine.embedded.stage.numbers import Numbers
print(*(Numbers(Path(sys.argv[1])).take(3) for _ in range(200)))
"""


def test_numbers_are_given_once_by_all_processes(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "numbers")
    numbers.begin(7)
    command = [sys.executable, "-c", TAKE, str(tmp_path / "numbers")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    taken = [int(first) for one in running for first in one.communicate()[0].split()]
    assert sorted(taken) == list(range(7, 7 + 3 * 600, 3))
    assert numbers.take(1) == 7 + 3 * 600


def test_without_a_writer_there_are_none(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "numbers")
    with pytest.raises(EngineError, match="no process has the archive open"):
        numbers.take(1)

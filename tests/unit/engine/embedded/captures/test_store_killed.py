"""Kills while captures are stored, merged or upgraded neither lose nor split loads."""

import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.database import connect
from nwx.engine.embedded.table_damage import table_damage
from nwx.model import IndexName
from tests.conformance.archive import capture
from tests.conformance.engines.embedded import make_older
from tests.unit.engine.embedded.captures.loading_process import LOADED

ROOT = Path(__file__).parents[5]
KILLS = 5


def start(folder: Path, what: str) -> "subprocess.Popen[str]":
    module = "tests.unit.engine.embedded.captures.loading_process"
    command = [sys.executable, "-m", module, str(folder), what]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def kill(process: "subprocess.Popen[str]", seconds: float) -> str:
    """Kill a process after a while, and return its output."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
    return process.communicate()[0]


def stored(folder: Path) -> Counter[int]:
    """Count the captures of each load."""
    with EmbeddedEngine(folder, read_only=True) as engine:
        found = [one.source_file_offset for one in engine.captures("", "\U0010ffff")]
        assert engine.count(IndexName.CAPTURES) == len(found) == len(set(found))
    with closing(connect(folder / "archive.sqlite", read_only=True)) as db:
        assert not list(table_damage(db))
    return Counter(offset // 100 for offset in found)


def test_loads_are_whole_or_not_at_all(tmp_path: Path) -> None:
    chance, folder, number = random.Random(), tmp_path / "archive", 0
    with EmbeddedEngine(folder) as engine:
        engine.create()
    for _ in range(KILLS):
        process = start(folder, str(number))
        assert process.stdout is not None
        told = process.stdout.readline()
        told += kill(process, chance.random() * 0.3)
        done = int(told.split()[-1])
        found = stored(folder)
        assert set(found) >= set(range(done + 1))
        assert all(held == (LOADED if one % 2 else 1) for one, held in found.items())
        number = max(found) + 1


def test_what_is_brought_forward_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    chance, folder, wanted = random.Random(), tmp_path / "archive", 400
    with EmbeddedEngine(folder) as engine:
        urls = (f"http://a.example/{number % 40}" for number in range(wanted))
        captures = [capture(url, offset=number) for number, url in enumerate(urls)]
        engine.load_captures([captures])
        held = list(engine.captures("", "\U0010ffff"))
    make_older(engine)
    begun = shutil.copytree(folder, tmp_path / "begun")
    for _ in range(KILLS // 2):
        kill(start(begun, "forward"), 0.3 + chance.random() * 0.7)
    with EmbeddedEngine(begun) as engine:
        assert list(engine.captures("", "\U0010ffff")) == held
    assert stored(begun).total() == wanted

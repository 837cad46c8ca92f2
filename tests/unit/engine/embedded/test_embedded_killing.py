"""An importer killed at any point and restarted gives the same result as an uninterrupted one."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nwx.engine.embedded import EmbeddedEngine
from nwx.model import Collapse, IndexName
from nwx.query.question import Question
from nwx.query.tree import All, Term
from tests.unit.engine.embedded.importer import BATCHES

ROOT = Path(__file__).parents[4]
KILLS = 12


def start(folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.unit.engine.embedded.importer", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def entries(folder: Path) -> dict[IndexName, list[Mapping[str, Any]]]:
    with EmbeddedEngine(folder, read_only=True) as engine:
        return {index: list(engine.scan(index)) for index in IndexName}


def check(folder: Path) -> int:
    """Check the archive against the ledger through a reader; return the ledger's position."""
    with EmbeddedEngine(folder, read_only=True) as engine:
        done = engine.files()[0].done_to if engine.files() else 0
        everything = Question(All(), collapse=Collapse.NONE, limit=0, facets=("domain",))
        answer = engine.search(everything)
        assert answer.documents.value == 10 * done == engine.count(IndexName.DOCUMENTS)
        assert sum(value.count for value in answer.facets["domain"]) == 10 * done
        word = Question(Term("", "word5"), collapse=Collapse.NONE, limit=1000)
        assert len(engine.search(word).hits) == done
        assert engine.count(IndexName.CAPTURES) == 10 * done
        return done


def test_killed_again_and_again(tmp_path: Path) -> None:
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    with start(undisturbed) as whole:
        whole.communicate()
    assert whole.returncode == 0
    chance = random.Random()
    killed = 0
    for _ in range(KILLS):
        with start(disturbed) as process:
            assert process.stdout is not None
            for _ in range(chance.randint(0, 8)):
                process.stdout.readline()
            try:
                process.wait(chance.random() * 0.05)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
            killed += process.wait() == -signal.SIGKILL
        if (disturbed / "nwx.json").exists():
            check(disturbed)
    assert killed
    with start(disturbed) as last:
        last.communicate()
    assert last.returncode == 0
    assert check(disturbed) == BATCHES
    assert entries(disturbed) == entries(undisturbed)

"""Imports that are killed and repeated."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import COMMAND, environment, run_nwx
from tests.warcs import many_pages, write_warc

INDICES = ("documents", "dates", "captures", "files")


def dumped(engine: str, **more: str) -> dict[str, list[Any]]:
    return {index: run_nwx(engine, "dump", index, **more).json_lines for index in INDICES}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files that share pages; one of them has several parts."""
    folder = tmp_path_factory.mktemp("warcs")
    counts = [1_800, *[100] * 5]
    return [
        write_warc(folder / f"{number}.warc.gz", many_pages(count, start=number * 75))
        for number, count in enumerate(counts)
    ]


def start(engine: str, files: Sequence[Path], **more: str) -> "subprocess.Popen[bytes]":
    """Start an import in a new process group."""
    return subprocess.Popen(
        [COMMAND, "import", "--jobs", "2", *map(str, files)],
        env=environment(engine, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_for_the_end_of_all(group: int) -> None:
    """Wait until all processes of a group have ended; fail if one remains."""
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    pytest.fail("processes outlive the import")


def kill_and_go_on(
    engine: str, files: Sequence[Path], seconds: float, kills: int, **more: str
) -> int:
    """Import more and more files, killed at random moments; return how often an import was running.

    `seconds` is the duration of an uninterrupted import of all: each is killed midway, or while it
    ends and commits; sooner if it was faster.
    """
    moments, met = random.Random(7), 0
    for kill in range(kills):
        some = files[: 1 + (len(files) - 1) * (kill + 1) // kills]
        process = start(engine, some, **more)
        try:
            process.communicate(timeout=moments.uniform(0.2, 1.0) * seconds)
            seconds *= 0.6
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            met += 1
        wait_for_the_end_of_all(process.pid)
    run_nwx(engine, "import", *files, **more)
    return met


def import_calmly(engine: str, files: Sequence[Path], **more: str) -> float:
    """Import without interruption and return the seconds."""
    began = time.monotonic()
    run_nwx(engine, "import", "--jobs", 2, *files, **more)
    return time.monotonic() - began


def test_killed_imports_end_as_an_undisturbed_one(tmp_path: Path, files: list[Path]) -> None:
    killed, calm = str(tmp_path / "killed"), str(tmp_path / "calm")
    seconds = import_calmly(calm, files)
    assert kill_and_go_on(killed, files, seconds, 4) >= 2
    assert dumped(killed) == dumped(calm)
    run_nwx(killed, "check")


def test_killed_imports_into_elasticsearch_end_as_an_undisturbed_one(
    elasticsearch_url: str, files: list[Path], elasticsearch_prefix: str
) -> None:
    killed, calm = (f"{elasticsearch_prefix}-{name}" for name in ("killed", "calm"))
    seconds = import_calmly(elasticsearch_url, files, NWX_PREFIX=calm)
    assert kill_and_go_on(elasticsearch_url, files, seconds, 3, NWX_PREFIX=killed) >= 1
    assert dumped(elasticsearch_url, NWX_PREFIX=killed) == dumped(
        elasticsearch_url, NWX_PREFIX=calm
    )
    run_nwx(elasticsearch_url, "check", NWX_PREFIX=killed)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_import_says_how_to_go_on(
    tmp_path: Path, files: list[Path], number: signal.Signals, code: int
) -> None:
    engine, many = str(tmp_path / "archive"), tmp_path / "many"
    many.mkdir()
    for copy in range(200):
        os.link(files[0], many / f"{copy:03}.warc.gz")
    names = sorted(many.iterdir())
    process = start(engine, names)
    assert process.stderr is not None
    assert b"captures" in process.stderr.readline(), "the first line of progress"
    # Like a terminal: to all processes of the group.
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    assert b"run the same command again to resume" in err
    assert b"Traceback" not in err
    wait_for_the_end_of_all(process.pid)
    report = run_nwx(engine, "import", "--json", *names[:2]).json
    assert not report["interrupted"]
    run_nwx(engine, "check")

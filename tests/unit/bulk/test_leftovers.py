"""What dead processes left goes; what anybody holds, or nobody of ours made, stays."""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nwx.bulk import leftovers
from nwx.bulk.resources import temporary_folder
from nwx.bulk.whole_files import LEFT_SECONDS, hold, remove_leftovers, unfinished_path, whole_file

HOST = leftovers._HOST


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.fixture(autouse=True)
def _looks_again() -> None:
    remove_leftovers.cache_clear()


def made(path: Path, *, folder: bool = False, old: bool = False) -> Path:
    if folder:
        path.mkdir()
        (path / "entries-0").write_bytes(b"x")
    else:
        path.write_bytes(b"x")
    if old:
        os.utime(path, (time.time() - 2 * LEFT_SECONDS,) * 2)
    return path


def test_what_a_dead_process_left_goes_when_the_next_one_starts(tmp_path: Path, dead: int) -> None:
    left = [
        made(tmp_path / f".list.{HOST}.{dead}.unfinished"),
        made(tmp_path / f"nwx-{HOST}.{dead}.abcdefgh", folder=True),
        made(tmp_path / f".list.{dead}.unfinished", old=True),
        made(tmp_path / f".list.elsewhere.{os.getpid()}.unfinished", old=True),
    ]
    with whole_file(tmp_path / "other") as stream:
        stream.write(b"content")
    assert not [path for path in left if path.exists()]
    assert (tmp_path / "other").read_bytes() == b"content"


def test_what_a_process_left_goes_though_nobody_waited_for_it(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()  # until it ends
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        left = made(tmp_path / f".list.{HOST}.{process.pid}.unfinished")
        remove_leftovers(tmp_path)
    assert not left.exists()


def test_what_may_be_somebody_elses_stays(tmp_path: Path, dead: int) -> None:
    stay = [
        made(tmp_path / f".list.{HOST}.{os.getpid()}.unfinished"),
        made(tmp_path / f".list.elsewhere.{dead}.unfinished"),
        made(tmp_path / f".list.{dead}.unfinished"),
        made(tmp_path / "list.unfinished", old=True),
        made(tmp_path / "nwx-abcdefgh", folder=True, old=True),
        made(tmp_path / f"nwx-{HOST}.{dead}.longer-name", folder=True, old=True),
    ]
    target = made(tmp_path / "target", folder=True)
    (tmp_path / f"nwx-{HOST}.{dead}.linked00").symlink_to(target)
    held = made(tmp_path / f".held.{HOST}.{dead}.unfinished", old=True)
    with held.open("rb") as stream:
        hold(stream.fileno())
        with temporary_folder(tmp_path) as folder:
            assert folder.parent == tmp_path
    assert all(path.exists() for path in (*stay, held, target / "entries-0"))


def test_files_and_folders_of_living_processes_are_held(tmp_path: Path) -> None:
    with (
        whole_file(tmp_path / "list"),
        temporary_folder(tmp_path) as folder,
        unfinished_path(tmp_path / "list").open("rb") as file,
    ):
        descriptor = os.open(folder, os.O_RDONLY)
        for each in (file.fileno(), descriptor):
            with pytest.raises(BlockingIOError):
                fcntl.flock(each, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
    assert [path.name for path in tmp_path.iterdir()] == ["list"]


def test_files_of_the_longest_names_can_be_written(tmp_path: Path) -> None:
    with whole_file(tmp_path / ("x" * 255)) as stream:
        stream.write(b"content")
    assert (tmp_path / ("x" * 255)).read_bytes() == b"content"

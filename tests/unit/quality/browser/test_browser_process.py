"""Browser processes and their end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nwx.quality.browser.browser_process import kill_users_of, memory_of_tree

_WAIT = "import sys; sys.stdin.read()"


def sleeper(*arguments: str, home: str) -> "subprocess.Popen[bytes]":
    """Return a process that waits until its standard input is closed."""
    return subprocess.Popen(
        [sys.executable, "-c", _WAIT, *arguments],
        stdin=subprocess.PIPE,
        env=os.environ | {"HOME": home},
    )


@pytest.mark.parametrize(
    ("argument", "home", "is_killed"),
    [
        ("--user-data-dir={0}/1", "/", True),
        ("{0}/1/profile", "/", True),
        ("", "{0}/1", True),
        ("--user-data-dir={0}/12", "{0}/12", False),
        ("{0}/10/profile", "/", False),
        ("", "/", False),
    ],
)
def test_only_the_users_of_the_very_folder_are_killed(
    tmp_path: Path, argument: str, home: str, is_killed: bool
) -> None:
    with sleeper(argument.format(tmp_path), home=home.format(tmp_path)) as process:
        kill_users_of(f"{tmp_path}/1")
        process.communicate()
    assert (process.returncode < 0) == is_killed


def test_memory_of_a_tree() -> None:
    assert memory_of_tree(os.getpid()) > 1 << 20
    with sleeper(home="/") as process:
        process.communicate()
    assert memory_of_tree(process.pid) == 0

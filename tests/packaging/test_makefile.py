"""make demo explains what to do if the port is in use."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def demo(folder: Path, code: int) -> str:
    """Return the stderr of `make demo` when `nwx serve` exits with `code`."""
    nwx = folder / "nwx"
    nwx.write_text(f'#!/bin/sh\n[ "$3" != serve ] || exit {code}\n')
    nwx.chmod(0o755)
    command = ["make", "--assume-old=install", "demo", f"BIN={folder}"]
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    ).stderr


def test_a_port_that_is_taken_names_the_variable(tmp_path: Path) -> None:
    assert "PORT=8090" in demo(tmp_path, 2)


def test_other_ends_do_not(tmp_path: Path) -> None:
    assert "PORT" not in demo(tmp_path, 1)
    assert demo(tmp_path, 0) == ""

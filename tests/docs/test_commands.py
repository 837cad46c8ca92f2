"""The reference of the commands is what they say of themselves."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_every_command_and_option_is_documented() -> None:
    # In a process of its own, as `make docs` does it: commands are loaded when they are first
    # asked for, and here perhaps while a test holds other values in the place of constants.
    made = subprocess.run(
        [sys.executable, "-m", "tests.docs.commands"], cwd=ROOT, capture_output=True, check=True
    )
    assert (ROOT / "docs" / "commands.md").read_bytes() == made.stdout, "run `make docs`"

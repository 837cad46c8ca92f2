"""Modules that a fork server loads, and those that commands of forked processes may load."""

import os
import subprocess
import sys
from pathlib import Path

TELL = """
import os, sys
from nwx.bulk.child_processes import fork_server

def tell():
    assert "" not in sys.path
    print(os.environ.get("PYTHONSAFEPATH"), "nwx.bulk.safe_path" in sys.modules)

if __name__ == "__main__":
    process = fork_server("json").Process(target=tell)
    process.start()
    process.join()
"""


def test_nothing_of_the_working_folder_is_loaded_and_commands_find_their_modules(
    tmp_path: Path,
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not this one')")
    script = tmp_path / "scripts" / "tell.py"
    script.parent.mkdir()
    script.write_text(TELL)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("None True\n", "")

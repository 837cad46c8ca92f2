"""The environment of warcprox, which wants other libraries than ours.

`python -m tests.crawling.environment` makes it ahead of the tests.
"""

import fcntl
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "2.13.1"
CACHE = Path(__file__).parent.parent.parent / ".cache" / "warcprox"


class EnvironmentMissingError(Exception):
    """An environment that cannot be made."""


def prepare(cache: Path = CACHE) -> Path:
    """Return the Python of an environment with warcprox, made below `cache` if missing."""
    home = cache / f"warcprox-{VERSION}-{sys.version_info.major}.{sys.version_info.minor}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            _make(home)
    return home / "bin" / "python"


def _make(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        fresh = Path(folder) / "new"
        _run(sys.executable, "-m", "venv", str(fresh))
        python = str(fresh / "bin" / "python")
        _run(python, "-m", "pip", "install", "--quiet", f"warcprox=={VERSION}")
        shutil.move(fresh, home)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EnvironmentMissingError(
            f"{' '.join(command[1:])} ended with {done.returncode}: {done.stderr.strip()[-2000:]}"
        )


if __name__ == "__main__":
    print(prepare())

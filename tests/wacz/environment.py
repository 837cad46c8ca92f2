"""The environment of py-wacz, which brings libraries that ours should not have.

`python -m tests.wacz.environment` makes it ahead of the tests.
"""

import fcntl
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "0.6.0"
CACHE = Path(__file__).parent.parent.parent / ".cache" / "wacz"


def prepare(cache: Path = CACHE) -> Path:
    """Return the Python of an environment with py-wacz, made below `cache` if missing."""
    home = cache / f"wacz-{VERSION}-{sys.version_info.major}.{sys.version_info.minor}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            _make(home)
    return home / "bin" / "python"


def _make(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        fresh = Path(folder) / "new"
        subprocess.run([sys.executable, "-m", "venv", str(fresh)], check=True)
        install = [str(fresh / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, f"wacz=={VERSION}"], check=True)
        shutil.move(fresh, home)


if __name__ == "__main__":
    print(prepare())

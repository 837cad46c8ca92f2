"""Environments of crawlers from PyPI, which want other libraries than ours.

`python -m tests.crawling.environment` makes all of them ahead of the tests.
"""

import fcntl
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WARCPROX = "warcprox==2.13.1"
SCRAPY = ("scrapy==2.13.0 twisted==24.11.0", "scrapy==2.19.0")
"""The oldest Scrapy that the adapter works with, which needs an older Twisted, and the newest."""
CACHE = Path(__file__).parent.parent.parent / ".cache"


class EnvironmentMissingError(Exception):
    """An environment that cannot be made."""


def prepare(requirements: str = WARCPROX, cache: Path = CACHE) -> Path:
    """Return the Python of an environment with packages, made below `cache` if missing."""
    name, _, version = requirements.split()[0].partition("==")
    folder = cache / name
    home = folder / f"{name}-{version}-{sys.version_info.major}.{sys.version_info.minor}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            _make(home, requirements.split())
    return home / "bin" / "python"


def _make(home: Path, requirements: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        fresh = Path(folder) / "new"
        _run(sys.executable, "-m", "venv", str(fresh))
        python = str(fresh / "bin" / "python")
        _run(python, "-m", "pip", "install", "--quiet", *requirements)
        shutil.move(fresh, home)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EnvironmentMissingError(
            f"{' '.join(command[1:])} ended with {done.returncode}: {done.stderr.strip()[-2000:]}"
        )


if __name__ == "__main__":
    for wanted in (WARCPROX, *SCRAPY):
        print(prepare(wanted))

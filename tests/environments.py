"""Environments of PyPI and npm packages that need other library versions than nwx.

`python -m tests.environments` creates all of them before the tests.
"""

import fcntl
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WACZ = "wacz==0.6.0"
WARCPROX = "warcprox==2.13.1"
SCRAPY = ("scrapy==2.13.0 twisted==24.11.0", "scrapy==2.19.0")
"""The oldest Scrapy that the adapter supports, which needs an older Twisted, and the newest."""
CDX_CLIENTS = "wayback==0.5.1 cdx_toolkit==0.9.39"
REDIS_PY = "redis==8.1.0"
IOREDIS = "ioredis@5.9.2"
CACHE = Path(__file__).parent.parent / ".cache"


class EnvironmentMissingError(Exception):
    """An environment that cannot be created."""


def prepare(requirements: str, cache: Path = CACHE) -> Path:
    """Return the Python of an environment with packages, created below `cache` if missing."""
    name, _, version = requirements.split()[0].partition("==")
    folder = cache / name
    home = folder / f"{name}-{version}-{sys.version_info.major}.{sys.version_info.minor}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            with tempfile.TemporaryDirectory(dir=folder) as fresh:
                new_environment(Path(fresh) / "new", *requirements.split())
                shutil.move(Path(fresh) / "new", home)
    return home / "bin" / "python"


def prepare_npm(package: str, cache: Path = CACHE) -> Path:
    """Return the folder of an npm package (`name@version`), created below `cache` if missing."""
    name = package.partition("@")[0]
    folder, home = cache / name, cache / name / package
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            with tempfile.TemporaryDirectory(dir=folder) as fresh:
                command = ("npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix")
                if failure := _run(*command, f"{fresh}/new", package):
                    raise EnvironmentMissingError(failure)
                shutil.move(f"{fresh}/new", home)
    return home / "node_modules" / name


def new_environment(home: Path, *packages: str) -> None:
    """Create an environment with packages.

    Uses uv, which takes a fifth of pip's time but ignores pip's settings; if it fails, pip.
    """
    python = str(home / "bin" / "python")
    uv = (sys.executable, "-m", "uv", "--quiet")
    if not (
        _run(*uv, "venv", "--seed", "--python", sys.executable, str(home))
        or _run(*uv, "pip", "install", "--python", python, *packages)
    ):
        return
    shutil.rmtree(home, ignore_errors=True)
    if failure := (
        _run(sys.executable, "-m", "venv", str(home))
        or _run(python, "-m", "pip", "install", "--quiet", *packages)
    ):
        raise EnvironmentMissingError(failure)


def _run(*command: str) -> str:
    """Run a command and return the reason of its failure, "" on success."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    return f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-2000:]}"


if __name__ == "__main__":
    for wanted in (WACZ, WARCPROX, CDX_CLIENTS, REDIS_PY, *SCRAPY):
        print(prepare(wanted))
    print(prepare_npm(IOREDIS))

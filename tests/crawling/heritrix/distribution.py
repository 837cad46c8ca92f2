"""The jars of Heritrix, brought by Maven.

`python -m tests.crawling.heritrix.distribution` brings them ahead of the tests.
"""

import fcntl
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION = "3.13.0"
CACHE = Path(__file__).parent.parent.parent.parent / ".cache" / "heritrix"
_POM = Path(__file__).parent / "pom.xml"


class HeritrixMissingError(Exception):
    """A Heritrix that cannot be brought."""


def prepare(cache: Path = CACHE) -> Path:
    """Return the folder of the jars of Heritrix, brought below `cache` if missing."""
    home = cache / f"heritrix-{VERSION}-contrib"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            _bring(home)
    return home


def _bring(home: Path) -> None:
    if shutil.which("mvn") is None:
        raise HeritrixMissingError("Heritrix is brought by Maven, and there is no mvn; install it")
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        jars = Path(folder) / "lib"
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        done = subprocess.run(
            ["mvn", "-q", "-B", "-f", str(_POM), *copy], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise HeritrixMissingError(
                f"mvn ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}"
            )
        shutil.move(jars, home)


if __name__ == "__main__":
    print(prepare())

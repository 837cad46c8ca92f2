"""The jars of Heritrix, downloaded by Maven.

`python -m tests.crawling.heritrix.distribution` downloads them before the tests.
"""

import fcntl
import shutil
import tempfile
from pathlib import Path

from tests.maven import bring_dependencies

VERSION = "3.13.0"
CACHE = Path(__file__).parent.parent.parent.parent / ".cache" / "heritrix"
_POM = Path(__file__).parent / "pom.xml"


def prepare(cache: Path = CACHE) -> Path:
    """Return the folder of the jars of Heritrix, downloaded below `cache` if missing."""
    home = cache / f"heritrix-{VERSION}-contrib"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            _bring(home)
    return home


def _bring(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        bring_dependencies(Path(folder) / "lib", _POM)
        shutil.move(Path(folder) / "lib", home)


if __name__ == "__main__":
    print(prepare())

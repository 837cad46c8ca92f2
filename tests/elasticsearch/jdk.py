"""The JDK that runs the test server and compiles its plugin."""

import os
import re
from pathlib import Path

OLDEST = 21
_FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/local/lib/jvm/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


class JdkError(Exception):
    """No JDK of a suitable version."""


def find_jdk(oldest: int = OLDEST, newest: int | None = None) -> Path:
    """Return the home of a JDK in this version range; `newest` None sets no upper bound.

    Checks ES_JAVA_HOME, JAVA_HOME, then installed JDKs, newest first.
    """
    tried: list[str] = []
    for home in _candidates():
        version = _version(home)
        compiler = (home / "bin" / "javac").exists()
        if oldest <= version <= (newest or version) and compiler:
            return home
        tried.append(f"{home}: version {version or 'unknown'}{'' if compiler else ', no javac'}")
    until = f"to {newest}" if newest else "or newer"
    raise JdkError(
        f"the test server needs a JDK of version {oldest} {until}; install one (Debian: "
        f"openjdk-21-jdk-headless, or Temurin) or name it in ES_JAVA_HOME; "
        f"found: {'; '.join(tried) or 'none'}"
    )


def _candidates() -> list[Path]:
    named = [
        Path(os.environ[name]) for name in ("ES_JAVA_HOME", "JAVA_HOME") if os.environ.get(name)
    ]
    installed = {
        path.resolve() for pattern in _FOLDERS for path in Path("/").glob(pattern.lstrip("/"))
    }
    installed |= {path.resolve() for path in Path.home().glob(".sdkman/candidates/java/*")}
    return named + sorted(installed, key=_version, reverse=True)


def _version(home: Path) -> int:
    try:
        found = _VERSION.search((home / "release").read_text(encoding="utf-8"))
    except OSError:
        return 0
    return int(found[1]) if found else 0

"""The Java that runs Spark in the tests."""

import os
from pathlib import Path

from nwx.jobs.session import OLDEST_JAVA, java_version

_FOLDERS = (
    "usr/lib/jvm/*",
    "usr/local/lib/jvm/*",
    "opt/java/*",
    "opt/jdk*",
    "Library/Java/JavaVirtualMachines/*/Contents/Home",
)


def find_java() -> Path:
    """Return the home of the oldest Java that can run Spark: JAVA_HOME, or an installed one.

    Tests use the oldest, as newer ones print warnings about Spark's use of internals.
    """
    named = os.environ.get("JAVA_HOME")
    installed = {path.resolve() for pattern in _FOLDERS for path in Path("/").glob(pattern)}
    found = [Path(named)] if named else sorted(installed, key=java_version)
    good = [home for home in found if java_version(home) >= OLDEST_JAVA]
    assert good, f"the tests of jobs need Java {OLDEST_JAVA}; install one or name it in JAVA_HOME"
    return good[0]

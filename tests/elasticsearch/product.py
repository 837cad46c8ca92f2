"""Differences between the test servers of Elasticsearch and OpenSearch."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FRUGAL = "-XX:TieredStopAtLevel=1"
"""Minimal JIT compilation: a server that lives for minutes takes a fifth less CPU time."""


@dataclass(frozen=True, slots=True)
class Product:
    """A search server that the tests can run.

    `prepare` returns the folder of one that is ready to run, `find_jdk` its JDK. `variable` is the
    prefix of its environment variables; `settings` are configuration lines in addition to the
    common ones.
    """

    name: str
    variable: str
    prepare: Callable[[], Path]
    find_jdk: Callable[[], Path]
    settings: str = ""

    def environment(self, folder: Path, options: str) -> dict[str, str]:
        """Return the environment of a server whose configuration is in a folder."""
        return {
            f"{self.variable}_JAVA_HOME": str(self.find_jdk()),
            f"{self.variable}_PATH_CONF": str(folder / "config"),
            f"{self.variable}_TMPDIR": str(folder / "tmp"),
            f"{self.variable}_JAVA_OPTS": options,
        }

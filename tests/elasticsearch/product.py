"""What the test servers of Elasticsearch and OpenSearch differ in."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FRUGAL = "-XX:TieredStopAtLevel=1"
"""A server that lives for some minutes is compiled once only: it takes a fifth less processor."""


@dataclass(frozen=True, slots=True)
class Product:
    """A search server that the tests can run.

    `prepare` returns the folder of one that is ready to run, `find_jdk` the
    JDK for it. `variable` is how the names of its environment variables
    begin; `settings` are lines of its configuration beyond those of all.
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

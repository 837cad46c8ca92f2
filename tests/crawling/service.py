"""nwx next to a crawl: a watch, and a service that crawlers query."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.conftest import COMMAND, environment, run_nwx


@dataclass(frozen=True, slots=True)
class Place:
    """An archive, and the folder of the crawls loaded into it."""

    engine: str
    folder: Path
    settings: dict[str, str]

    @contextmanager
    def started(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """Run a command during the block, and end it cleanly."""
        with subprocess.Popen(
            [COMMAND, *arguments],
            env=environment(self.engine, PYTHONUNBUFFERED="1", **self.settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
                process.send_signal(signal.SIGTERM)
                _, err = process.communicate(timeout=60)
                assert "Traceback" not in err, err
            finally:
                process.kill()

    @contextmanager
    def served(self, *options: str) -> Iterator[str]:
        """Yield the address of `nwx serve`."""
        with self.started("serve", "--port", "0", "--no-replay", *options) as process:
            assert process.stdout is not None
            yield process.stdout.readline().partition(" at ")[2].split()[0].rstrip("/")

    def load(self, folder: Path) -> None:
        """Load the files written by a crawl."""
        run_nwx(self.engine, "watch", folder, "--once", "--settle", 0, **self.settings)

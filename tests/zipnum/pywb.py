"""A pywb in a separate process, as importing it would patch this one."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SECONDS_TO_START = 90


@dataclass(frozen=True, slots=True)
class Pywb:
    """A running pywb."""

    address: str

    def ask(self, collection: str, **query: str) -> str:
        """Return the answer of its CDX server."""
        return self.get(f"{collection}/cdx?{urllib.parse.urlencode(query)}")

    def get(self, path: str) -> str:
        """Return the content at a path."""
        with urllib.request.urlopen(f"{self.address}/{path}", timeout=60) as answer:
            return str(answer.read().decode())

    def places(self, collection: str, **query: str) -> list[int]:
        """Return the offsets of the captures found."""
        lines = self.ask(collection, **query).splitlines()
        return [int(json.loads(line.split(" ", 2)[2])["offset"]) for line in lines]

    def all_pages(self, collection: str, **query: str) -> list[int]:
        """Return the offsets of the captures on all pages, requested one by one."""
        pages = self.page_count(collection, **query)["pages"]
        found = [self.places(collection, page=str(page), **query) for page in range(pages)]
        return [place for places in found for place in places]

    def page_count(self, collection: str, **query: str) -> Any:
        """Return its answer about the number of pages."""
        return json.loads(self.ask(collection, showNumPages="true", **query))


@contextmanager
def running_pywb(root: Path) -> Iterator[Pywb]:
    """Run a pywb on the folder collections/ below `root`; yield it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "pywb"), "-b", "127.0.0.1", "-p", str(port)]
    with (root / "log").open("wb") as log:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        process = subprocess.Popen(command, cwd=root, stdout=log, stderr=log, env=environment)
    try:
        _wait(port, process, root / "log")
        yield Pywb(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()


def _wait(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"pywb did not start: {log.read_text()[-2000:]}")

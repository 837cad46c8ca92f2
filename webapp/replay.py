"""Playback: pywb in a process of its own, started and ended here.

A process of its own, because importing pywb patches the standard library
for gevent, and because archived pages are hostile: they are served from
another origin (another port) than the pages of nwx.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from nwx.engine.base import Engine
from nwx.errors import NwxError
from nwx.model import Capture, SourceFile
from webapp.listening import address_of, port_of
from webapp.playback import COLLECTION
from webapp.stored import file_key, stored_address

START_SECONDS = 60
END_SECONDS = 5
TEMPLATES = Path(__file__).parent / "player_templates"
# gevent asks to come before all else, also before the modules that lead to the player.
_PROGRAM = (
    "from gevent.monkey import patch_all; patch_all()\n"
    "import sys; from webapp.player import main; main(sys.argv[1])"
)
_ADDRESSES = ("http://", "https://", "s3://")
_MEMBER = ".wacz#"


class ReplayError(NwxError):
    """Playback that cannot be started."""


class PathIndex:
    """The file by which pywb finds archive files, kept up with the import ledger."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine = engine
        self._path = path
        self._known: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self.refresh()

    def cover(self, captures: Iterable[Capture]) -> None:
        """Read the ledger again where it may know files of captures that the index lacks."""
        wanted = {(capture.collection, capture.source_file) for capture in captures}
        with self._lock:
            if not wanted <= self._known:
                self.refresh()
                # What the ledger does not know either is not asked for again and again.
                self._known |= wanted

    def refresh(self) -> None:
        """Write the index anew, whole or not at all."""
        files = self._engine.files()
        self._known = {(file.collection, file.name) for file in files}
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(b"".join(sorted(path_line(file) for file in files)))
        fresh.replace(self._path)


def path_line(file: SourceFile) -> bytes:
    """Return the line of a file in pywb's path index: key, tab, address."""
    name, member = file.path, ""
    if _MEMBER in file.name:
        member = file.name.partition("#")[2]
    if not name.startswith(_ADDRESSES):
        name = stored_address(str(Path(name).absolute()), member)
    return f"{file_key(file.collection, file.name)}\t{name}\n".encode()


class ReplayProcess:
    """pywb, running from entry to exit.

    `search` is the address of the search service as this machine reaches
    it, `search_url` as readers do, "" for the same host at the same port.
    `listening` is handed to the process.
    """

    def __init__(
        self, engine: Engine, listening: socket.socket, search: str, search_url: str = ""
    ) -> None:
        self._listening = listening
        self._index_address = f"{search}/cdx"
        self._search_url = search_url.rstrip("/")
        self._search_port = urlsplit(search).port or 80
        self._temporary = tempfile.TemporaryDirectory(prefix="nwx-replay-")
        self.folder = Path(self._temporary.name)
        self._process: subprocess.Popen[bytes] | None = None
        self._log = (self.folder / "log").open("w+b")
        self.port = port_of(listening)
        self.address = address_of(listening)
        self.paths = PathIndex(engine, self.folder / "paths.txt")

    def __enter__(self) -> Self:
        try:
            self._start()
            self._wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self) -> None:
        # pywb takes the templates of its working folder before its own.
        shutil.copytree(TEMPLATES, self.folder / "templates")
        config = self.folder / "config.yaml"
        config.write_text(json.dumps(self._config()), encoding="utf-8")
        descriptor = self._listening.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(config)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[descriptor],
        )
        self._listening.close()

    def _config(self) -> dict[str, object]:
        """Return pywb's configuration, which YAML reads as JSON."""
        return {
            "nwx_socket": self._listening.fileno(),
            "collections": {
                COLLECTION: {
                    "index": {"type": "nwx", "address": self._index_address},
                    "archive_paths": str(self.folder / "paths.txt"),
                }
            },
            "collections_root": "collections",
            "enable_auto_colls": False,
            "ui": {"search_url": self._search_url, "search_port": self._search_port},
        }

    def _wait(self) -> None:
        """Return once pywb answers."""
        address = f"{self.address}/static/wb_frame.js"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process and self._process.poll() is not None:
                raise ReplayError(f"playback ended at its start: {self._last_words()}")
            try:
                with urllib.request.urlopen(address, timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        raise ReplayError(f"playback did not answer within {START_SECONDS} s: {self._last_words()}")

    def _last_words(self) -> str:
        self._log.seek(0)
        return self._log.read()[-2_000:].decode("utf-8", "replace").strip() or "it said nothing"

    def close(self) -> None:
        """End the process and take its files away; closing twice is harmless."""
        process, self._process = self._process, None
        if process:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdin:
                process.stdin.close()
        self._listening.close()
        self._log.close()
        self._temporary.cleanup()

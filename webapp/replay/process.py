"""Playback: the pywb process, its start, restart and end.

A separate process, because importing pywb patches the standard library
for gevent, and because archived pages are hostile: they are served from
another origin (another port) than the pages of nwx.
"""

import json
import logging
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from cachetools import TTLCache

from nwx.access.user_options import UserOptions
from nwx.bulk.resources import temporary_folder
from nwx.bulk.whole_files import writing
from nwx.engine.base import Engine
from nwx.errors import NwxError, system_reason
from nwx.model import SourceFile
from webapp.headers import hostname, playback_host
from webapp.replay.routes import COLLECTION
from webapp.replay.stored_records import file_key, stored_address
from webapp.server.connections import address_of, loopback_of, port_of
from webapp.server.protection import SharedProtection
from webapp.site.context import PlaybackState
from webapp.site.viewer import ViewerPasses

CONFIG = "config.yaml"
_STATE = "state.json"
_KEY = "viewer-key"
START_SECONDS = 60
FIRST_PAUSE_SECONDS = 0.5
MOST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 60.0
"""After this run time, the pause before a restart is FIRST_PAUSE_SECONDS again."""

END_SECONDS = 5
MISSED_FILES, MISSED_SECONDS = 100_000, 5.0
"""How many files without a known path are not looked up again, and for how long."""
OWN_FILES = ("templates", "static")
"""The folders of files that override those of pywb."""

# gevent must patch before all other imports, including those of the player.
_PROGRAM = (
    "from gevent.monkey import patch_all; patch_all()\n"
    "import sys; from webapp.replay.player import main; main(sys.argv[1])"
)
_ADDRESSES = ("http://", "https://", "s3://")
_MEMBER = ".wacz#"

_log = logging.getLogger(__name__)

_File = tuple[str, str]  # collection and name


class ReplayError(NwxError):
    """Playback cannot be started."""


class PathIndex:
    """The path index by which pywb finds archive files, updated from the import ledger."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine = engine
        self._path = path
        self._places: dict[_File, str] = {}
        self._missed: TTLCache[_File, None] = TTLCache(MISSED_FILES, MISSED_SECONDS)
        self._lock = threading.Lock()
        self.refresh()

    def cover(self, files: Iterable[_File]) -> None:
        """Read the ledger again if files are missing from the index, or were moved.

        Files that the ledger lacks too are not looked up again for
        MISSED_SECONDS.
        """
        with self._lock:
            missing = [file for file in set(files) if self._is_missing(file)]
            if missing:
                self.refresh()
                self._missed.update(dict.fromkeys(missing))

    def _is_missing(self, file: _File) -> bool:
        if file in self._missed:
            return False
        place = self._places.get(file)
        return place is None or not (place.startswith(_ADDRESSES) or Path(place).exists())

    def refresh(self) -> None:
        """Rewrite the index atomically; raises SourceError if that fails."""
        files = self._engine.files()
        self._places = {(file.collection, file.name): file.path for file in files}
        # Several processes may write it at once.
        fresh = self._path.with_suffix(f".{os.getpid()}.new")
        with writing(self._path):
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


@dataclass(frozen=True, slots=True)
class PlaybackFolder:
    """The folder of a running playback, shared with other processes."""

    folder: Path

    @property
    def paths(self) -> Path:
        """pywb's path index of archive files."""
        return self.folder / "paths.txt"

    def make_key(self) -> None:
        """Create the key with which pages and playback sign viewer passes."""
        fresh = self.folder / _KEY
        fresh.touch(0o600)
        fresh.write_text(secrets.token_hex(32), encoding="ascii")

    def passes(self) -> ViewerPasses:
        """Return the signer of viewer passes."""
        return ViewerPasses((self.folder / _KEY).read_text(encoding="ascii"))

    def tell(self, state: PlaybackState) -> None:
        """Publish a state to other processes."""
        fresh = self.folder / f"{_STATE}.new"
        fresh.write_text(json.dumps(asdict(state)), encoding="utf-8")
        fresh.replace(self.folder / _STATE)

    def state(self) -> PlaybackState:
        """Return the last published state."""
        return PlaybackState(**json.loads((self.folder / _STATE).read_text(encoding="utf-8")))


class ReplayProcess:
    """A pywb process that runs from entry to exit and is restarted if it ends.

    `search` is the local address of the search service, `search_url` its
    public one, "" for the playback host at the same port; `title` is the name
    of the archive; `users` has the trusted proxies.
    `own` is the public address of playback, "" for another name of this
    machine; `host_names` are as in `is_known_host`. `shared` has the rate
    limits and request counts. `listening` is inherited by the process and its
    successors: requests during a restart wait.
    """

    def __init__(
        self,
        engine: Engine,
        listening: socket.socket,
        search: str,
        search_url: str = "",
        title: str = "nwx",
        users: UserOptions | None = None,
        own: str = "",
        host_names: frozenset[str] | None = None,
        shared: SharedProtection | None = None,
    ) -> None:
        self._engine = engine
        self._users = users or UserOptions()
        self._title = title
        self._listening = listening
        self._index_address = f"{search}/cdx"
        self._search_url = search_url.rstrip("/")
        self._search_port = urlsplit(search).port or 80
        self._ending = ExitStack()
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._state = PlaybackState()
        self._process: subprocess.Popen[bytes]
        self.port = port_of(listening)
        self.address = address_of(listening)
        self._own = own.rstrip("/")
        self._host_names = host_names
        self._shared = shared
        self.loopback = loopback_of(listening)
        self.folder: Path
        self.shared: PlaybackFolder
        self.paths: PathIndex

    def __enter__(self) -> Self:
        with self._ending:
            self._ending.enter_context(self._listening)
            self.folder = self._ending.enter_context(temporary_folder())
            self.shared = PlaybackFolder(self.folder)
            self.shared.tell(self._state)
            self.shared.make_key()
            self.paths = PathIndex(self._engine, self.shared.paths)
            self._write_config()
            self._process = self._start()
            self._ending.callback(self._end)
            self._wait(self._process)
            watch = threading.Thread(target=self._keep_running, name="replay-watch", daemon=True)
            watch.start()
            self._ending.callback(watch.join)
            self._ending.callback(self._end)
            self._ending = self._ending.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def own(self) -> str:
        """The public address of playback."""
        host = hostname(urlsplit(self.address).netloc)
        return self._own or f"http://{playback_host(host)}:{self.port}"

    @property
    def pid(self) -> int:
        """The id of the running or last process."""
        return self._process.pid

    def state(self) -> PlaybackState:
        """Return whether playback runs now, and if not, why."""
        return self._state

    def _note(self, state: PlaybackState) -> None:
        self._state = state
        self.shared.tell(state)

    def _write_config(self) -> None:
        for name in OWN_FILES:
            shutil.copytree(Path(__file__).parent / name, self.folder / name)
        config = self.folder / CONFIG
        config.write_text(json.dumps(self._config()), encoding="utf-8")

    def _start(self) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(self.folder / CONFIG)],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[self._listening.fileno()],
            )

    def _keep_running(self) -> None:
        """Restart the process whenever it ends, after pauses that grow while it fails."""
        pause, started = FIRST_PAUSE_SECONDS, time.monotonic()
        while True:
            code = self._process.wait()
            if self._closing.is_set():
                return
            self._note(PlaybackState(False, self._state.restarts, _ended_words(code)))
            _log.warning("%s (%s)", self._state.message, self._last_words())
            if time.monotonic() - started > STEADY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            if self._closing.wait(pause):
                return
            pause, started = min(2 * pause, MOST_PAUSE_SECONDS), time.monotonic()
            self._start_again()

    def _start_again(self) -> None:
        """Restart the process, unless the service is ending; record the outcome in the state."""
        try:
            with self._lock:
                if self._closing.is_set():
                    return
                _end(self._process)
                self._process = self._start()
            self._wait(self._process)
        except (OSError, ReplayError) as error:
            self._note(replace(self._state, message=str(system_reason(error))))
            self._process.kill()
        else:
            self._note(PlaybackState(restarts=self._state.restarts + 1))
            _log.warning("playback is running again")

    def _end(self) -> None:
        self._closing.set()
        with self._lock:
            _end(self._process)

    def _config(self) -> dict[str, object]:
        """Return pywb's configuration; it is written as JSON, which YAML includes."""
        return {
            "nwx_socket": self._listening.fileno(),
            "collections": {
                COLLECTION: {
                    "index": {"type": "nwx", "address": self._index_address},
                    "archive_paths": str(self.shared.paths),
                }
            },
            "collections_root": "collections",
            "enable_auto_colls": False,
            "nwx_search": {
                "url": self._search_url,
                "port": self._search_port,
                "loopback": self.loopback,
                "title": self._title,
            },
            "nwx_own": self._own,
            "nwx_hosts": None if self._host_names is None else sorted(self._host_names),
            "nwx_protection": None if self._shared is None else asdict(self._shared),
            "nwx_proxies": {
                "trusted": list(map(str, self._users.trusted_proxies)),
                "naming": list(map(str, self._users.naming_proxies)),
            },
        }

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until pywb answers; raise ReplayError if it ends, or after START_SECONDS."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise ReplayError(f"playback ended at startup: {self._last_words()}")
            if _answers(self.address):
                return
            time.sleep(0.1)
        raise ReplayError(f"playback did not answer within {START_SECONDS} s: {self._last_words()}")

    def _last_words(self) -> str:
        log = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        return log.strip()[-2_000:] or "it said nothing"

    def close(self) -> None:
        """End the process and delete its files; may be called twice."""
        self._ending.close()


def _answers(address: str) -> bool:
    """Return whether pywb answers at an address, bypassing proxies."""
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        connection.request("GET", "/static/wb_frame.js")
        return connection.getresponse().status < HTTPStatus.BAD_REQUEST
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _ended_words(code: int) -> str:
    """Return a message about the end of a process with an exit code."""
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"playback ended unexpectedly ({how}) and is being restarted"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin:
        process.stdin.close()

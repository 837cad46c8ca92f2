"""Playback for a command: the service and its player at free ports of loopback.

They run in processes of their own, which end with the command, even when
that is killed: they wait for the end of its pipe.
"""

import json
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nwx.errors import NwxError, SourceError
from nwx.settings import Settings
from webapp.replay.routes import COLLECTION
from webapp.server.service import ServiceAddresses, ServiceSettings, serve_pages

_PROGRAM = "from webapp.server.local_playback import serve_until_left; serve_until_left()"
_START_SECONDS = 120
_END_SECONDS = 15


@contextmanager
def local_playback(archive: Settings) -> Iterator[str]:
    """Give the address of playback of an archive, up to the timestamp of a capture.

    Raises SourceError where it does not start.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        # Ctrl-C is for the command, which ends this process itself.
        process_group=0,
    )
    try:
        yield f"{_started(process, archive)}/{COLLECTION}"
    finally:
        _end(process)


def _started(process: "subprocess.Popen[bytes]", archive: Settings) -> str:
    """Tell a process what to play; return where it does."""
    if process.stdin is None or process.stdout is None:
        raise SourceError("playback cannot be talked with")
    with suppress(BrokenPipeError):
        pickle.dump(archive, process.stdin)
        process.stdin.flush()
    ready, _, _ = select.select([process.stdout], [], [], _START_SECONDS)
    line = process.stdout.readline() if ready else b""
    told = json.loads(line) if line.endswith(b"\n") else {}
    if "playback" not in told:
        raise SourceError(f"playback does not start: {told.get('error', 'it ended or hangs')}")
    return str(told["playback"])


def _end(process: "subprocess.Popen[bytes]") -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def serve_until_left() -> None:
    """Play the archive that standard input names, until that ends; standard output tells where."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    archive: Settings = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    settings = ServiceSettings(port=0, workers=1)
    try:
        serve_pages(archive, settings, _tell_addresses)
    except KeyboardInterrupt:
        return
    except NwxError as error:
        _tell({"error": str(error)})


def _end_with_parent() -> None:
    """End this process as a service is ended once nobody holds its standard input."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _tell_addresses(addresses: ServiceAddresses) -> None:
    _tell({"playback": addresses.replay})


def _tell(message: dict[str, str]) -> None:
    # The parent may have gone.
    with suppress(OSError):
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

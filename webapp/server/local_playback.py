"""Playback for a command: the service and its player at free ports of loopback.

They run in processes of their own, which end with the command, even when
that is killed: they wait for the end of its connection.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from nwx.bulk.child_processes import ChildProcess
from nwx.errors import NwxError, SourceError
from nwx.settings import Settings
from webapp.replay.routes import COLLECTION
from webapp.server.service import ServiceSettings, serve_pages

_START_SECONDS = 120
_END_SECONDS = 15


@contextmanager
def local_playback(archive: Settings) -> Iterator[str]:
    """Give the address of playback of an archive, up to the timestamp of a capture.

    Raises SourceError where it does not start.
    """
    process = ChildProcess(serve_until_left)
    try:
        yield f"{_started(process.connection, archive)}/{COLLECTION}"
    finally:
        process.end(_END_SECONDS)


def _started(connection: "Connection[Settings, dict[str, str]]", archive: Settings) -> str:
    """Tell a process what to play; return where it does."""
    told: dict[str, str] = {}
    with suppress(EOFError, OSError):
        connection.send(archive)
        if connection.poll(_START_SECONDS):
            told = connection.recv()
    if "playback" not in told:
        raise SourceError(f"playback does not start: {told.get('error', 'it ended or hangs')}")
    return told["playback"]


def serve_until_left(connection: "Connection[dict[str, str], Any]") -> None:
    """Play the archive that comes over a connection until that is closed; send where it plays."""
    archive: Settings = connection.recv()
    threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()

    def send(message: dict[str, str]) -> None:
        with suppress(OSError):  # the parent may have gone
            connection.send(message)

    settings = ServiceSettings(port=0, workers=1)
    try:
        serve_pages(archive, settings, lambda addresses: send({"playback": addresses.replay}))
    except KeyboardInterrupt:
        return
    except NwxError as error:
        send({"error": str(error)})


def _end_with_parent(connection: "Connection[dict[str, str], Any]") -> None:
    """End this process as a service is ended, once nobody holds the other end."""
    with suppress(EOFError, OSError):
        connection.recv()
    os.kill(os.getpid(), signal.SIGTERM)

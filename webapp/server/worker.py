"""A process that answers: it is handed connections, and ends when nobody can hand it any more."""

import asyncio
import logging
import pickle
import socket
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Protocol

from nwx.bulk.process_limits import collect_rarely
from nwx.errors import NwxError
from webapp.hosts import Application, ShortAnswers
from webapp.server.http_server import HttpServer

READY, CLOSED, FAILED = b"r", b"c", b"f"
"""What a worker tells: it answers; a connection was closed; an error follows, pickled."""


@dataclass(frozen=True, slots=True)
class OpenedApplication:
    """An application, and what gives its short answers, if anything."""

    application: Application
    at_once: ShortAnswers | None = None


class ApplicationMaker(Protocol):
    """What opens an application in a worker; it can be pickled."""

    def open(self, stack: ExitStack) -> OpenedApplication:
        """Return the application; what it needs is closed with `stack`."""


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """What a worker serves, with how many threads, and where clients find it."""

    maker: ApplicationMaker
    place: tuple[str, int]
    threads: int
    token: str = ""


def main(channel_number: int) -> None:
    """Serve what the order at standard input says, over the channel of this number."""
    channel = socket.socket(fileno=channel_number)
    order: WorkerOrder = pickle.load(sys.stdin.buffer)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    with channel, ExitStack() as stack:
        try:
            opened = order.maker.open(stack)
        except NwxError as error:
            channel.sendall(FAILED + pickle.dumps(error))
            return
        server = HttpServer(
            opened.application, order.place, order.threads, order.token, opened.at_once
        )
        collect_rarely()
        channel.setblocking(False)
        connections = HandedConnections(channel, server)
        server.on_start, server.on_closed = connections.begin, connections.tell_closed
        server.run()


class HandedConnections:
    """Takes connections from a channel, and tells at its other end when they are closed."""

    def __init__(self, channel: socket.socket, server: HttpServer) -> None:
        self._channel = channel
        self._server = server
        self._untold = b""
        self._loop: asyncio.AbstractEventLoop

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell that all is ready, and take connections from now on."""
        self._loop = loop
        loop.add_reader(self._channel, self._take)
        self._tell(READY)

    def _take(self) -> None:
        """Take the connections that are there; the end of the channel ends the server."""
        while True:
            try:
                data, numbers, _, _ = socket.recv_fds(self._channel, 1, 1)
            except BlockingIOError:
                return
            except ConnectionError:
                data, numbers = b"", []
            for number in numbers:
                self._server.adopt(socket.socket(fileno=number))
            if not data:
                self._loop.remove_reader(self._channel)
                self._server.close()
                return

    def tell_closed(self) -> None:
        """Tell that a connection was closed."""
        self._tell(CLOSED)

    def _tell(self, message: bytes) -> None:
        self._untold += message
        # What cannot be sent now is told with the next message, or nobody listens any more.
        with suppress(OSError):
            self._untold = self._untold[self._channel.send(self._untold) :]

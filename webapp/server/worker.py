"""A worker process: uvicorn, serving connections handed over a channel until that closes."""

import asyncio
import logging
import os
import pickle
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

from uvicorn import Config, Server

from nwx.bulk.process_limits import collect_rarely
from nwx.errors import NwxError
from webapp.headers import ROBOTS, Application, ShortAnswers, is_host, is_known_host
from webapp.server import connections
from webapp.server.http_connection import MOST_BODY_BYTES, HttpConnection
from webapp.server.metrics import RequestCounts
from webapp.server.wsgi_answers import WsgiBridge

LOOK_SECONDS = 1.0
"""How often timeouts of connections are checked."""

LAST_ANSWERS_SECONDS = 5
"""How long to wait for unfinished responses at shutdown."""

RESERVE = 100
"""Connections allowed over MOST_CONNECTIONS while all are being answered."""


class HttpServer(Server):
    """An HTTP server of a WSGI application, at a listening socket or adopted connections.

    `at_once` and `counts` are as in `WsgiBridge`. Bodies may have MOST_BODY_BYTES, or the bytes
    that `body_limits` has for a prefix of their path. `host_names` are as in `is_known_host`.
    Paths may begin with `prefix`, if a proxy does not remove it. `on_start` is called with the
    loop once connections are accepted, `on_begun` with the number of each adopted connection
    when its first bytes were read, `on_closed` after the end of each.
    """

    def __init__(
        self,
        application: Application,
        place: tuple[str, int],
        threads: int,
        token: str = "",
        at_once: ShortAnswers | None = None,
        body_limits: Mapping[str, int] | None = None,
        host_names: frozenset[str] | None = None,
        counts: RequestCounts | None = None,
        prefix: str = "",
    ) -> None:
        self._body_limits = body_limits or {}
        self._host_names = host_names
        self.token = token
        self.place = place
        self.prefix = prefix.encode()
        self.on_start: Callable[[asyncio.AbstractEventLoop], None] = lambda loop: None
        self.on_begun: Callable[[int], None] = lambda number: None
        self.on_closed: Callable[[int], None] = lambda number: None
        self._listening: list[socket.socket] = []
        self._bridge = WsgiBridge(application, threads, place, at_once, counts, prefix)
        self.count: Callable[[dict[str, Any], int, float], object] = self._bridge.count
        self.environ_of = self._bridge.environ_of
        self.answer_at_once = self._bridge.answer_at_once
        self._adopted: set[asyncio.Task[object]] = set()
        self._looked = 0.0
        super().__init__(
            Config(
                self._bridge,
                http=self._new_connection,  # type: ignore[arg-type]  # makes one of the class
                loop="uvloop",
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="critical",  # the bridge logs failures
                access_log=False,
                proxy_headers=False,
                server_header=False,
                headers=[("server", "nwx"), ROBOTS],
                timeout_graceful_shutdown=LAST_ANSWERS_SECONDS,
            )
        )

    @property
    def ending(self) -> bool:
        """Whether the server accepts no more requests."""
        return self.should_exit

    def most_body_bytes(self, path: str) -> int:
        """Return the most bytes of a body sent to a path without a token."""
        limits = self._body_limits.items()
        return next((most for begin, most in limits if path.startswith(begin)), MOST_BODY_BYTES)

    def answers_to(self, host: str) -> bool:
        """Return whether a Host header names this service; invalid ones are refused later."""
        return not is_host(host) or is_known_host(host, self._host_names)

    def listen(self, listening: socket.socket) -> None:
        """Accept connections of a listening socket; the server closes it at the end."""
        listening.setblocking(False)
        self._listening.append(listening)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until `close` is called, in the main thread also until SIGINT or SIGTERM."""
        try:
            super().run([*self._listening, *(sockets or ())])
        finally:
            self._bridge.end()

    def close(self) -> None:
        """Stop accepting, and finish current responses; may be called from any thread."""
        self.should_exit = True

    def adopt(self, accepted: socket.socket, number: int) -> None:
        """Serve a connection accepted by another process; called in the loop's thread."""
        accepted.setblocking(False)
        loop = asyncio.get_running_loop()

        def made() -> HttpConnection:
            connection = self._new_connection(
                config=self.config, server_state=self.server_state, app_state={}, _loop=loop
            )
            connection.number = number
            return connection

        task = loop.create_task(loop.connect_accepted_socket(made, accepted))
        self._adopted.add(task)
        task.add_done_callback(self._adopted.discard)

    def _new_connection(self, **given: Any) -> HttpConnection:
        return HttpConnection(self, **given)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections."""
        await super().startup(sockets)
        self.on_start(asyncio.get_running_loop())

    async def on_tick(self, counter: int) -> bool:
        """Close timed-out connections; return whether to stop."""
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            for connection in self._open():
                if not connection.doomed and connections.is_overdue(connection, now):
                    connection.abort()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish current responses, and close all connections."""
        await super().shutdown(sockets)
        for connection in self._open():
            connection.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, without raising them again at the end as uvicorn does."""
        before = {}
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                before[number] = signal.signal(number, self.handle_exit)
        except ValueError:
            pass  # only the main thread can handle signals
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _open(self) -> tuple[HttpConnection, ...]:
        return tuple(self.server_state.connections)  # type: ignore[arg-type]

    def opened(self, connection: HttpConnection) -> None:
        """Handle a new connection: close another one if there are too many."""
        if len(self.server_state.connections) <= connections.MOST_CONNECTIONS:
            return
        found = connections.one_to_close(self._open(), time.monotonic())
        if found is not None:
            found.abort()
        elif len(self.server_state.connections) > connections.MOST_CONNECTIONS + RESERVE:
            connection.abort()

    def begun(self, connection: HttpConnection) -> None:
        """Report that the first bytes of a connection were read."""
        self.on_begun(connection.number)

    def closed(self, connection: HttpConnection) -> None:
        """Report the end of a connection."""
        self.on_closed(connection.number)


def make_server(
    application: Application,
    listening: socket.socket,
    threads: int,
    token: str = "",
    at_once: ShortAnswers | None = None,
    body_limits: Mapping[str, int] | None = None,
    prefix: str = "",
) -> HttpServer:
    """Return a server at a listening socket, ready to run in any thread."""
    host, port = listening.getsockname()[:2]
    server = HttpServer(
        application, (host, port), threads, token, at_once, body_limits, prefix=prefix
    )
    server.listen(listening)
    return server


READY, BEGUN, CLOSED, FAILED = b"r", b"b", b"c", b"f"
"""Kinds of worker messages: ready; first bytes of a connection read; connection closed; failed,
followed by a pickled error."""

WORKER_MESSAGE = struct.Struct("=cI")
"""A message other than FAILED: its kind and the number of the connection."""

CONNECTION_NUMBER = struct.Struct("=I")
"""The number sent with each connection that is handed over."""


@dataclass(frozen=True, slots=True)
class OpenedApplication:
    """An application with its optional short answers, body limits and request counts."""

    application: Application
    at_once: ShortAnswers | None = None
    body_limits: Mapping[str, int] | None = None
    counts: RequestCounts | None = None


class ApplicationMaker(Protocol):
    """Opens an application in a worker; can be pickled.

    `modules` are imported before workers are forked.
    """

    modules: ClassVar[tuple[str, ...]]

    def open(self, stack: ExitStack) -> OpenedApplication:
        """Return the application; its resources are closed with `stack`."""


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """The application of a worker, its number of threads, and its host and port."""

    maker: ApplicationMaker
    place: tuple[str, int]
    threads: int
    token: str = ""
    host_names: frozenset[str] | None = None
    prefix: str = ""


def serve_order(channel: socket.socket, order: WorkerOrder) -> None:
    """Serve connections received over a channel until it is closed."""
    os.setpgid(0, 0)  # Ctrl-C is for the parent process, which ends the workers
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    # It logs a traceback of each failed attempt, of which "elastic_transport.node_pool" has a line.
    logging.getLogger("elastic_transport.transport").setLevel(logging.ERROR)
    with channel, ExitStack() as stack:
        try:
            opened = order.maker.open(stack)
        except NwxError as error:
            with suppress(BrokenPipeError):  # another worker failed first, and the parent has ended
                channel.sendall(FAILED + pickle.dumps(error))
            return
        server = HttpServer(
            opened.application,
            order.place,
            order.threads,
            order.token,
            opened.at_once,
            opened.body_limits,
            order.host_names,
            opened.counts,
            order.prefix,
        )
        collect_rarely()
        channel.setblocking(False)
        connections = HandedConnections(channel, server)
        server.on_start = connections.begin
        server.on_begun = partial(connections.tell, BEGUN)
        server.on_closed = partial(connections.tell, CLOSED)
        server.run()


class HandedConnections:
    """Receives connections from a channel, and reports their state to its other end."""

    def __init__(self, channel: socket.socket, server: HttpServer) -> None:
        self._channel = channel
        self._server = server
        self._untold = b""
        self._loop: asyncio.AbstractEventLoop

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Report that the worker is ready, and start receiving connections."""
        self._loop = loop
        loop.add_reader(self._channel, self._take)
        self.tell(READY)

    def _take(self) -> None:
        """Receive waiting connections; close the server at the end of the channel."""
        while True:
            try:
                data, handed, _, _ = socket.recv_fds(self._channel, CONNECTION_NUMBER.size, 1)
            except BlockingIOError:
                return
            except ConnectionError:
                data, handed = b"", []
            for one in handed:
                self._server.adopt(socket.socket(fileno=one), *CONNECTION_NUMBER.unpack(data))
            if not data:
                self._loop.remove_reader(self._channel)
                self._server.close()
                return

    def tell(self, kind: bytes, number: int = 0) -> None:
        """Send a message about a connection."""
        self._untold += WORKER_MESSAGE.pack(kind, number)
        # The unsent rest goes with the next message, unless the channel is closed.
        with suppress(OSError):
            self._untold = self._untold[self._channel.send(self._untold) :]

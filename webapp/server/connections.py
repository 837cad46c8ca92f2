"""Sockets, timeouts of connections, and fast parsing of repeated request headers."""

import asyncio
import ipaddress
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nwx.errors import SettingsError

if TYPE_CHECKING:
    from webapp.server.http_connection import HttpConnection


MOST_CONNECTIONS = 500

HEAD_SECONDS = 20.0
"""The time to send the whole head of a request."""

BODY_SECONDS = 60.0
"""The time to send a whole body, for clients without the right to send large ones."""

IDLE_SECONDS = 60.0
"""The time until the next request and, for clients with that right, until the next bytes."""

STUCK_SECONDS = 60.0
STUCK_BYTES = 1 << 16
"""A client that reads fewer bytes of its answer in STUCK_SECONDS is disconnected."""

UNREAD_SECONDS = 5.0
"""A connection whose client reads nothing for this time may be closed to make room."""


class ConnectionState(Enum):
    """What a connection waits for."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    READER = auto()


Headers = list[tuple[bytes, bytes]]


class ConnectionHost(Protocol):
    """The interface of the server for its connections."""

    token: str
    prefix: bytes
    count: Callable[[dict[str, Any], int, float], object]

    @property
    def ending(self) -> bool:
        """Whether the server accepts no more requests."""

    def environ_of(
        self, method: str, version: str, path: bytes, query: bytes, headers: Headers
    ) -> dict[str, Any]:
        """Return the WSGI environment of a request, without the client's address."""

    def answers_to(self, host: str) -> bool:
        """Return whether a Host header names this service."""

    def most_body_bytes(self, path: str) -> int:
        """Return the most bytes of a body sent to a path without a token."""

    def answer_at_once(self, environ: dict[str, Any]) -> tuple[bytes, bytes] | None:
        """Return the unfinished head and the body of a short answer, None for other answers."""

    def opened(self, connection: "HttpConnection") -> None:
        """Register a new connection."""

    def begun(self, connection: "HttpConnection") -> None:
        """Record that the first bytes of a connection were read."""

    def closed(self, connection: "HttpConnection") -> None:
        """Unregister a closed connection."""


class TimedConnection:
    """The state by which a connection times out; times are seconds of the monotonic clock.

    `began` is the start of its request, if not idle; `client_host` is the
    address of the client; `sends_much` if it may send a large body; `doomed`
    if the connection is about to be closed.
    """

    transport: asyncio.Transport
    client_host = ""
    sends_much = False
    doomed = False

    def __init__(self) -> None:
        self.began = self.last_activity = self.window_began = time.monotonic()
        self._given_bytes = self._taken_bytes = self._window_start = 0

    @property
    def state(self) -> ConnectionState:
        """What the connection waits for."""
        raise NotImplementedError

    def sending(self, size: int) -> None:
        """Record that `size` bytes are about to be sent."""
        if not self.unsent_bytes():
            self.window_began, self._window_start = time.monotonic(), self._given_bytes
        self._given_bytes += size

    def unsent_bytes(self) -> int:
        """Return the number of bytes that the client has not read yet, and update its activity."""
        unsent = self.transport.get_write_buffer_size()
        taken = self._given_bytes - unsent
        if taken != self._taken_bytes:
            self._taken_bytes = taken
            if unsent:
                self.last_activity = time.monotonic()
        return unsent

    def is_stuck(self, now: float) -> bool:
        """Return whether the client read too little of its answer; restarts an expired window."""
        if self.unread_seconds(now) > STUCK_SECONDS:
            return True
        if now - self.window_began <= STUCK_SECONDS:
            return False
        taken = self._taken_bytes - self._window_start
        self.window_began, self._window_start = now, self._taken_bytes
        return taken < STUCK_BYTES

    def unread_seconds(self, now: float) -> float:
        """Return the time since the client last read something."""
        return now - max(self.last_activity, self.window_began)

    def abort(self) -> None:
        """Close the connection at once."""
        self.doomed = True
        self.transport.abort()


_Connection = TypeVar("_Connection", bound=TimedConnection)


def is_overdue(connection: TimedConnection, now: float) -> bool:
    """Return whether a connection has timed out."""
    state = connection.state
    if state is ConnectionState.HEAD:
        return now - connection.began > HEAD_SECONDS
    if state is ConnectionState.BODY and not connection.sends_much:
        return now - connection.began > BODY_SECONDS
    if state in (ConnectionState.IDLE, ConnectionState.BODY):
        return now - connection.last_activity > IDLE_SECONDS
    return state is ConnectionState.READER and connection.is_stuck(now)


def one_to_close(connections: Iterable[_Connection], now: float) -> _Connection | None:
    """Return the connection to close to make room, None if all are being answered.

    It is one of the client with most connections, the one inactive for longest.
    """
    waiting = [one for one in connections if not one.doomed and _may_go(one, now)]
    if not waiting:
        return None
    held = Counter(one.client_host for one in waiting)
    return max(waiting, key=lambda one: (held[one.client_host], now - one.last_activity))


def _may_go(connection: TimedConnection, now: float) -> bool:
    if connection.state is ConnectionState.READER:
        return connection.unread_seconds(now) >= UNREAD_SECONDS
    return connection.state is not ConnectionState.ANSWER


# Targets that need no unquoting and cannot be mistaken for those of another host.
_PLAIN_LINE = re.compile(rb"GET (/(?!/)[!\"$&->@-~]*)(?:\?([!\"$-~]*))? HTTP/1\.1")
_END = b"\r\n\r\n"


class RepeatedHead:
    """The headers of the last accepted request on a connection, and its WSGI environment.

    A next request with the same header bytes need not be parsed.
    """

    def __init__(self) -> None:
        self._headers: bytes | None = None
        self._environ: dict[str, Any] = {}

    def remember(self, data: bytes, environ: dict[str, Any]) -> None:
        """Keep the headers of a request if `data` is exactly one request without a body."""
        line, _, headers = data.partition(b"\r\n")
        is_one = headers.find(_END) == len(headers) - len(_END)
        if is_one and b"\n" not in headers.replace(b"\r\n", b"") and _PLAIN_LINE.fullmatch(line):
            self._headers, self._environ = headers, environ

    def environ(self, data: bytes) -> dict[str, Any] | None:
        """Return the environment of a request that repeats the headers, None for any other."""
        line, _, headers = data.partition(b"\r\n")
        if headers != self._headers or (found := _PLAIN_LINE.fullmatch(line)) is None:
            return None
        environ = self._environ.copy()
        environ["PATH_INFO"] = found[1].decode("ascii")
        environ["QUERY_STRING"] = (found[2] or b"").decode("ascii")
        return environ


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free port.

    Raises SettingsError if the address is not available.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise SettingsError(
            f"cannot listen at {host} port {port}: {error.strerror or error};"
            " choose another host or port"
        ) from error
    return listening


def port_of(listening: socket.socket) -> int:
    """Return the port of a listening socket."""
    port: int = listening.getsockname()[1]
    return port


def place_of(listening: socket.socket) -> tuple[str, int]:
    """Return host and port of a listening socket."""
    host, port = listening.getsockname()[:2]
    return host, port


def host_names(listening: socket.socket, host: str, names: Iterable[str]) -> frozenset[str] | None:
    """Return the host names of a service on a loopback address, None for other addresses."""
    if not ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback:
        return None
    return frozenset(name.lower() for name in ("localhost", host, *names))


def loopback_of(listening: socket.socket) -> str:
    """Return the loopback address of the socket's family, IPv6 in brackets."""
    return "[::1]" if listening.family == socket.AF_INET6 else "127.0.0.1"


def address_of(listening: socket.socket) -> str:
    """Return the local http:// address of a listening socket."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

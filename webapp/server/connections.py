"""Sockets, which connections stay open, and requests that repeat the headers of the one before."""

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
"""The time to send the head of a request, however it trickles in."""

BODY_SECONDS = 60.0
"""The time to send a body, for those who may send small ones only."""

IDLE_SECONDS = 60.0
"""The time until the next request, and of those who may send large bodies until the next bytes."""

STUCK_SECONDS = 60.0
STUCK_BYTES = 1 << 16
"""Who takes fewer bytes of a waiting answer in STUCK_SECONDS is not waited for any more."""

UNREAD_SECONDS = 5.0
"""After so long without a byte taken, a connection may be closed to make room."""


class ConnectionState(Enum):
    """What a connection waits for."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    READER = auto()


Headers = list[tuple[bytes, bytes]]


class ConnectionHost(Protocol):
    """The server, as its connections know it."""

    token: str
    prefix: bytes
    count: Callable[[dict[str, Any], int, float], object]

    @property
    def ending(self) -> bool:
        """Whether no more requests are taken."""

    def environ_of(
        self, method: str, version: str, path: bytes, query: bytes, headers: Headers
    ) -> dict[str, Any]:
        """Return the WSGI environment of a request, without its client."""

    def answers_to(self, host: str) -> bool:
        """Return whether this service is the one that a Host header names."""

    def most_body_bytes(self, path: str) -> int:
        """Return how long a body whoever has no token may send to a path."""

    def answer_at_once(self, environ: dict[str, Any]) -> tuple[bytes, bytes] | None:
        """Return head, which goes on, and body of an answer that takes no time, else None."""

    def opened(self, connection: "HttpConnection") -> None:
        """Note a new connection."""

    def begun(self, connection: "HttpConnection") -> None:
        """Note that the first bytes of a connection were read."""

    def closed(self, connection: "HttpConnection") -> None:
        """Note the end of a connection."""


class TimedConnection:
    """What decides how long a connection stays open; times are seconds of the monotonic clock.

    Its request, where it is not idle, began at `began`. `client_host` is
    the address of its client, who `sends_much` where it may send a large
    body. One that is `doomed` is about to be closed.
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
        """Note that so many bytes are sent now."""
        if not self.unsent_bytes():
            self.window_began, self._window_start = time.monotonic(), self._given_bytes
        self._given_bytes += size

    def unsent_bytes(self) -> int:
        """Return how many bytes wait for the client, and note what it has taken."""
        unsent = self.transport.get_write_buffer_size()
        taken = self._given_bytes - unsent
        if taken != self._taken_bytes:
            self._taken_bytes = taken
            if unsent:
                self.last_activity = time.monotonic()
        return unsent

    def is_stuck(self, now: float) -> bool:
        """Return whether the client took too little of its answer; counts anew after a window."""
        if self.unread_seconds(now) > STUCK_SECONDS:
            return True
        if now - self.window_began <= STUCK_SECONDS:
            return False
        taken = self._taken_bytes - self._window_start
        self.window_began, self._window_start = now, self._taken_bytes
        return taken < STUCK_BYTES

    def unread_seconds(self, now: float) -> float:
        """Return for how long a client took nothing of what waits for it."""
        return now - max(self.last_activity, self.window_began)

    def abort(self) -> None:
        """Close the connection, whatever it waits for."""
        self.doomed = True
        self.transport.abort()


_Connection = TypeVar("_Connection", bound=TimedConnection)


def is_overdue(connection: TimedConnection, now: float) -> bool:
    """Return whether a connection has had its time."""
    state = connection.state
    if state is ConnectionState.HEAD:
        return now - connection.began > HEAD_SECONDS
    if state is ConnectionState.BODY and not connection.sends_much:
        return now - connection.began > BODY_SECONDS
    if state in (ConnectionState.IDLE, ConnectionState.BODY):
        return now - connection.last_activity > IDLE_SECONDS
    return state is ConnectionState.READER and connection.is_stuck(now)


def one_to_close(connections: Iterable[_Connection], now: float) -> _Connection | None:
    """Return the connection to close where room is needed, None where all are being answered."""
    waiting = [one for one in connections if not one.doomed and _may_go(one, now)]
    if not waiting:
        return None
    held = Counter(one.client_host for one in waiting)
    return max(waiting, key=lambda one: (held[one.client_host], now - one.last_activity))


def _may_go(connection: TimedConnection, now: float) -> bool:
    if connection.state is ConnectionState.READER:
        return connection.unread_seconds(now) >= UNREAD_SECONDS
    return connection.state is not ConnectionState.ANSWER


# Targets that need no unquoting, and that nobody can take for another host's.
_PLAIN_LINE = re.compile(rb"GET (/(?!/)[!\"$&->@-~]*)(?:\?([!\"$-~]*))? HTTP/1\.1")
_END = b"\r\n\r\n"


class RepeatedHead:
    """The headers of a request that was read and taken, and its WSGI environment.

    What comes next on the connection with the same bytes for headers need not be parsed.
    """

    def __init__(self) -> None:
        self._headers: bytes | None = None
        self._environ: dict[str, Any] = {}

    def remember(self, data: bytes, environ: dict[str, Any]) -> None:
        """Keep the headers of a request without a body where `data` is one, and that all."""
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
    """Return a socket that listens; 0 takes a free port.

    Raises SettingsError where the address cannot be had.
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
    """Return the names of a service that only this machine reaches, None for any other."""
    if not ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback:
        return None
    return frozenset(name.lower() for name in ("localhost", host, *names))


def loopback_of(listening: socket.socket) -> str:
    """Return the address by which this machine reaches itself at a listening socket."""
    return "[::1]" if listening.family == socket.AF_INET6 else "127.0.0.1"


def address_of(listening: socket.socket) -> str:
    """Return the address at which this machine reaches a listening socket."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

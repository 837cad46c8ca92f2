"""The browser's only network access: a loopback proxy that allows only the target.

Requests of the browser itself, such as for updates, are refused like all others; they do not
count as faults of a page.
"""

import asyncio
import ipaddress
import socket
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from nwx.quality.browser.targets import PlaybackTarget

_HEAD_BYTES = 1 << 16
_PIECE = 1 << 16
_CONNECT_SECONDS = 20.0
_MOST_REFUSED = 1_000
_DROPPED = (b"proxy-connection", b"connection", b"keep-alive", b"proxy-authorization")
_NAT64, _UNICAST = ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("2000::/3")
_OF_BROWSER = (".google.com", ".googleapis.com", ".gvt1.com", ".gstatic.com")
REFUSED_HEADER = "proxy-status"
"""A header field that only this proxy sends: playback renames the fields of captures."""

_REFUSAL = (
    b"HTTP/1.1 403 Refused\r\nProxy-Status: nwx; error=connection_refused\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)
_FAILURE = b"HTTP/1.1 502 No answer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(slots=True)
class Traffic:
    """Traffic of one page, and the `scheme://host:port` of refused requests."""

    most_bytes: int
    most_requests: int
    bytes: int = 0
    requests: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    own: tuple[str, ...] = ()

    @property
    def excess(self) -> str:
        """The limit that the page exceeded: `bytes`, `requests` or ""."""
        if self.bytes > self.most_bytes:
            return "bytes"
        return "requests" if self.requests > self.most_requests else ""

    def counts(self) -> Counter[str]:
        """Return the page's refused connections, and 1 for `requests` above the limit."""
        refused = sum(
            count
            for origin, count in self.refused.items()
            if not is_of_browser(place_of_address(origin))
        )
        requests = int(self.requests > self.most_requests)
        return Counter({"connections": refused, "requests": requests})

    def refuse(self, origin: str) -> None:
        """Count a refused request, up to a maximum of distinct origins."""
        if origin in self.refused or len(self.refused) < _MOST_REFUSED:
            self.refused[origin] += 1


class _Head(NamedTuple):
    """The head of a request to a proxy."""

    method: bytes
    address: bytes
    version: bytes
    headers: list[bytes]

    @property
    def is_tunnel(self) -> bool:
        return self.method == b"CONNECT"

    @property
    def place(self) -> str:
        """Requested host and port, "" if invalid."""
        text = self.address.decode("latin-1")
        try:
            parts = urlsplit(f"//{text}" if self.is_tunnel else text)
            port = parts.port or 80
        except ValueError:
            return ""
        if not parts.hostname or parts.scheme not in ("", "http"):
            return ""
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"{host}:{port}"

    def direct(self) -> bytes:
        """Return the head in the form sent to a server."""
        path = self.address.partition(b"://")[2]
        path = b"/" + path.partition(b"/")[2]
        return self._head(path)

    def passed_on(self) -> bytes:
        """Return the head in the form sent to another proxy."""
        return self._head(self.address)

    def _head(self, address: bytes) -> bytes:
        kept = [line for line in self.headers if line.split(b":")[0].lower() not in _DROPPED]
        lines = [b" ".join((self.method, address, self.version)), *kept, b"Connection: close"]
        return b"\r\n".join(lines) + b"\r\n\r\n"


class Gateway:
    """A proxy for one browser. Between pages (`traffic` None) everything is refused."""

    def __init__(self, target: PlaybackTarget) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.traffic: Traffic | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen on a free loopback port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_HEAD_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """End all connections, so that nothing of a page is left for the next."""
        for task in tuple(self._open):
            task.cancel()

    async def close(self) -> None:
        """Close all connections and the server."""
        self.cut()
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._open.add(task)
            task.add_done_callback(self._open.discard)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await self._answer(reader, writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = _head(await reader.readuntil(b"\r\n\r\n"))
        traffic = self.traffic
        if head is None or traffic is None or traffic.excess:
            writer.write(_REFUSAL)
            return
        traffic.requests += 1
        if not await self._lets_through(head, traffic):
            scheme = "https" if head.is_tunnel else "http"
            traffic.refuse(f"{scheme}://{head.place}/")
            writer.write(_REFUSAL)
            return
        try:
            onward = await asyncio.wait_for(
                asyncio.open_connection(*_host_port(self._target.proxy or head.place)),
                _CONNECT_SECONDS,
            )
        except (OSError, TimeoutError):
            writer.write(_FAILURE)
            return
        try:
            await self._relay(head, (reader, writer), onward, traffic)
        finally:
            onward[1].close()

    async def _relay(
        self,
        head: _Head,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        onward: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        traffic: Traffic,
    ) -> None:
        onward[1].write(head.passed_on() if self._target.proxy else head.direct())
        sending = asyncio.create_task(_copy(client[0], onward[1], traffic))
        try:
            await _copy(onward[0], client[1], traffic)
        finally:
            sending.cancel()

    async def _lets_through(self, head: _Head, traffic: Traffic) -> bool:
        """Return whether a request may leave the browser."""
        if self._target.allowed:
            # No tunnels: these are web sockets, or TLS connections elsewhere.
            return not head.is_tunnel and head.place == self._target.allowed
        if not head.place or is_of_browser(head.place, head.address):
            return False
        return head.place in traffic.own or not await is_local(head.place)


def is_of_browser(place: str, address: bytes = b"") -> bool:
    """Return whether a refused connection may come from the browser, not from the page."""
    host = place.rpartition(":")[0]
    if not address:
        return f".{host}".endswith(_OF_BROWSER)
    return host == "update.googleapis.com"


def place_of_address(address: str) -> str:
    """Return host and port of an address."""
    scheme, _, rest = address.partition("://")
    place = rest.partition("/")[0].rpartition("@")[2].lower()
    if ":" in place.rpartition("]")[2]:
        return place
    return f"{place}:{443 if scheme in ('https', 'wss') else 80}"


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, traffic: Traffic
) -> None:
    """Copy bytes until the end of the stream or the limit."""
    with suppress(OSError):
        while (piece := await reader.read(_PIECE)) and not traffic.excess:
            traffic.bytes += len(piece)
            writer.write(piece)
            await writer.drain()


async def is_local(place: str) -> bool:
    """Return whether a place is on this machine or in a private network."""
    host, port = _host_port(place)
    host = host.rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False  # the next proxy may resolve it
    return not all(_is_public(str(each[4][0])) for each in found)


def _is_public(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if found in _NAT64:
            found = ipaddress.IPv4Address(found.packed[-4:])
        elif found not in _UNICAST or found.sixtofour:
            return False
    return found.is_global and not found.is_multicast


def _host_port(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    return host.strip("[]"), int(port)


def _head(raw: bytes) -> _Head | None:
    """Return the head of a request, None if invalid."""
    first, *headers = raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, _, rest = first.partition(b" ")
    address, _, version = rest.partition(b" ")
    return _Head(method, address, version, headers) if version else None

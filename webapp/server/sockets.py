"""Sockets to listen at."""

import ipaddress
import socket
from collections.abc import Iterable

from nwx.errors import SettingsError


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

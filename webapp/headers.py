"""Host and Authorization headers: valid host names, and token checks."""

import hmac
import ipaddress
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from flask import request

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
ShortAnswers = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes] | None]
"""A WSGI application that returns None if it cannot answer at once."""

ROBOTS = ("X-Robots-Tag", "noindex, nofollow")
"""The header that keeps pages out of the results of search engines."""

KEPT_PRIVATE = ("Cache-Control", "private, no-cache")
"""The header that keeps shared caches from giving what one viewer may see to others."""

ROBOTS_TXT = "User-agent: *\nDisallow: /\n"
"""Keeps crawlers away: archived pages are copies, and practically endless."""

_GIVEN = "nwx.host"
_MOST_CHARACTERS = 262
_HOST = re.compile(
    r"(?:[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?|\[[a-f0-9]*:[a-f0-9.:]+\])(?::[0-9]{1,5})?",
    re.ASCII | re.IGNORECASE,
)
_REFUSED = b"the Host header names no host; ask by a name, or by an IP address\n"


class HostCheck:
    """WSGI middleware that lets only requests with a valid Host header through."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request; 400 if its Host header is invalid."""
        given = environ.get("HTTP_HOST")
        if given is not None:
            if not is_host(given):
                start_response(
                    "400 Bad Request",
                    [
                        ("Content-Type", "text/plain; charset=utf-8"),
                        ("Content-Length", str(len(_REFUSED))),
                    ],
                )
                return (_REFUSED,)
            if "_" in given:
                environ[_GIVEN] = given
                environ["HTTP_HOST"] = given.replace("_", "-")
        return self._application(environ, start_response)


@lru_cache(1_000)
def is_host(given: str) -> bool:
    """Return whether a Host header is a valid host name or IPv6 address, with optional port."""
    return len(given) <= _MOST_CHARACTERS and _HOST.fullmatch(given) is not None


def is_known_host(given: str, names: Collection[str] | None) -> bool:
    """Return whether a Host header is one of these names (None: any name) or an IP address.

    Prevents DNS rebinding: pages of a foreign name that resolves to this machine could read it.
    """
    name = hostname(given).rstrip(".")
    if names is None or name in names:
        return True
    try:
        return bool(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return False


def given_host(environ: dict[str, Any]) -> str:
    """Return the Host header as the client sent it, or ""."""
    return str(environ.get(_GIVEN) or environ.get("HTTP_HOST") or "")


@lru_cache(1_000)
def hostname(netloc: str) -> str:
    """Return the host part of `host:port`; IPv6 addresses keep their brackets."""
    host = urlsplit(f"//{netloc}").hostname or "localhost"
    return f"[{host}]" if ":" in host else host


def playback_host(host: str) -> str:
    """Return the default playback host of a service at a host.

    Cookies and storage are separated by host name, not by port. On the local
    machine, `localhost` is for captures, its address for the pages.
    """
    return "localhost" if host in ("127.0.0.1", "[::1]") else host


def pages_host(host: str, loopback: str) -> str:
    """Return the host of the pages that belong to a playback host."""
    return loopback if host == "localhost" else host


def request_host() -> str:
    """Return the host and port of this service as the client sees them."""
    return str(request.environ.get(_GIVEN) or request.host)


def host_url() -> str:
    """Return scheme, host and port of this service as the client sees them, without a slash."""
    return f"{request.scheme}://{request_host()}"


def root_url() -> str:
    """Return the address of the home page as the client sees it, without a final slash."""
    return f"{host_url()}{request.script_root}"


def has_token(header: str, token: str, *, basic: bool = False) -> bool:
    """Return whether an Authorization header holds a token; False if `token` is empty.

    With `basic` the token may be a password: CDX server followers can only send that.
    """
    scheme, _, text = header.partition(" ")
    given, scheme = text.strip().encode("utf-8", "replace"), scheme.lower()
    if basic and scheme == "basic":
        with suppress(ValueError):
            given, scheme = b64decode(given).partition(b":")[2], "bearer"
    same = hmac.compare_digest(given, token.encode())
    return bool(token) and scheme == "bearer" and same

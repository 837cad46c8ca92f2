"""The Host and Authorization headers: what names a host, and who has a token."""

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
"""As a WSGI application; None stands for an answer that it cannot give at once."""

ROBOTS = ("X-Robots-Tag", "noindex, nofollow")
"""The header by which search engines keep what they have come by out of their results."""

ROBOTS_TXT = "User-agent: *\nDisallow: /\n"
"""Keeps crawlers away: an archive's pages are no pages of their own, and without end."""

_GIVEN = "nwx.host"
_MOST_CHARACTERS = 262
_HOST = re.compile(
    r"(?:[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?|\[[a-f0-9]*:[a-f0-9.:]+\])(?::[0-9]{1,5})?",
    re.ASCII | re.IGNORECASE,
)
_REFUSED = b"the Host header names no host; ask by a name, or by an IP address\n"


class HostCheck:
    """An application that is only asked by names that a host can have."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request, with 400 where its host cannot be one."""
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
    """Return whether a Host header can name a host."""
    return len(given) <= _MOST_CHARACTERS and _HOST.fullmatch(given) is not None


def is_known_host(given: str, names: Collection[str] | None) -> bool:
    """Return whether a service with these names is meant by a Host header; None is any name.

    A name that its owner points at this machine would let pages of theirs read what is here.
    """
    name = hostname(given).rstrip(".")
    if names is None or name in names:
        return True
    try:
        return bool(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return False


def given_host(environ: dict[str, Any]) -> str:
    """Return the Host header as the client sent it, "" where there was none."""
    return str(environ.get(_GIVEN) or environ.get("HTTP_HOST") or "")


@lru_cache(1_000)
def hostname(netloc: str) -> str:
    """Return the host of a host and port, an IPv6 address in its brackets."""
    host = urlsplit(f"//{netloc}").hostname or "localhost"
    return f"[{host}]" if ":" in host else host


def playback_host(host: str) -> str:
    """Return the name at which captures of a service at a host are played, if none is given.

    Cookies and storage go by the name, whatever the port. This machine has two:
    `localhost` is for captures, its address for the pages.
    """
    return "localhost" if host in ("127.0.0.1", "[::1]") else host


def pages_host(host: str, loopback: str) -> str:
    """Return the name of the pages whose captures are played at a host."""
    return loopback if host == "localhost" else host


def request_host() -> str:
    """Return host and port by which the client reaches this service."""
    return str(request.environ.get(_GIVEN) or request.host)


def host_url() -> str:
    """Return the address of the host by which the client reaches this service, without a slash."""
    return f"{request.scheme}://{request_host()}"


def root_url() -> str:
    """Return the address at which the client finds the home page, without a slash."""
    return f"{host_url()}{request.script_root}"


def has_token(header: str, token: str, *, basic: bool = False) -> bool:
    """Return whether an Authorization header holds a token; there must be one to be held.

    With `basic` the token may be a password: followers of a CDX server have no other header.
    """
    scheme, _, text = header.partition(" ")
    given, scheme = text.strip().encode("utf-8", "replace"), scheme.lower()
    if basic and scheme == "basic":
        with suppress(ValueError):
            given, scheme = b64decode(given).partition(b":")[2], "bearer"
    same = hmac.compare_digest(given, token.encode())
    return bool(token) and scheme == "bearer" and same

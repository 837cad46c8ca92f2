"""The urlkey (SURT) of a URL, as the `surt` package makes it.

pywb, cdxj-indexer and OutbackCDX look captures up by this key, so it has
to be theirs byte for byte. Plain URLs, nearly all, take a short cut here
that is several times as fast; the rest goes to the package.
"""

import re
import socket
from functools import lru_cache
from typing import Any

from surt import surt as package_surt
from surt.DefaultIAURLCanonicalizer import canonicalize as ia_canonicalize
from surt.GoogleURLCanonicalizer import unescapeRepeatedly

from nwx.errors import UrlError

# A URL on which the package's rules come down to: reverse the host without
# its www, lower case, no slash at the end, sorted query. Left out is what
# it treats in any other way: escapes, ports, dot segments, session ids
# (in parentheses or after a semicolon), addresses in digits, blanks.
_PLAIN = re.compile(
    r"https?://(?:[Ww]{3}[0-9]*\.)?"
    r"((?:[A-Za-z0-9_-]+\.)*[A-Za-z][A-Za-z0-9-]*)"
    r"((?:/[A-Za-z0-9_~,!*'+:@=$&-][A-Za-z0-9_.~,!*'+:@=$&-]*)*/?)"
    r"(?:\?([A-Za-z0-9_.~,!*'+:@=$&/?-]+))?"
)
_SESSION = re.compile(r"sid=|sessionid|cfid=", re.I)
_NUMERIC_HOST = re.compile(rb"[0-9.]+")
_STAND_IN = b"host.invalid"
# The package takes escapes off layer by layer, each time over the whole
# URL; a hostile URL could keep it busy for minutes.
_TOO_NESTED = re.compile(r"%(?:25){64}")


def urlkey(url: str) -> str:
    """Return the urlkey of a URL, equal to `surt.surt(url)`.

    Raises UrlError where that package has no answer.
    """
    plain = _PLAIN.fullmatch(url)
    if plain is None:
        return _by_package(url)
    host, path, query = plain.groups()
    path = path.rstrip("/").lower() or "/"
    if query is None:
        return f"{_reversed(host)}){path}"
    if _SESSION.search(query):
        return _by_package(url)
    return f"{_reversed(host)}){path}?{_sorted(query.lower())}"


@lru_cache(maxsize=65_536)
def _reversed(host: str) -> str:
    return ",".join(host.lower().split(".")[::-1])


def _sorted(query: str) -> str:
    if "&" not in query:
        return query
    return "&".join("=".join(pair) for pair in sorted(p.split("=", 1) for p in query.split("&")))


def _by_package(url: str) -> str:
    if _TOO_NESTED.search(url):
        raise UrlError(f"the URL {url[:60]!r}… is escaped many times over")
    try:
        key: str = package_surt(url, canonicalizer=_canonicalize)
    except (ValueError, TypeError, AttributeError, AssertionError, IndexError) as error:
        # what the package is known to raise on URLs that it cannot take
        raise UrlError(f"the URL {url[:60]!r} has no urlkey: {error or 'not a URL'}") from error
    return key


def _canonicalize(url: Any, **options: Any) -> Any:
    """Canonicalize as the package does, without its DNS queries for numeric hosts."""
    host = unescapeRepeatedly(url.host)
    if not host or host.isdigit() or not _NUMERIC_HOST.fullmatch(host):
        return ia_canonicalize(url, **options)
    url.host = _STAND_IN
    url = ia_canonicalize(url, **options)
    url.host = _address(host)
    return url


def _address(host: bytes) -> bytes:
    host = host.replace(b"..", b".").strip(b".")
    try:
        return socket.inet_ntoa(socket.inet_aton(host.decode("ascii"))).encode("ascii")
    except OSError:
        return host

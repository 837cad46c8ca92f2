"""The urlkey (SURT) of any URL, computed by the `surt` package with bounded work.

`nwx.values.urlkeys` computes nearly all urlkeys without it. The package imports tldextract, with an
HTTP client and its dependencies, for public suffixes, which urlkeys do not need; it is loaded only
on first use, which saves 0.15 s.
"""

import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from nwx.errors import UrlError


@contextmanager
def loaded_lazily(name: str) -> Iterator[None]:
    """Replace a module by a stub that loads it on first use, for imports in this context.

    A module that is already loaded stays unchanged; one used in the context is loaded at once.
    `importlib.util.LazyLoader` is unsuitable: until Python 3.13, a second import of its modules
    loads them.
    """
    if name in sys.modules:
        yield
        return
    stub = ModuleType(name)

    def loaded(attribute: str) -> Any:
        _remove(stub)
        return getattr(import_module(name), attribute)

    # PEP 562: called for missing attributes, here all except those that every module has
    vars(stub)["__getattr__"] = loaded
    sys.modules[name] = stub
    try:
        yield
    finally:
        _remove(stub)


def _remove(stub: ModuleType) -> None:
    if sys.modules.get(stub.__name__) is stub:
        del sys.modules[stub.__name__]


with loaded_lazily("tldextract"):
    from surt import surt as package_surt
    from surt.DefaultIAURLCanonicalizer import canonicalize as ia_canonicalize
    from surt.GoogleURLCanonicalizer import DECIMAL_IP, OCTAL_IP, unescapeRepeatedly

_STAND_IN = b"host.invalid"
# URLs with something else than a port after the host and colon:
# `http://mhtml:d.example.org/`, `http://JavaScript:f('x')`.
_NO_PORT = re.compile(r"[a-z]+://[^/?#:@\[]+:(?!\d*(?:[/?#]|$))", re.I)
# The package removes nested escapes layer by layer, each time over the whole
# URL; a hostile URL could keep it busy for minutes.
_TOO_NESTED = re.compile(r"%(?:25){64}")


def package_urlkey(url: str) -> str:
    """Return the urlkey of a URL by the `surt` package.

    A URL with an invalid port is its own key, as in the indexes of Internet Archive's CDX-Writer.
    Raises UrlError on other URLs the package rejects.
    """
    if _TOO_NESTED.search(url):
        raise UrlError.translated("the URL %(url)s… is escaped too many times", url=repr(url[:60]))
    try:
        key: str = package_surt(url, canonicalizer=_canonicalize)
    except (ValueError, TypeError, AttributeError, AssertionError, IndexError) as error:
        # the exceptions that the package is known to raise on invalid URLs
        if _NO_PORT.match(url):
            return url
        reason = str(error) if isinstance(error, ValueError) else ""
        raise UrlError.translated(
            "the URL %(url)s has no urlkey: %(reason)s",
            url=repr(url[:60]),
            reason=reason or "not a URL",
        ) from error
    return key


def _canonicalize(url: Any, **options: Any) -> Any:
    """Canonicalize a URL as the package does, without its DNS queries for numeric hosts."""
    host = (unescapeRepeatedly(url.host) or b"").replace(b"..", b".").strip(b".")
    if host.isdigit() or not (DECIMAL_IP.match(host) or OCTAL_IP.match(host)):
        return ia_canonicalize(url, **options)
    url.host = _STAND_IN
    url = ia_canonicalize(url, **options)
    url.host = _address(host)
    return url


def _address(host: bytes) -> bytes:
    try:
        return socket.inet_ntoa(socket.inet_aton(host.decode("ascii"))).encode("ascii")
    except OSError:
        return host

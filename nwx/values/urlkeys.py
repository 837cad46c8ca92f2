"""The urlkey (SURT) of a URL, as the `surt` package makes it.

pywb, cdxj-indexer and OutbackCDX look captures up by this key, so it has
to be theirs byte for byte. Plain URLs, nearly all, take a short cut here
that is several times as fast; the rest goes to the package
(`surtpackage`).
"""

import re
from functools import lru_cache

# A URL on which the package's rules come down to: reverse the host without
# its www, lower case, single slashes and none at the end, needless escapes
# undone, a sorted query. Left out is what it treats in any other way: dot
# segments, session ids (in parentheses or after a semicolon), hosts in
# digits, blanks, fragments, and escapes of what would make one of these.
_ORIGIN = re.compile(
    r"(https?)://(?:[Ww]{3}[0-9]*+\.)?"
    r"((?:[A-Za-z0-9_-]++\.)*[A-Za-z][A-Za-z0-9-]*+)(?::([1-9][0-9]{0,3}))?"
)
_REST = re.compile(
    r"((?:/(?!\.)(?:[A-Za-z0-9_.~,!*'+:@=$&|-]++|%(?!2[58EFef]|3[BFbf])[0-9A-Fa-f]{2})*+)*+)"
    r"(?:\?((?:[!\"$&-~]++|%(?!25)[0-9A-Fa-f]{2})++))?"
)
_SLASHES = re.compile(r"//+")
_NEEDLESS_ESCAPE = re.compile(r"%(2[1246-9A-Fa-f]|[3-6][0-9A-Fa-f]|7[0-9A-Ea-e])")
_SHORTEST_ORIGIN = len("http://a")
_LONGEST_KNOWN = 256  # characters of a scheme, host and port
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_DNS = re.compile(r"dns:[A-Za-z][A-Za-z0-9.-]*+")


def urlkey(url: str) -> str:
    """Return the urlkey of a URL, equal to `surt.surt(url)`.

    Raises UrlError where that package has no answer.
    """
    slash = url.find("/", _SHORTEST_ORIGIN)
    if slash < 0:
        slash = url.find("?") if "?" in url else len(url)
    start = (_known_start if slash <= _LONGEST_KNOWN else _start)(url[:slash])
    rest = _REST.fullmatch(url, slash) if start else None
    if rest is None:
        return url.lower() if _DNS.fullmatch(url) else _by_package(url)
    path, query = rest.groups()
    if "//" in path:
        path = _SLASHES.sub("/", path)
    if "%" in path:
        path = _NEEDLESS_ESCAPE.sub(_unescaped, path)
    key = start + (path.rstrip("/").lower() or "/")
    if query is None:
        return key
    if "%" in query:
        query = _NEEDLESS_ESCAPE.sub(_unescaped, query)
    query = query.lower()
    # `in` thrice is a quarter of the time of `any` or an expression
    if "sid=" in query or "sessionid" in query or "cfid=" in query:
        return _by_package(url)
    return f"{key}?{_sorted(query) if '&' in query else query}"


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def _start(origin: str) -> str:
    """Return how the urlkeys of a scheme, host and port begin, "" where these are not plain."""
    plain = _ORIGIN.fullmatch(origin)
    if plain is None:
        return ""
    scheme, host, port = plain.groups()
    turned = ",".join(host.lower().split(".")[::-1])
    return f"{turned}:{port})" if port and port != _DEFAULT_PORTS[scheme] else f"{turned})"


_known_start = lru_cache(maxsize=65_536)(_start)


def _sorted(query: str) -> str:
    return "&".join(sorted(query.split("&"), key=_name_and_value))


def _name_and_value(parameter: str) -> list[str]:
    return parameter.split("=", 1)


def _by_package(url: str) -> str:
    # imported here because the package takes longer to load than most files to index
    from nwx.values.surt_package import package_urlkey

    return package_urlkey(url)

"""SURT prefixes and hosts of link rules; prefixes are those of Heritrix, or of urlkeys."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from nwx.values.urls import url_parts

_SCHEME = re.compile(r"[a-z]+:/*\(", re.I)
_WWW = re.compile(r",www\d*(?=:|$)")


def normal_surt(prefix: str) -> str:
    """Return a SURT prefix as prefix of urlkeys: `http://(org,example,)/a` is `org,example)/a`.

    Without `)` it covers subdomains too: `org,example`. The scheme is left
    out, as urlkeys have none, and so is `www`.
    """
    text = _SCHEME.sub("", prefix.strip()).lstrip("(").lower()
    host, bracket, path = text.partition(")")
    host = host.rstrip(",").replace(",:", ":")
    without_www = _WWW.sub("", host)
    if bracket:
        return f"{without_www}){path or '/'}"
    return without_www if "," in without_www else host  # `com,www` is not all of com


class SurtPrefixes:
    """SURT prefixes, found by binary search; false where there are none."""

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._hosts: set[str] = set()
        paths: dict[str, list[str]] = defaultdict(list)
        for prefix in map(normal_surt, prefixes):
            host, bracket, path = prefix.partition(")")
            if bracket:
                paths[host].append(path)
            elif host:
                self._hosts.add(host)
        self._paths = {host: _shortest(found) for host, found in paths.items()}

    def __bool__(self) -> bool:
        return bool(self._hosts or self._paths)

    def covering(self, urlkey: str) -> str:
        """Return a prefix that covers a urlkey, "" where none does."""
        host, _, path = urlkey.partition(")")
        for known in _ancestors(host):
            if known in self._hosts:
                return known
        paths = self._paths.get(host)
        if paths:
            place = bisect_right(paths, path)
            if place and path.startswith(paths[place - 1]):
                return f"{host}){paths[place - 1]}"
        return ""


def normal_host(host: str) -> str:
    """Return a host of a list as URLs have it: lower case, IDNA, without dots or `*.` around it."""
    return url_parts(f"http://{host.strip().removeprefix('*.').strip('.')}/").host


def covering_hosts(host: str) -> Iterator[str]:
    """Yield a host and the domains it is in: a.example.org, example.org, org."""
    while host:
        yield host
        host = host.partition(".")[2]


def _ancestors(host: str) -> Iterator[str]:
    """Yield the host of a urlkey, then without its port, then the domains it is in."""
    yield host
    host = host.partition(":")[0]
    while host:
        yield host
        host = host.rpartition(",")[0]


def _shortest(paths: list[str]) -> list[str]:
    """Return the paths, in order, that do not begin with another of them."""
    kept: list[str] = []
    for path in sorted(paths):
        if not (kept and path.startswith(kept[-1])):
            kept.append(path)
    return kept

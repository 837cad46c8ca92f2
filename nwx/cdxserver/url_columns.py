"""What captures say of their URLs, made for many URLs at once.

The urlkey of most URLs is that of their host with the path behind in lower
case, and hosts come again and again.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from nwx.errors import UrlError
from nwx.values.urlkeys import urlkey
from nwx.values.urls import UrlParts, host_parts, url_parts

# Of the URLs that `nwx.values.urlkeys` calls plain those without port, query, escapes and
# empty segments, in lower case; one on each line.
_USUAL = re.compile(
    r"^https?://((?:[a-z0-9_-]++\.)*+[a-z][a-z0-9-]*+)"
    r"((?:/(?!\.)[a-z0-9_.~,!*'+:@=$&|-]++)*+)/?$|^.*$",
    re.MULTILINE,
)


class UrlColumns(NamedTuple):
    """Urlkeys ("" where there is none), hosts, domains and public suffixes of URLs."""

    urlkeys: Sequence[str]
    hosts: Sequence[str]
    domains: Sequence[str]
    public_suffixes: Sequence[str]


def url_columns(urls: Sequence[str]) -> UrlColumns:
    """Return what captures say of http URLs of printable ASCII without blanks, at least one."""
    found = _USUAL.findall("\n".join(urls).lower())
    places = [_place(host) for host, _ in found]
    keys = [f"{start}{path or '/'}" for (start, _), (_, path) in zip(places, found, strict=True)]
    parts = [parts for _, parts in places]
    for number, (host, _) in enumerate(found):
        if not host:
            keys[number], parts[number] = _urlkey(urls[number]), url_parts(urls[number])
    return UrlColumns(keys, *zip(*parts, strict=True))


@lru_cache(65_536)
def _place(host: str) -> tuple[str, UrlParts]:
    """Return how the urlkeys of a host begin, and where it belongs."""
    return urlkey(f"http://{host}/").removesuffix("/") if host else "", host_parts(host)


def _urlkey(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""

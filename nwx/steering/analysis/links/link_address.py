"""The URL of a link, cut for its role, for traps and for its words."""

from typing import NamedTuple

_LONGEST = 2_000  # characters that are looked at


class LinkAddress(NamedTuple):
    """Parts of a URL, in lower case: host with port, path without its first slash, query."""

    host: str
    path: str
    query: str


def link_address(url: str) -> LinkAddress:
    """Return the parts of an absolute URL; of a very long one those of its beginning."""
    rest = url[:_LONGEST].partition("://")[2].lower()
    place, _, query = rest.partition("?")
    host, _, path = place.partition("/")
    return LinkAddress(host.rpartition("@")[2], path, query)

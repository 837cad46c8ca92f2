"""Where a linked URL belongs, told by its urlkey: the host without its `www`, and the domain."""

from functools import lru_cache

from nwx.values.urls import host_parts, url_parts


def host_of_urlkey(urlkey: str) -> str:
    """Return the host of a urlkey, as `example.org` of `org,example:8080)/a`; "" without one.

    `www.example.org` and `example.org` are one host, as they are in urlkeys.
    """
    head, bracket, _ = urlkey.partition(")")
    if not bracket or "/" in head:
        return url_parts(urlkey).host
    return _host_of_head(head)


@lru_cache(maxsize=65_536)
def _host_of_head(head: str) -> str:
    name = head if head.startswith("[") else head.partition(":")[0]
    return ".".join(reversed(name.split(",")))


def domain_of_host(host: str) -> str:
    """Return the registrable domain of a host, the host itself where it has none."""
    return host_parts(host).domain or host


def head_of_host(host: str) -> str:
    """Return how the urlkeys of a host begin, up to its bracket or port: `org,example`."""
    return host if host.startswith("[") else ",".join(reversed(host.split(".")))

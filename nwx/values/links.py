"""Kinds of links, and the host and domain that a linked URL belongs to."""

from functools import lru_cache

from nwx.values.urls import host_parts, url_parts

A, AREA, FORM, REFRESH = "a", "area", "form", "refresh"
IMG, SCRIPT, STYLESHEET, ICON = "img", "script", "stylesheet", "icon"
FRAME, MEDIA, CSS = "frame", "media", "css"
CANONICAL, ALTERNATE, LINK = "canonical", "alternate", "link"
OUTLINK = "outlink"
"""What only a metadata record of a crawler names, found in a script or guessed."""

EMBEDDED = frozenset({IMG, SCRIPT, STYLESHEET, ICON, FRAME, MEDIA, CSS})
"""Kinds of what a browser loads to show a page; `css` is a `url()` of a style sheet, such as a
background or a font, and `media` is audio, video, tracks and plug-in objects."""

NAVIGATIONAL = frozenset({A, AREA, REFRESH})
"""Kinds of links that lead to another page; a form leads to one only with its values."""

KINDS = (
    *(A, AREA, REFRESH, FORM),
    *(IMG, SCRIPT, STYLESHEET, ICON, FRAME, MEDIA, CSS),
    *(CANONICAL, ALTERNATE, LINK),
)
"""All kinds that are counted by themselves; `link` is a `<link>` of any other relation."""

_OLDER = {
    "body": IMG,
    "input": IMG,
    "iframe": FRAME,
    "meta": REFRESH,
    **dict.fromkeys(("audio", "video", "source", "track", "embed", "object"), MEDIA),
}
"""Archives of older versions have the names of elements as kinds."""


def present_kind(kind: str) -> str:
    """Return the kind of a stored link; archives of older versions have names of elements."""
    return _OLDER.get(kind, kind)


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

"""URLs of records: cleaning, host, domain and words; and the kinds of links."""

import ipaddress
import re
from functools import cache, lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from nwx.errors import UrlError

MAX_URL_CHARACTERS = 16_384
"""The maximum length of a URL; longer ones contain data (`data:`), and engines cannot look them up.
"""

_UNSAFE = re.compile(r"[\x00-\x20\x7f\ud800-\udfff]")
_HOST = re.compile(
    r"(?:https?|ftps?|wss?|dns|whois|gopher):/*+(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^/?#:]*)", re.I
)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")


class UrlParts(NamedTuple):
    """The host, registrable domain and public suffix of a URL; "" if missing."""

    host: str
    domain: str
    public_suffix: str


_NOWHERE = UrlParts("", "", "")


def clean_url(raw: bytes | str) -> str:
    """Return the cleaned URL of a record, usable as a field of a CDX line.

    Removes surrounding blanks and the angle brackets of old wget, and percent-encodes blanks and
    control characters inside. Bytes are decoded as UTF-8, or else as ISO 8859-1. Raises UrlError if
    it is empty or too long.
    """
    url = raw if isinstance(raw, str) else decoded_url(raw)
    is_usual = url.isascii() and url.isprintable() and " " not in url and url[:1] != "<"
    if is_usual and 0 < len(url) <= MAX_URL_CHARACTERS:
        return url
    url = url.strip("\x00 \t\r\n\f\v")
    if url.startswith("<") and url.endswith(">"):
        url = url[1:-1].strip()
    if not url:
        raise UrlError.translated("the record has no URL")
    if len(url) > MAX_URL_CHARACTERS:
        raise UrlError.translated(
            "the URL %(url)s… has %(count)s characters; at most %(most)s are allowed",
            url=repr(url[:60]),
            count=len(url),
            most=MAX_URL_CHARACTERS,
        )
    return _UNSAFE.sub(_escape, url) if _UNSAFE.search(url) else url


def decoded_url(raw: bytes) -> str:
    """Return the bytes of a URL as text, decoded as UTF-8, or else as ISO 8859-1."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("iso-8859-1")


def url_parts(url: str) -> UrlParts:
    """Return host, registrable domain and public suffix of a URL."""
    found = _HOST.match(url)
    return host_parts(found[1]) if found else _NOWHERE


_PORT = re.compile(r":0*([1-9][0-9]{0,4})(?=[/?#]|$)")
_USUAL_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}


def host_with_port(url: str) -> str:
    """Return the host of a URL, with its port unless it is the scheme's default.

    Crawlers apply delays, limits, counts and alerts to servers identified in this way.
    """
    found = _HOST.match(url)
    if not found:
        return ""
    host = host_parts(found[1]).host
    port = _PORT.match(url, found.end())
    is_usual = port is None or _USUAL_PORTS.get(url.partition(":")[0].lower()) == port[1]
    return host if is_usual or port is None else f"{host}:{port[1]}"


def asked_host(text: str) -> str:
    """Return HOST or HOST:PORT, as somebody writes it, in the form of `host_with_port`."""
    return host_with_port(f"http://{text}")


@lru_cache(maxsize=65_536)
def host_parts(host: str) -> UrlParts:
    """Return a host in normal form (lower case, IDNA) with its domain and public suffix.

    An IP address is its own domain, so that its captures can be counted by site, and has no suffix.
    """
    host = host.lower().strip(".")
    if _is_address(host):
        return UrlParts(host, host, "")
    host = _ascii(host)
    if not host or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        return UrlParts(host[:255], "", "")
    suffixes = _suffixes(encoded="xn--" in host)
    return UrlParts(host, suffixes.privatesuffix(host) or host, suffixes.publicsuffix(host) or "")


def site_parts(site: str) -> UrlParts:
    """Return the parts of a site's host; a URL names its host."""
    return url_parts(site) if "://" in site else host_parts(site)


def host_of_site(site: str) -> str:
    """Return a site as a host in normal form without `www.`, as urlkeys have it."""
    return site_parts(site).host.removeprefix("www.")


def is_of_site(host: str, site: str) -> bool:
    """Return whether a host is a site, in any spelling, or a subdomain; `www.` is ignored."""
    site = host_of_site(site)
    return host == site or host.endswith(f".{site}")


@cache
def _suffixes(*, encoded: bool) -> Any:
    """Return the list of public suffixes; `encoded` ones take two thirds of the time to load."""
    # Imported late: few commands need domains.
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_encoded_idn=encoded)


def _escape(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def _is_address(host: str) -> bool:
    if not host[-1:].isdigit() and not host.startswith("["):
        return False
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


A, AREA, FORM, REFRESH = "a", "area", "form", "refresh"
IMG, SCRIPT, STYLESHEET, ICON = "img", "script", "stylesheet", "icon"
FRAME, MEDIA, CSS = "frame", "media", "css"
CANONICAL, ALTERNATE, LINK = "canonical", "alternate", "link"
OUTLINK = "outlink"
"""The kind of links that only a crawler's metadata record names, found in a script or guessed."""

EMBEDDED = frozenset({IMG, SCRIPT, STYLESHEET, ICON, FRAME, MEDIA, CSS})
"""Kinds of resources that a browser loads to show a page; `css` is a `url()` of a style sheet, such
as a background or a font, and `media` is audio, video, tracks and plug-in objects."""

NAVIGATIONAL = frozenset({A, AREA, REFRESH})
"""Kinds of links to another page; forms are not included, as they need values."""

KINDS = (
    *(A, AREA, REFRESH, FORM),
    *(IMG, SCRIPT, STYLESHEET, ICON, FRAME, MEDIA, CSS),
    *(CANONICAL, ALTERNATE, LINK),
)
"""All kinds that are counted separately; `link` is a `<link>` with any other relation."""

_OLDER = {
    "body": IMG,
    "input": IMG,
    "iframe": FRAME,
    "meta": REFRESH,
    **dict.fromkeys(("audio", "video", "source", "track", "embed", "object"), MEDIA),
}
"""Kinds by element name, which archives of older versions have as kinds."""


def present_kind(kind: str) -> str:
    """Return the current name of a stored link's kind, which may be of an older version."""
    return _OLDER.get(kind, kind)


def host_of_urlkey(urlkey: str) -> str:
    """Return the host of a urlkey: `example.org` for `org,example:8080)/a`; "" if none.

    `www.example.org` and `example.org` are one host, as in urlkeys.
    """
    head, bracket, _ = urlkey.partition(")")
    if not bracket or "/" in head:
        return url_parts(urlkey).host
    return _host_of_head(head)


@lru_cache(maxsize=65_536)
def _host_of_head(head: str) -> str:
    # Urlkeys of IPv6 addresses have no brackets, and nothing sets a port apart.
    if head.count(":") > 1 and _is_address(f"[{head}]"):
        return f"[{head}]"
    return ".".join(reversed(head.partition(":")[0].split(",")))


def domain_of_host(host: str) -> str:
    """Return the registrable domain of a host, the host itself if it has none."""
    return host_parts(host).domain or host


def head_of_host(host: str) -> str:
    """Return the start of a host's urlkeys, before the bracket or port: `org,example`."""
    return host.strip("[]") if host.startswith("[") else ",".join(reversed(host.split(".")))


_ASCII_SIGNS = re.compile(r"[\x00-/:-@\[-`{-\x7f]+")
_ADDRESS = re.compile(r"(?:www\.)?((?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}(?:[:/]\S*)?)", re.I)


def url_words(url: str) -> str:
    """Return the words of a URL, decoded and separated by blanks."""
    return _ASCII_SIGNS.sub(" ", unquote(url)).strip()


def address_words(text: str) -> str:
    """Return the words of an address without a scheme (`example.org/page`), "" for other texts."""
    found = _ADDRESS.fullmatch(text)
    return url_words(found[1]) if found else ""

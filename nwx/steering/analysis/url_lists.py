"""Sitemaps, RSS and Atom feeds and robots.txt read as pages with links."""

import re
import zlib
from xml.parsers import expat

from nwx.extract.charset import decode
from nwx.extract.links import Resolver
from nwx.extract.page_fields import evident_date
from nwx.extract.text import clean_line
from nwx.steering.analysis.page_view import LIMITS, PageLink, PageView
from nwx.values import urls as kinds

_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_URLS = frozenset({"loc", "link"})
_DATES = frozenset({"lastmod", "pubDate", "date", "updated", "publication_date"})
_FIELDS = dict.fromkeys(_URLS, "url") | dict.fromkeys(_DATES, "date") | {"title": "title"}
"""The field of an entry, by element name."""

_GZIP = b"\x1f\x8b"
_DEEPEST = 100
_LONGEST_FIELD = 2_000  # characters
_SITEMAP = re.compile(r"^\s*sitemap\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)


def url_list_view(data: bytes, url: str, timestamp: str) -> PageView:
    """Return a page without text whose links are the entries of a list; titles are anchors.

    A parse error ends the list. No input raises an error.
    """
    if data.startswith(_GZIP):
        data = _unpacked(data)
    resolver = Resolver(url)
    links = []
    if url.partition("?")[0].endswith("/robots.txt"):
        text = decode(data[: LIMITS.bytes])
        found = [(target, "sitemap", "") for target in _SITEMAP.findall(text)]
    else:
        found = _entries(data[: LIMITS.bytes])
    for reference, title, date in found[: LIMITS.links]:
        target = resolver.absolute(reference.strip())
        if target:
            changed = re.sub(r"\D", "", evident_date(date, timestamp)) if date else ""
            links.append(PageLink(target, clean_line(title), kinds.A, changed=changed))
    return PageView(url, timestamp, links=tuple(links))


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, LIMITS.bytes)
    except zlib.error:
        return b""


class _RefusedError(Exception):
    """Ends parsing: entity declarations, very deep nesting, or too many entries."""


def _leads_on(attributes: dict[str, str]) -> bool:
    return "href" in attributes and attributes.get("rel", "alternate") == "alternate"


def _field_of(path: list[str]) -> str:
    """Return the entry field of an element, "" if none."""
    name = path[-1] if path else ""
    if name in _URLS and not _ENTRIES.intersection(path[-2:-1]):
        return ""  # the URL of an image, for instance
    return _FIELDS.get(name, "")


def _entries(data: bytes) -> list[tuple[str, str, str]]:
    """Return URL, title and date of each entry in XML."""
    entries: list[tuple[str, str, str]] = []
    fields: dict[str, str] | None = None
    path: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal fields
        name = tag.rpartition(":")[2]
        path.append(name)
        if len(path) > _DEEPEST or len(entries) >= LIMITS.links:
            raise _RefusedError
        if name in _ENTRIES:
            fields = {}
        elif name == "link" and fields is not None and _leads_on(attributes):
            fields.setdefault("url", attributes["href"])

    def text(content: str) -> None:
        if fields is not None and (key := _field_of(path)):
            fields[key] = (fields.get(key, "") + content)[:_LONGEST_FIELD]

    def end(tag: str) -> None:
        nonlocal fields
        path.pop()
        if fields is not None and tag.rpartition(":")[2] in _ENTRIES:
            if fields.get("url", "").strip():
                date = fields.get("date", "").strip()
                entries.append((fields["url"], fields.get("title", ""), date))
            fields = None

    def refuse(*_: object) -> None:
        raise _RefusedError

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = text, refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, _RefusedError, LookupError, ValueError):
        return entries
    return entries

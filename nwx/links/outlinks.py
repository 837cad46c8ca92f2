"""Links of captured pages and whether their targets were captured; place parsing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice

from nwx.engine.base import Engine
from nwx.errors import UrlError, UsageError
from nwx.keys import capture_key, document_id
from nwx.links.parts import clean_anchor
from nwx.model import Capture, LinkCell
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url, head_of_host, host_of_urlkey

_SCHEME = "://"


@dataclass(frozen=True, slots=True)
class AskedPlace:
    """A URL with its urlkey, or a host without one."""

    text: str
    urlkey: str
    host: str

    @property
    def is_host(self) -> bool:
        """Return whether all URLs of a host are meant."""
        return not self.urlkey


def asked_place(text: str) -> AskedPlace:
    """Return the place that a text names: a URL if it has a scheme or a path, else a host.

    Raises UsageError on anything else.
    """
    is_url = _SCHEME in text or "/" in text
    try:
        url = clean_url(text if _SCHEME in text else f"http://{text}")
        key = urlkey(url)
    except UrlError as error:
        raise UsageError.translated(
            "%(text)s is neither a URL nor a host", text=repr(text[:80])
        ) from error
    host = host_of_urlkey(key)
    if not host or (not is_url and "." not in host and host != "localhost"):
        raise UsageError.translated(
            "%(text)s is neither a URL nor a host; write http://… or HOST", text=repr(text[:80])
        )
    return AskedPlace(text, key if is_url else "", host)


_AT_ONCE = 500


_OK, _REDIRECTION = 200, 300


@dataclass(frozen=True, slots=True)
class PageOutlink:
    """A link of a page, and whether the linked URL was ever captured."""

    page: str
    timestamp: str
    url: str
    kind: str
    text: str
    captured: bool


def outlinks_of(engine: Engine, place: AskedPlace, cell: LinkCell) -> Iterator[PageOutlink]:
    """Stream the links of the newest capture of a URL, or of each URL of a host, in a cell.

    For a host, only links to other hosts. In the order of pages, and of the links on each.
    """
    for capture in _newest(engine, place, cell):
        ids = [capture.document_id, document_id(capture_key(capture))]
        held = engine.documents(ids)
        found = iter([link for id in ids if id in held for link in held[id].extract.links])
        while links := list(islice(found, _AT_ONCE)):
            keys = [_urlkey(link.url) for link in links]
            statuses: Mapping[str, int | None] = engine.statuses([key for key in keys if key])
            for link, key in zip(links, keys, strict=True):
                if place.is_host and host_of_urlkey(key) == place.host:
                    continue
                yield PageOutlink(
                    capture.url,
                    capture.timestamp,
                    link.url,
                    link.kind,
                    clean_anchor(link.text),
                    key in statuses,
                )


def _newest(engine: Engine, place: AskedPlace, cell: LinkCell) -> Iterator[Capture]:
    """Yield the newest capture of each URL in a cell, among captures with a document.

    Redirects and errors are taken only if a URL has no other capture: captures of `http` and
    `https` and with and without `www` have the same urlkey.
    """
    for _, captures in groupby(_captures(engine, place), key=lambda one: one.urlkey):
        wanted = [one for one in captures if one.document_id and _is_in(one, cell)]
        pages = [one for one in wanted if (one.status_code or _OK) < _REDIRECTION]
        yield from (pages or wanted)[-1:]


def _captures(engine: Engine, place: AskedPlace) -> Iterator[Capture]:
    if not place.is_host:
        yield from engine.captures(place.urlkey)
        return
    head = head_of_host(place.host)
    for sign in (")", ":"):
        yield from engine.captures(f"{head}{sign}", f"{head}{chr(ord(sign) + 1)}")


def _is_in(capture: Capture, cell: LinkCell) -> bool:
    if cell.year is not None and int(capture.timestamp[:4]) != cell.year:
        return False
    return not cell.collection or capture.collection == cell.collection


def _urlkey(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""

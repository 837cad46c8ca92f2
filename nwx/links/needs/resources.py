"""The resources that one page needs to be shown, and those of them that the archive lacks."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from nwx.engine.base import Engine
from nwx.errors import UrlError
from nwx.keys import is_browsed
from nwx.links.needs.missing_urls import LOWEST_ERROR
from nwx.model import Document, Link
from nwx.values.link_kinds import EMBEDDED, STYLESHEET, present_kind
from nwx.values.timestamps import seconds_between
from nwx.values.urlkeys import urlkey

MOST_RESOURCES = 2_000
_MOST_SHEETS = 20
_MOST_CAPTURES = 1_000


@dataclass(frozen=True, slots=True)
class MissingResource:
    """A resource without a capture that succeeded; `status` is None where it has none at all."""

    url: str
    kind: str
    status: int | None


@dataclass(frozen=True, slots=True)
class PageResources:
    """How many resources a page needs, by urlkey, and the missing ones in the page's order.

    What the page's captured style sheets load is included. `is_cut` tells
    that there are more than MOST_RESOURCES, which were left out.
    """

    total: int
    missing: tuple[MissingResource, ...]
    is_cut: bool


def page_resources(engine: Engine, document: Document) -> PageResources:
    """Return the resources of a document."""
    own = dict(_embedded(document.extract.links))
    own.pop(document.capture.urlkey, None)
    wanted = dict(own)
    for sheet in _style_sheets(engine, document, own):
        for key, link in _embedded(sheet.extract.links):
            wanted.setdefault(key, link)
    keys = list(islice(wanted, MOST_RESOURCES))
    statuses = engine.statuses(keys)
    missing = tuple(
        MissingResource(wanted[key].url, present_kind(wanted[key].kind), statuses.get(key))
        for key in keys
        if statuses.get(key, LOWEST_ERROR) >= LOWEST_ERROR
    )
    return PageResources(len(keys), missing, len(wanted) > len(keys))


def link_keys(links: Iterable[Link]) -> Iterator[tuple[str, Link]]:
    """Yield links with their urlkeys; what is no URL that people browse is left out."""
    for link in links:
        if is_browsed(link.url):
            with suppress(UrlError):
                yield urlkey(link.url), link


def _embedded(links: Iterable[Link]) -> Iterator[tuple[str, Link]]:
    return link_keys(link for link in links if present_kind(link.kind) in EMBEDDED)


def _style_sheets(engine: Engine, document: Document, links: dict[str, Link]) -> Iterator[Document]:
    """Yield the page's style sheets as captured closest to the page."""
    keys = [key for key, link in links.items() if link.kind == STYLESHEET][:_MOST_SHEETS]
    found = []
    for key in keys:
        captures = islice(engine.captures(key), _MOST_CAPTURES)
        close = min(
            (one for one in captures if one.document_id),
            key=lambda one: seconds_between(one.timestamp, document.capture.timestamp),
            default=None,
        )
        if close:
            found.append(close.document_id)
    yield from engine.documents(found).values()

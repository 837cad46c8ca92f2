"""The resources of a page that may be missing, to be looked up in the archive."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nwx.errors import UrlError
from nwx.quality.browser.page_render import PageRender, PlayedResource
from nwx.quality.measures.resource_counts import FIRST_BAD
from nwx.quality.playback.request_rules import (
    LASTING,
    SIGNALS,
    is_icon,
    is_volatile,
)
from nwx.quality.renders.page_information import PageInfo, PageResource
from nwx.values.urlkeys import urlkey

_WEB = ("http://", "https://")
_SHOWN = frozenset({"document", "stylesheet", "script", "image", "font", "media"})
_SHOWN_MIMES = ("text/css", "text/javascript", "application/javascript", "image/", "font/")


class Suspect(NamedTuple):
    """A resource that did not come in playback.

    `status` is what was answered, 0 nothing. `is_archived` tells that a
    capture answered, `was_good` that the crawl's browser got it, `was_asked`
    that the page asked for it in playback.
    """

    url: str
    urlkey: str
    status: int
    type: str
    is_archived: bool
    was_good: bool
    was_asked: bool = True


@dataclass(frozen=True, slots=True)
class Suspects:
    """What to look up in the archive, and how many requests are left aside.

    Those tell nothing: they went wrong in the crawl too, or no crawl can
    have captured them.
    """

    found: tuple[Suspect, ...]
    left_aside: int


def suspects(render: PageRender, info: PageInfo | None) -> Suspects:
    """Return the resources of a page in playback that may be missing in the archive.

    `info` is what the crawl's browser loaded, where that is known. What it
    got and the page in playback did not even ask for is among them: a
    script that is missing asks for nothing. So is what has a query: players
    answer with captures of another query where they have none.
    """
    crawl = _by_key(info) if info else None
    played = _played(render)
    bad = {key: one for key, one in played.items() if _is_bad(one.status)}
    found = [one for key, each in bad.items() if (one := _suspect(key, each, render, crawl))]
    unasked = _unasked(crawl, played) if crawl else []
    return Suspects((*found, *unasked), len(bad) - len(found))


def resource_key(url: str) -> str:
    """Return the urlkey of a resource, "" for what is none of the web."""
    if not url.startswith(_WEB):
        return ""
    try:
        return urlkey(url)
    except UrlError:
        return ""


def _is_bad(status: int) -> bool:
    return status == 0 or status >= FIRST_BAD


def _played(render: PageRender) -> dict[str, PlayedResource]:
    """Return what was asked for by urlkey: a good answer where there was any, else the last."""
    found: dict[str, PlayedResource] = {}
    for one in render.resources:
        key = resource_key(one.url)
        if key and (key not in found or _is_bad(found[key].status)):
            found[key] = one
    return found


def _by_key(info: PageInfo) -> dict[str, PageResource]:
    found: dict[str, PageResource] = {}
    for one in info.resources:
        key = resource_key(one.url)
        if key and (key not in found or _is_bad(found[key].status)):
            found[key] = one
    return found


def _suspect(
    key: str,
    one: PlayedResource,
    render: PageRender,
    crawl: Mapping[str, PageResource] | None,
) -> Suspect | None:
    is_archived = one.status > 0 and bool(one.timestamp)
    type = one.type.lower()
    known = crawl.get(key) if crawl else None
    if known is not None:
        if _is_bad(known.status):
            return None
    elif is_archived or _tells_nothing(one.url, type, render, has_list=crawl is not None):
        return None
    return Suspect(one.url, key, one.status, type, is_archived, known is not None)


def _tells_nothing(url: str, type: str, render: PageRender, *, has_list: bool) -> bool:
    """Tell whether a request that the crawl's browser did not make says nothing of the archive."""
    if type in SIGNALS or is_icon(url):
        return True
    # A script may choose another banner each time.
    return type not in LASTING and (has_list or is_volatile(url, render.task.timestamp))


def _unasked(
    crawl: Mapping[str, PageResource], played: Mapping[str, PlayedResource]
) -> Iterator[Suspect]:
    """Yield what the crawl loaded and playback did not ask for, or may have from another query."""
    for key, one in crawl.items():
        is_sure = key in played and (_is_bad(played[key].status) or "?" not in key)
        if not is_sure and not _is_bad(one.status) and _is_shown(one):
            yield Suspect(one.url, key, 0, one.type.lower(), False, True, was_asked=False)


def _is_shown(one: PageResource) -> bool:
    """Tell whether pages are made of such a resource, by its type, or its MIME type without one."""
    return one.type.lower() in _SHOWN or (not one.type and one.mime.startswith(_SHOWN_MIMES))

"""The links to one URL, for its page and for that of a document."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from nwx.engine.base import Engine
from nwx.links.archive_links import ArchiveLinks
from nwx.links.missing_urls import link_keys
from nwx.links.redirects import LOWEST_ERROR
from nwx.model import Inlink, Link, LinkCell, LinkCounts
from nwx.values.urls import present_kind

_NONE = LinkCounts()


@dataclass(frozen=True, slots=True)
class UrlInlinks:
    """The links to a URL of one year, or of all (None), and some of them.

    `years` has the linking pages by year. `more` tells that there are
    links behind those of `listed`.
    """

    counts: LinkCounts
    years: dict[str, int]
    listed: tuple[Inlink, ...]
    more: bool


def url_inlinks(
    links: ArchiveLinks, key: str, year: int | None, offset: int, limit: int
) -> UrlInlinks:
    """Return the links to a urlkey; those behind `offset` are listed, `limit` at most."""
    cell = LinkCell(year)
    counts = links.counts(key, cell) or _NONE
    found = tuple(islice(links.inlinks(key, cell), offset, offset + limit + 1))
    years = {
        f"{one:04}": counted.documents
        for one in links.years()
        if (counted := links.counts(key, LinkCell(one))) and counted.documents
    }
    return UrlInlinks(counts, years, found[:limit], len(found) > limit)


@dataclass(frozen=True, slots=True)
class OutlinkState:
    """A link of a document: whether what it leads to was captured.

    `state` is `captured`, `error` (captured with errors alone), `never`, or
    "" of what is no URL that can be looked up.
    """

    url: str
    text: str
    kind: str
    state: str


def outlink_states(engine: Engine, links: Sequence[Link]) -> list[OutlinkState]:
    """Return links with what became of the URLs that they lead to."""
    keys = {link: key for key, link in link_keys(links)}
    statuses = engine.statuses(list(dict.fromkeys(keys.values())))
    found = []
    for link in links:
        key = keys.get(link)
        status = statuses.get(key) if key else None
        if key is None:
            state = ""
        elif status is None:
            state = "never"
        else:
            state = "captured" if status < LOWEST_ERROR else "error"
        found.append(OutlinkState(link.url, link.text, present_kind(link.kind), state))
    return found

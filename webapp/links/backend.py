"""The inverted links of the running application."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock

from cachetools import LRUCache

from nwx.engine.base import Engine
from nwx.links.archive_links import ALL_LINKS, ArchiveLinks
from nwx.links.host_graph import Centrality, HostGraph, centrality, domain_graph
from nwx.links.missing_urls import link_keys
from nwx.links.redirects import LOWEST_ERROR
from nwx.model import Inlink, Link, LinkCell, LinkCounts
from nwx.values.urls import domain_of_host, present_kind
from webapp.site.context import kept_of_engine

_GRAPHS, _RANKED = 6, 2


@dataclass(frozen=True, slots=True)
class GraphKey:
    """Which graph: of hosts or of domains, in which cell."""

    domains: bool
    cell: LinkCell = ALL_LINKS


class LinkAnswers:
    """The current build of the inlinks, and the graphs that were asked for last."""

    def __init__(self, archive: Engine) -> None:
        self._archive = archive
        # Of their own, so that whoever asks for the links of a URL waits for no graph.
        self._opening, self._counting = Lock(), Lock()
        self._version = ""
        self._links: ArchiveLinks | None = None
        self._graphs: LRUCache[tuple[str, GraphKey], HostGraph] = LRUCache(_GRAPHS)
        self._central: LRUCache[tuple[str, GraphKey], Centrality] = LRUCache(_RANKED)

    def links(self) -> ArchiveLinks | None:
        """Return the current build, None where links were never inverted."""
        _, links = self._current()
        return links

    def _current(self) -> tuple[str, ArchiveLinks | None]:
        version = self._archive.inlink_index().version()
        with self._opening:
            if version != self._version:
                self._links = ArchiveLinks(self._archive) if version else None
                self._version = version
            return self._version, self._links

    def graph(self, key: GraphKey) -> HostGraph | None:
        """Return a graph, None where links were never inverted; others wait meanwhile."""
        version, links = self._current()
        if links is None:
            return None
        with self._counting:
            return self._graph(version, links, key)

    def _graph(self, version: str, links: ArchiveLinks, key: GraphKey) -> HostGraph:
        found = self._graphs.get((version, key))
        if found is None:
            if key.domains:
                hosts = self._graph(version, links, GraphKey(False, key.cell))
                found = domain_graph(hosts, domain_of_host)
            else:
                found = links.host_graph(key.cell)
            self._graphs[version, key] = found
        return found

    def central(self, key: GraphKey) -> tuple[HostGraph, Centrality] | None:
        """Return a graph with the centralities of its hosts."""
        version, links = self._current()
        if links is None:
            return None
        with self._counting:
            graph = self._graph(version, links, key)
            found = self._central.get((version, key))
            if found is None:
                found = self._central[version, key] = centrality(graph)
            return graph, found


def link_answers() -> LinkAnswers:
    """Return what answers questions about links for whoever asks."""
    return kept_of_engine(LinkAnswers)


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

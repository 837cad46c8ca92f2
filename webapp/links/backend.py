"""The inverted links of the running application."""

from dataclasses import dataclass
from threading import Lock

from cachetools import LRUCache

from nwx.engine.base import Engine
from nwx.links.archive_links import ALL_LINKS, ArchiveLinks
from nwx.links.host_graph import Centrality, HostGraph, centrality, domain_graph
from nwx.model import LinkCell
from nwx.values.urls import domain_of_host
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

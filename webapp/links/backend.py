"""The inverted links of the running application."""

from dataclasses import dataclass
from threading import Lock

from cachetools import LRUCache
from flask import current_app

from nwx.engine.base import Engine
from nwx.links.archive_links import ALL_LINKS, ArchiveLinks
from nwx.links.graphs.centrality import Centrality, centrality
from nwx.links.graphs.host_graph import HostGraph, domain_graph
from nwx.model import LinkCell
from nwx.values.link_places import domain_of_host
from webapp.site.context import engine

_EXTENSION = "nwx-links"
_GRAPHS = 6


@dataclass(frozen=True, slots=True)
class GraphKey:
    """Which graph: of hosts or of domains, in which cell."""

    domains: bool
    cell: LinkCell = ALL_LINKS


class LinkAnswers:
    """The current build of the inlinks, and the graphs that were asked for last."""

    def __init__(self, archive: Engine) -> None:
        self._archive = archive
        self._lock = Lock()
        self._version = ""
        self._links: ArchiveLinks | None = None
        self._graphs: LRUCache[GraphKey, HostGraph] = LRUCache(_GRAPHS)
        self._central: LRUCache[GraphKey, Centrality] = LRUCache(2)

    def links(self) -> ArchiveLinks | None:
        """Return the current build, None where links were never inverted."""
        version = self._archive.inlink_index().version()
        with self._lock:
            if version != self._version:
                self._links = ArchiveLinks(self._archive) if version else None
                self._graphs.clear()
                self._central.clear()
                self._version = version
            return self._links

    def graph(self, key: GraphKey) -> HostGraph | None:
        """Return a graph, None where links were never inverted; others wait meanwhile."""
        links = self.links()
        if links is None:
            return None
        with self._lock:
            return self._graph(links, key)

    def _graph(self, links: ArchiveLinks, key: GraphKey) -> HostGraph:
        found = self._graphs.get(key)
        if found is None:
            if key.domains:
                found = domain_graph(self._graph(links, GraphKey(False, key.cell)), domain_of_host)
            else:
                found = links.host_graph(key.cell)
            self._graphs[key] = found
        return found

    def central(self, key: GraphKey) -> tuple[HostGraph, Centrality] | None:
        """Return a graph with the centralities of its hosts."""
        graph = self.graph(key)
        if graph is None:
            return None
        with self._lock:
            found = self._central.get(key)
            if found is None:
                found = self._central[key] = centrality(graph)
            return graph, found


def link_answers() -> LinkAnswers:
    """Return what answers questions about links in the running application."""
    known = current_app.extensions
    if _EXTENSION not in known:
        known.setdefault(_EXTENSION, LinkAnswers(engine()))
    found: LinkAnswers = known[_EXTENSION]
    return found

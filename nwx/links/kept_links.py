"""The current build of an archive's links, with a cache of graphs; thread-safe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock

from cachetools import LRUCache

from nwx.engine.base import Engine
from nwx.links.archive_links import ALL_LINKS, ArchiveLinks
from nwx.links.host_graph import (
    Centrality,
    HostGraph,
    Neighbourhood,
    centrality,
    domain_graph,
    neighbourhood,
)
from nwx.links.missing_urls import LOWEST_ERROR, link_keys
from nwx.model import Collapse, Inlink, Link, LinkCell, LinkCounts
from nwx.query.question import Question
from nwx.query.tree import Bool, Term
from nwx.values.urls import domain_of_host, present_kind

_GRAPHS, _RANKED = 6, 2
_WWW = "www."


@dataclass(frozen=True, slots=True)
class GraphKey:
    """The key of a graph: hosts or domains, in a cell."""

    domains: bool
    cell: LinkCell = ALL_LINKS


@dataclass(frozen=True, slots=True)
class UrlInlinks:
    """The links to a URL in a cell, and some of them.

    `years` has the number of linking pages by year. `more` is true if more links follow `listed`.
    `status` is the lowest status of the URL's captures, None without any.
    """

    counts: LinkCounts
    years: Mapping[str, int]
    listed: Sequence[Inlink]
    more: bool
    status: int | None


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """Hosts or domains, the links among them, and the number of documents of each."""

    around: Neighbourhood
    documents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class OutlinkState:
    """A link of a document, and whether its target was captured.

    `state` is `captured`, `error` (only captured with errors), `never`, or "" for an invalid URL.
    """

    url: str
    text: str
    kind: str
    state: str


class KeptLinks:
    """Answers questions about links from the current build."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Separate locks, so that questions about a URL do not wait for graphs.
        self._opening, self._counting = Lock(), Lock()
        self._version = ""
        self._links: ArchiveLinks | None = None
        self._graphs: LRUCache[tuple[str, GraphKey], HostGraph] = LRUCache(_GRAPHS)
        self._central: LRUCache[tuple[str, GraphKey], Centrality] = LRUCache(_RANKED)

    def links(self) -> ArchiveLinks:
        """Return the current build; raises NotBuiltError if links were never inverted."""
        return self._current()[1]

    def _current(self) -> tuple[str, ArchiveLinks]:
        version = self._engine.inlink_index().version()
        with self._opening:
            if self._links is None or version != self._version:
                self._links, self._version = ArchiveLinks(self._engine), version
            return version, self._links

    def graph(self, key: GraphKey) -> HostGraph:
        """Return a graph, made if not cached; other callers wait meanwhile."""
        version, links = self._current()
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

    def central(self, key: GraphKey) -> tuple[HostGraph, Centrality]:
        """Return a graph with the centralities of its hosts."""
        version, links = self._current()
        with self._counting:
            graph = self._graph(version, links, key)
            found = self._central.get((version, key))
            if found is None:
                found = self._central[version, key] = centrality(graph)
            return graph, found

    def around(self, host: str, key: GraphKey, top: int) -> LinkGraph:
        """Return the hosts or domains around one, or the most linked ones for ""."""
        centre = domain_of_host(host) if key.domains and host else host
        around = neighbourhood(self.graph(key), centre, top)
        return LinkGraph(around, self._documents(around, domains=key.domains))

    def _documents(self, around: Neighbourhood, *, domains: bool) -> dict[str, int]:
        """Return the number of documents of each shown host or domain."""
        names = [one.host for one in around.hosts if one.host]
        if not names:
            return {}
        field = "domain" if domains else "host"
        wanted = names if domains else [*names, *(f"{_WWW}{name}" for name in names)]
        question = Question(
            query=Bool(should=tuple(Term(field, name) for name in wanted)),
            facets=(field,),
            facet_size=len(wanted),
            limit=0,
            snippets=False,
            collapse=Collapse.NONE,
        )
        found: dict[str, int] = {}
        for one in self._engine.search(question).facets.get(field, ()):
            name = one.value if domains else one.value.removeprefix(_WWW)
            if name in names:
                found[name] = found.get(name, 0) + one.count
        return found

    def of_key(
        self, key: str, cell: LinkCell, offset: int, limit: int, *, by_year: bool = True
    ) -> UrlInlinks:
        """Return the links to a urlkey with their counts, listing `limit` links from `offset`."""
        links = self.links()
        found = tuple(islice(links.inlinks(key, cell), offset, offset + limit + 1))
        years = {
            f"{one:04}": counted.documents
            for one in (links.years() if by_year else ())
            if (counted := links.counts(key, LinkCell(one))) and counted.documents
        }
        counts = links.counts(key, cell) or LinkCounts()
        status = self._engine.statuses([key]).get(key)
        return UrlInlinks(counts, years, found[:limit], len(found) > limit, status)


def outlink_states(engine: Engine, links: Sequence[Link]) -> list[OutlinkState]:
    """Return links with the states of their targets."""
    keys = {link: key for key, link in link_keys(links)}
    statuses = engine.statuses(list(dict.fromkeys(keys.values())))
    return [
        OutlinkState(link.url, link.text, present_kind(link.kind), _state(statuses, keys.get(link)))
        for link in links
    ]


def _state(statuses: Mapping[str, int], key: str | None) -> str:
    if key is None:
        return ""
    if key not in statuses:
        return "never"
    return "captured" if statuses[key] < LOWEST_ERROR else "error"

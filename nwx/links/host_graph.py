"""The graph of links between hosts, or domains; centralities and neighbourhoods."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.table import SELF, InlinkTable, TargetRange
from nwx.links.document_table import NEVER, first_dates
from nwx.model import LinkCell
from nwx.values.urls import host_of_urlkey

if TYPE_CHECKING:
    import igraph


def reversed_host(name: str) -> str:
    """Return a host with its labels in reverse, `org.example` for `example.org`.

    Common Crawl's web graphs name and sort hosts in this form; IP addresses are unchanged.
    """
    if name.startswith("[") or name.replace(".", "").isdigit():
        return name
    return ".".join(reversed(name.split(".")))


@dataclass(frozen=True, slots=True)
class HostGraph:
    """Hosts and the links between different ones.

    Hosts are ordered by reversed name; an edge names them by index. `links` counts pairs of linking
    and linked URL. Edges are in the order of source and target. `own_links` are the links of each
    host to itself, which are not edges. `members` is the number of hosts in each domain, 1 in a
    graph of hosts.
    """

    hosts: Sequence[str]
    source: Array
    target: Array
    links: Array
    own_links: Array
    members: Array

    def links_in(self) -> Array:
        """Return the number of links to each host from others."""
        return np.bincount(self.target, self.links, len(self.hosts)).astype(np.int64)

    def links_out(self) -> Array:
        """Return the number of links of each host to others."""
        return np.bincount(self.source, self.links, len(self.hosts)).astype(np.int64)

    def hosts_in(self) -> Array:
        """Return the number of other hosts that link to each host."""
        return np.bincount(self.target, minlength=len(self.hosts))

    def hosts_out(self) -> Array:
        """Return the number of other hosts that each host links to."""
        return np.bincount(self.source, minlength=len(self.hosts))


def host_graph(pairs: Iterable[tuple[str, str, int]]) -> HostGraph:
    """Return the graph of (source host, target host, links); equal pairs are summed.

    Pairs with an unnamed host are left out.
    """
    numbers: dict[str, int] = {}
    sources, targets, counts = [], [], []
    for source, target, links in pairs:
        if source and target:
            sources.append(numbers.setdefault(source, len(numbers)))
            targets.append(numbers.setdefault(target, len(numbers)))
            counts.append(links)
    names = list(numbers)
    return _graph(names, np.ones(len(names), np.int64), sources, targets, counts)


def domain_graph(graph: HostGraph, domain_of: Callable[[str], str]) -> HostGraph:
    """Return the graph of the domains of hosts; links within a domain are its own."""
    numbers: dict[str, int] = {}
    places = np.array(
        [numbers.setdefault(domain_of(host), len(numbers)) for host in graph.hosts], dtype=np.int64
    )
    own = np.flatnonzero(graph.own_links)
    return _graph(
        list(numbers),
        np.bincount(places, graph.members, len(numbers)).astype(np.int64),
        np.concatenate([places[graph.source], places[own]]),
        np.concatenate([places[graph.target], places[own]]),
        np.concatenate([graph.links, graph.own_links[own]]),
    )


def _graph(
    names: list[str],
    members: Array,
    source: Sequence[int] | Array,
    target: Sequence[int] | Array,
    links: Sequence[int] | Array,
) -> HostGraph:
    """Return a graph with sorted names and merged duplicate edges."""
    keys = sorted(range(len(names)), key=lambda place: (reversed_host(names[place]), names[place]))
    order = np.array(keys, dtype=np.int64)
    places = np.empty(len(names), dtype=np.int64)
    places[order] = np.arange(len(names))
    ends = np.stack([np.asarray(source, np.int64), np.asarray(target, np.int64)])
    first, second = places[ends[0]], places[ends[1]]
    edges, of = np.unique(first * max(len(names), 1) + second, return_inverse=True)
    counts = np.bincount(of, np.asarray(links, np.float64), len(edges)).astype(np.int64)
    first, second = edges // max(len(names), 1), edges % max(len(names), 1)
    own = first == second
    own_links = np.zeros(len(names), dtype=np.int64)
    own_links[first[own]] = counts[own]
    return HostGraph(
        [names[place] for place in keys],
        first[~own],
        second[~own],
        counts[~own],
        own_links,
        members[order],
    )


_SCHEMA = {"source": pl.UInt32, "target": pl.String, "links": pl.Int64}
_KEYS = ["source", "target"]


def graph_of_cell(table: InlinkTable, cell: LinkCell) -> HostGraph:
    """Return the graph of the hosts with links, or linked to, in a cell.

    A link is a pair of different linking and linked URLs (by urlkey).
    """
    first = first_dates(table, cell)
    hosts = table.by_source("host")
    found = [
        _host_pairs(table, table.range(number), first, hosts)
        for number in range(len(table.notes.ranges))
    ]
    every = pl.concat([pl.DataFrame(schema=_SCHEMA), *found])
    together = every.group_by(_KEYS).agg(pl.col("links").sum())
    names = pl.Series(table.hosts.all(), dtype=pl.String)
    named = together.with_columns(source=names.gather(together["source"]))
    return host_graph(named.iter_rows())


def _host_pairs(table: InlinkTable, found: TargetRange, first: Array, hosts: Array) -> pl.DataFrame:
    arrays = found.arrays
    document = arrays["document"]
    counting = np.flatnonzero((first[document] != NEVER) & (arrays["flags"] & SELF == 0))
    pairs = pl.DataFrame(
        {
            "page": table.documents["source"][document[counting]],
            "place": found.targets()[counting],
        }
    ).unique()
    targets = pl.Series([host_of_urlkey(key) for key in found.keys.all()], dtype=pl.String)
    named = pl.DataFrame(
        {
            "source": pl.Series(hosts[pairs["page"].to_numpy()], dtype=pl.UInt32),
            "target": targets.gather(pairs["place"]),
        }
    )
    return named.group_by(_KEYS).agg(links=pl.len().cast(pl.Int64))


MOST_EXACT = 10_000_000_000
"""Up to this product of hosts and edges, harmonic centrality is exact; about ten seconds."""

SAMPLED_HOSTS = 500
_SEED = 20_080_509


@dataclass(frozen=True, slots=True)
class Centrality:
    """The centralities of the hosts of a graph, in its order.

    Every edge counts once, however many links it has, so that no host gains by linking a million
    times. `harmonic` is the sum of the inverse distances from all other hosts, as in Common Crawl's
    web graphs; `is_exact` is false if it was estimated from a sample of SAMPLED_HOSTS hosts.
    """

    pagerank: Array
    harmonic: Array
    is_exact: bool


def centrality(graph: HostGraph, most_exact: int = MOST_EXACT) -> Centrality:
    """Return the centralities of all hosts of a graph."""
    size = len(graph.hosts)
    if not size:
        return Centrality(np.zeros(0), np.zeros(0), True)
    edges = np.column_stack([graph.source, graph.target])
    import igraph  # takes long to load, and few questions need it

    net = igraph.Graph(n=size, edges=edges, directed=True)
    is_exact = size * len(edges) <= most_exact or size <= SAMPLED_HOSTS
    harmonic = (
        np.array(net.harmonic_centrality(mode="in", normalized=False), dtype=np.float64)
        if is_exact
        else _sampled(net, size)
    )
    return Centrality(np.array(net.pagerank()), harmonic, is_exact)


def _sampled(net: "igraph.Graph", size: int) -> Array:
    """Return estimated centralities, from the distances from a sample of `size` hosts."""
    sources = np.random.default_rng(_SEED).choice(size, SAMPLED_HOSTS, replace=False)
    found = np.zeros(size)
    for source in sources.tolist():
        distances = np.array(net.distances(source, mode="out")[0], dtype=np.float64)
        distances[source] = np.inf
        found += 1 / distances
    estimates: Array = found * (size / SAMPLED_HOSTS)
    return estimates


_MOST_STEPS = 1_000


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A displayed host: links to and from the centre, number of linking hosts, position.

    Without a centre, `links_to` and `links_from` are the links to and from all other hosts. `x` and
    `y` are from 0 to 1.
    """

    host: str
    links_to: int
    links_from: int
    hosts_in: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Hosts, the centre first if there is one, and the links among them by index.

    `found` is the number of hosts before the list was cut. `own_links` are the links of the centre
    to itself.
    """

    centre: str
    hosts: Sequence[Neighbour]
    edges: Sequence[tuple[int, int, int]]
    found: int
    own_links: int = 0


def place_of_host(graph: HostGraph, host: str) -> int | None:
    """Return the index of a host in a graph, or None."""
    place = bisect_left(
        graph.hosts,
        (reversed_host(host), host),
        key=lambda name: (reversed_host(name), name),
    )
    return place if place < len(graph.hosts) and graph.hosts[place] == host else None


def neighbourhood(graph: HostGraph, centre: str, most: int) -> Neighbourhood:
    """Return a host and those with most links to or from it; for "", the most linked hosts.

    At most `most` hosts; none if the host is not in the graph.
    """
    size = len(graph.hosts)
    if not centre:
        hosts_in = graph.hosts_in()
        order = np.argsort(-(hosts_in.astype(np.int64)), kind="stable")
        return _drawn(graph, "", order[:most], graph.links_out(), graph.links_in(), size)
    place = place_of_host(graph, centre)
    if place is None:
        return Neighbourhood(centre, (), (), 0)
    into, out = graph.target == place, graph.source == place
    links_to = np.bincount(graph.source[into], graph.links[into], size).astype(np.int64)
    links_from = np.bincount(graph.target[out], graph.links[out], size).astype(np.int64)
    both = links_to + links_from
    around = np.argsort(-both, kind="stable")[: int(np.count_nonzero(both))]
    chosen = np.concatenate([[place], around[: most - 1]]).astype(np.int64)
    return _drawn(graph, centre, chosen, links_to, links_from, len(around) + 1)


def _drawn(
    graph: HostGraph, centre: str, chosen: Array, links_to: Array, links_from: Array, found: int
) -> Neighbourhood:
    numbers = np.full(len(graph.hosts), -1, dtype=np.int64)
    numbers[chosen] = np.arange(len(chosen))
    inside = np.flatnonzero((numbers[graph.source] >= 0) & (numbers[graph.target] >= 0))
    edges = list(
        zip(
            numbers[graph.source[inside]].tolist(),
            numbers[graph.target[inside]].tolist(),
            graph.links[inside].tolist(),
            strict=True,
        )
    )
    hosts_in = graph.hosts_in()
    hosts = tuple(
        Neighbour(
            graph.hosts[place],
            int(links_to[place]),
            int(links_from[place]),
            int(hosts_in[place]),
            x,
            y,
        )
        for place, (x, y) in zip(chosen.tolist(), _layout(len(chosen), edges), strict=True)
    )
    own = int(graph.own_links[chosen[0]]) if centre else 0
    return Neighbourhood(centre, hosts, edges, found, own)


def _layout(size: int, edges: Sequence[tuple[int, int, int]]) -> list[tuple[float, float]]:
    """Return a position for each host; deterministic."""
    if not size:
        return []
    import igraph  # takes long to load, and few questions need it

    net = igraph.Graph(n=size, edges=[(source, target) for source, target, _ in edges])
    found = np.array(net.simplify().layout_kamada_kawai(maxiter=_MOST_STEPS).coords)
    low, high = found.min(axis=0), found.max(axis=0)
    span = np.where(high > low, high - low, 1)
    places = np.where(high > low, (found - low) / span, 0.5).round(4)
    return [(float(x), float(y)) for x, y in places]

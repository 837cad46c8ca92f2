"""A part of a graph of hosts to be drawn: a host and those around it, or the most linked."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import igraph
import numpy as np

from nwx.bulk.arrays import Array
from nwx.links.graphs.host_graph import HostGraph, reversed_host

_MOST_STEPS = 1_000


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A host that is shown: its links to and from the centre, how many hosts link to it, a place.

    Without a centre, `links_to` and `links_from` are those to and from all
    others. `x` and `y` are from 0 to 1.
    """

    host: str
    links_to: int
    links_from: int
    hosts_in: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Hosts, the centre first where there is one, and the links among them by their places.

    `found` is the number of hosts before the list was cut. `own_links` are
    those of the centre to itself.
    """

    centre: str
    hosts: Sequence[Neighbour]
    edges: Sequence[tuple[int, int, int]]
    found: int
    own_links: int = 0


def place_of_host(graph: HostGraph, host: str) -> int | None:
    """Return the place of a host in a graph, None where it is not there."""
    place = bisect_left(
        graph.hosts,
        (reversed_host(host), host),
        key=lambda name: (reversed_host(name), name),
    )
    return place if place < len(graph.hosts) and graph.hosts[place] == host else None


def neighbourhood(graph: HostGraph, centre: str, most: int) -> Neighbourhood:
    """Return a host and those that most links join with it, or with "" those most linked to.

    A host that is not in the graph is alone.
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
    """Return a place for each host, the same at each call."""
    if not size:
        return []
    net = igraph.Graph(n=size, edges=[(source, target) for source, target, _ in edges])
    found = np.array(net.simplify().layout_kamada_kawai(maxiter=_MOST_STEPS).coords)
    low, high = found.min(axis=0), found.max(axis=0)
    span = np.where(high > low, high - low, 1)
    places = np.where(high > low, (found - low) / span, 0.5).round(4)
    return [(float(x), float(y)) for x, y in places]

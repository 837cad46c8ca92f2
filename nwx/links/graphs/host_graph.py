"""The graph of hosts, or of domains: who links to whom, and how often."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nwx.bulk.arrays import Array


def reversed_host(name: str) -> str:
    """Return a host with its labels in reverse, `org.example` for `example.org`.

    The form by which Common Crawl's web graphs name and sort hosts; addresses
    of machines stay as they are.
    """
    if name.startswith("[") or name.replace(".", "").isdigit():
        return name
    return ".".join(reversed(name.split(".")))


@dataclass(frozen=True, slots=True)
class HostGraph:
    """Hosts and the links between different ones.

    Hosts are in the order of their reversed names, an edge names them by
    their places. `links` counts pairs of linking and linked URL. Edges are in
    the order of source and target. `own_links` are those of each host to
    itself, which are no edges. `members` is the number of hosts in each
    domain, 1 in a graph of hosts.
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
        """Return how many others link to each host."""
        return np.bincount(self.target, minlength=len(self.hosts))

    def hosts_out(self) -> Array:
        """Return to how many others each host links."""
        return np.bincount(self.source, minlength=len(self.hosts))


def host_graph(pairs: Iterable[tuple[str, str, int]]) -> HostGraph:
    """Return the graph of source host, target host and number of links; equal pairs add up.

    Pairs with a host that has no name are left out.
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
    """Return a graph with its names in order and equal edges as one."""
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

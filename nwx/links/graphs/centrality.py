"""How central hosts are: PageRank and harmonic centrality."""

from dataclasses import dataclass

import igraph
import numpy as np

from nwx.bulk.arrays import Array
from nwx.links.graphs.host_graph import HostGraph

MOST_EXACT = 10_000_000_000
"""Up to this product of hosts and edges, harmonic centrality is exact; about ten seconds."""

SAMPLED_HOSTS = 500
_SEED = 20_080_509


@dataclass(frozen=True, slots=True)
class Centrality:
    """The centralities of the hosts of a graph, in its order.

    Every edge counts once, however many links it stands for, so that no
    host gains by linking a million times. `harmonic` is the sum of the
    inverse distances from all other hosts, as Common Crawl's web graphs
    have it; `is_exact` tells that it was not estimated from a sample of
    SAMPLED_HOSTS hosts.
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
    net = igraph.Graph(n=size, edges=edges, directed=True)
    is_exact = size * len(edges) <= most_exact or size <= SAMPLED_HOSTS
    harmonic = (
        np.array(net.harmonic_centrality(mode="in", normalized=False), dtype=np.float64)
        if is_exact
        else _sampled(net, size)
    )
    return Centrality(np.array(net.pagerank()), harmonic, is_exact)


def _sampled(net: igraph.Graph, size: int) -> Array:
    """Return estimates: the distances from a sample of hosts stand for those from all."""
    sources = np.random.default_rng(_SEED).choice(size, SAMPLED_HOSTS, replace=False)
    found = np.zeros(size)
    for source in sources.tolist():
        distances = np.array(net.distances(source, mode="out")[0], dtype=np.float64)
        distances[source] = np.inf
        found += 1 / distances
    estimates: Array = found * (size / SAMPLED_HOSTS)
    return estimates

"""Centralities of small graphs, compared with their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.links.graphs import centrality as module
from nwx.links.graphs.centrality import centrality
from nwx.links.graphs.host_graph import HostGraph, host_graph

DAMPING = 0.85
NAMES = st.sampled_from(["a.test", "b.test", "c.test", "d.test", "e.test"])


def distances_to(graph: HostGraph, goal: int) -> list[int]:
    """Return how many steps the other hosts are from one, those that reach it."""
    found, step, near = {goal: 0}, 0, {goal}
    while near:
        step += 1
        near = {
            int(source)
            for source, target in zip(graph.source, graph.target, strict=True)
            if target in near and source not in found
        }
        found |= dict.fromkeys(near, step)
    return [distance for distance in found.values() if distance]


def pageranks(graph: HostGraph) -> list[float]:
    size = len(graph.hosts)
    follow = np.zeros((size, size))
    follow[graph.target, graph.source] = 1
    sums = follow.sum(axis=0)
    follow[:, sums == 0] = 1 / size
    follow[:, sums > 0] /= sums[sums > 0]
    rank = np.full(size, 1 / size)
    for _ in range(300):
        rank = DAMPING * follow @ rank + (1 - DAMPING) / size
    return rank.tolist()


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(1, 1000)), min_size=1))
def test_centralities_are_as_defined(pairs: list[tuple[str, str, int]]) -> None:
    graph = host_graph(pairs)
    found = centrality(graph)
    assert found.is_exact
    assert found.harmonic == pytest.approx(
        [sum(1 / one for one in distances_to(graph, place)) for place in range(len(graph.hosts))]
    )
    assert found.pagerank == pytest.approx(pageranks(graph), abs=1e-6)


def test_an_empty_graph_has_none() -> None:
    assert centrality(host_graph([])).pagerank.tolist() == []


def test_large_graphs_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLED_HOSTS", 150)
    pairs = [(n, (n * 7 + step) % 200) for n in range(200) for step in (1, 2)]
    graph = host_graph((f"h{source}.test", f"h{target}.test", 1) for source, target in pairs)
    exact, estimated = centrality(graph), centrality(graph, most_exact=0)
    assert not estimated.is_exact
    assert estimated.harmonic == pytest.approx(exact.harmonic, rel=0.3)

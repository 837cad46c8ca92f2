"""The graph of hosts and of domains, compared with plain dictionaries."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.links import host_graph as module
from nwx.links.host_graph import HostGraph, centrality, domain_graph, host_graph, reversed_host

NAMES = st.sampled_from(["a.example.org", "b.example.org", "c.test", "d.c.test", "10.0.0.1", ""])
PAIRS = st.lists(st.tuples(NAMES, NAMES, st.integers(1, 9)))


def edges_of(graph: HostGraph) -> dict[tuple[str, str], int]:
    return {
        (graph.hosts[source], graph.hosts[target]): int(links)
        for source, target, links in zip(graph.source, graph.target, graph.links, strict=True)
    }


def domain_of(host: str) -> str:
    return ".".join(host.split(".")[-2:])


@given(PAIRS)
def test_the_graph_adds_up_pairs(pairs: list[tuple[str, str, int]]) -> None:
    expected: Counter[tuple[str, str]] = Counter()
    own: Counter[str] = Counter()
    for source, target, links in pairs:
        if source and target and source != target:
            expected[source, target] += links
        elif source and target:
            own[source] += links
    graph = host_graph(pairs)
    assert edges_of(graph) == expected
    found = dict(zip(graph.hosts, graph.own_links.tolist(), strict=True))
    assert {host: links for host, links in found.items() if links} == own
    assert list(graph.hosts) == sorted(graph.hosts, key=reversed_host)
    assert graph.links_in().tolist() == [
        sum(links for (_, target), links in expected.items() if target == host)
        for host in graph.hosts
    ]
    assert graph.hosts_out().tolist() == [
        len([1 for source, _ in expected if source == host]) for host in graph.hosts
    ]


@given(PAIRS)
def test_the_graph_of_domains_is_that_of_their_hosts(pairs: list[tuple[str, str, int]]) -> None:
    named = [(source, target, links) for source, target, links in pairs if source and target]
    expected = host_graph((domain_of(s), domain_of(t), links) for s, t, links in named)
    graph = domain_graph(host_graph(pairs), domain_of)
    assert edges_of(graph) == edges_of(expected)
    assert graph.own_links.tolist() == expected.own_links.tolist()
    hosts = {host for source, target, _ in named for host in (source, target)}
    assert graph.members.tolist() == [
        len([1 for host in hosts if domain_of(host) == domain]) for domain in graph.hosts
    ]


@pytest.mark.parametrize(
    ("host", "found"),
    [("www.example.org", "org.example.www"), ("10.0.0.1", "10.0.0.1"), ("[::1]", "[::1]")],
)
def test_the_reversed_name_of_a_host(host: str, found: str) -> None:
    assert reversed_host(host) == found


DAMPING = 0.85
CENTRAL_NAMES = st.sampled_from(["a.test", "b.test", "c.test", "d.test", "e.test"])


def distances_to(graph: HostGraph, goal: int) -> list[int]:
    """Return the number of steps from each other host that reaches `goal`."""
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


@settings(deadline=None)
@given(st.lists(st.tuples(CENTRAL_NAMES, CENTRAL_NAMES, st.integers(1, 1000)), min_size=1))
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

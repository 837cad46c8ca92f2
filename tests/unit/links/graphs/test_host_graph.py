"""The graph of hosts and of domains, compared with plain dictionaries."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.links.graphs.host_graph import HostGraph, domain_graph, host_graph, reversed_host

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

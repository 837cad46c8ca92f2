"""The text form of Common Crawl's web graphs."""

import gzip
from pathlib import Path

from nwx.exports.graphs.tables import graph_tables
from nwx.exports.graphs.web_graph import write_web_graph
from nwx.links.graphs.centrality import centrality
from nwx.links.graphs.host_graph import domain_graph, host_graph

GRAPH = host_graph(
    [("b.example.org", "c.test", 4), ("a.example.org", "c.test", 1), ("c.test", "a.example.org", 1)]
)


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_hosts(tmp_path: Path) -> None:
    tables = graph_tables("host", GRAPH, centrality(GRAPH))
    vertices, edges = write_web_graph(tables, tmp_path)
    assert (vertices.name, edges.name) == ("vertices.txt.gz", "edges.txt.gz")
    assert lines(vertices) == ["0\torg.example.a", "1\torg.example.b", "2\ttest.c"]
    assert lines(edges) == ["0\t2", "1\t2", "2\t0"]
    first = vertices.read_bytes()
    write_web_graph(tables, tmp_path)
    assert vertices.read_bytes() == first


def test_domains_have_the_number_of_their_hosts(tmp_path: Path) -> None:
    graph = domain_graph(GRAPH, lambda host: ".".join(host.split(".")[-2:]))
    vertices, edges = write_web_graph(graph_tables("domain", graph, centrality(graph)), tmp_path)
    assert lines(vertices) == ["0\torg.example\t2", "1\ttest.c\t1"]
    assert lines(edges) == ["0\t1", "1\t0"]

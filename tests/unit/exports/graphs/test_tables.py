"""Graphs as Parquet and CSV."""

import csv
from pathlib import Path

import polars as pl

from nwx.exports.graphs.tables import GraphTables, graph_tables, write_csv, write_parquet
from nwx.links.graphs.centrality import centrality
from nwx.links.graphs.host_graph import domain_graph, host_graph


def small_tables(noun: str = "host") -> GraphTables:
    c = "=c.test"
    graph = host_graph([("a.example.org", c, 4), ("b.example.org", c, 1), (c, c, 2)])
    if noun == "domain":
        graph = domain_graph(graph, lambda host: ".".join(host.split(".")[-2:]))
    return graph_tables(noun, graph, centrality(graph))


def test_parquet_has_hosts_and_links(tmp_path: Path) -> None:
    places, edges = write_parquet(small_tables(), tmp_path)
    assert (places.name, edges.name) == ("hosts.parquet", "host_links.parquet")
    found = pl.read_parquet(places)
    assert found.columns == [
        *("id", "host", "reversed", "links_in", "hosts_in", "links_out", "hosts_out"),
        *("own_links", "pagerank", "harmonic"),
    ]
    assert found["host"].to_list() == ["a.example.org", "b.example.org", "=c.test"]
    assert found["links_in"].to_list() == [0, 0, 5]
    assert pl.read_parquet(edges).rows() == [
        ("a.example.org", "=c.test", 4),
        ("b.example.org", "=c.test", 1),
    ]


def test_csv_has_no_formulas(tmp_path: Path) -> None:
    places, edges = write_csv(small_tables(), tmp_path)
    with edges.open(newline="") as file:
        assert list(csv.reader(file))[1] == ["a.example.org", "'=c.test", "4"]
    with places.open(newline="") as file:
        names = [row[1] for row in csv.reader(file)]
    assert names == ["host", "a.example.org", "b.example.org", "'=c.test"]


def test_domains_have_hosts(tmp_path: Path) -> None:
    tables = small_tables("domain")
    assert dict(zip(tables.places["domain"], tables.places["hosts"], strict=True)) == {
        "example.org": 2,
        "=c.test": 1,
    }
    assert "domains_in" in tables.places.columns

"""Graphs as Parquet and CSV."""

import csv
import gzip
import re
from datetime import date
from pathlib import Path

import polars as pl
from lxml import etree

from nwx.exports.links import (
    NAMESPACE,
    GraphTables,
    graph_tables,
    write_csv,
    write_gexf,
    write_parquet,
    write_web_graph,
)
from nwx.links.host_graph import centrality, domain_graph, host_graph


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


DIGITS, NUMBER = r"\d+", r"-?\d+(\.\d+)?([eE][-+]?\d+)?"
STRUCTURE: dict[str, tuple[list[str], dict[str, str], set[str]]] = {
    # element: child elements in order, attributes with their patterns, required attributes
    "gexf": (["meta", "graph"], {"version": r"1\.3", "variant": ".*"}, {"version"}),
    "meta": (
        ["creator", "keywords", "description"],
        {"lastmodifieddate": r"\d{4}-\d\d-\d\d"},
        set(),
    ),
    "creator": ([], {}, set()),
    "description": ([], {}, set()),
    "graph": (
        ["attributes", "nodes", "edges"],
        {"defaultedgetype": "directed|undirected|mutual", "mode": "static|dynamic"},
        set(),
    ),
    "attributes": (["attribute"], {"class": "node|edge", "mode": "static|dynamic"}, {"class"}),
    "attribute": (
        [],
        {"id": ".+", "title": ".*", "type": "long|double|string"},
        {"id", "title", "type"},
    ),
    "nodes": (["node"], {"count": DIGITS}, set()),
    "node": (["attvalues"], {"id": ".+", "label": ".*"}, {"id"}),
    "attvalues": (["attvalue"], {}, set()),
    "attvalue": ([], {"for": ".+", "value": ".*"}, {"for", "value"}),
    "edges": (["edge"], {"count": DIGITS}, set()),
    "edge": (
        [],
        {"id": ".+", "source": ".+", "target": ".+", "weight": NUMBER},
        {"source", "target"},
    ),
}


def check(element: etree._Element) -> None:
    name = etree.QName(element)
    assert name.namespace == NAMESPACE
    children, attributes, required = STRUCTURE[name.localname]
    assert required <= set(element.attrib) <= set(attributes)
    for key, value in element.attrib.items():
        assert re.fullmatch(attributes[str(key)], str(value)), (name, key, value)
    found = [etree.QName(child).localname for child in element]
    assert found == sorted(found, key=children.index)
    for child in element:
        check(child)


def test_gexf_has_the_structure_of_its_schema(tmp_path: Path) -> None:
    graph = host_graph(
        [("a.test", "b<&\x01>.test", 3), ("b<&\x01>.test", "a.test", 1), ("c.test", "a.test", 7)]
    )
    path = tmp_path / "hosts.gexf"
    write_gexf(graph_tables("host", graph, centrality(graph)), path, "a & <b>", date(2026, 1, 2))
    root = etree.parse(path).getroot()
    check(root)
    space = {"g": NAMESPACE}
    nodes = root.findall(".//g:node", space)
    labels = {node.get("id"): node.get("label") for node in nodes}
    assert sorted(labels.values()) == ["a.test", "b<&\ufffd>.test", "c.test"]
    declared = {one.get("id"): one.get("type") for one in root.iterfind(".//g:attribute", space)}
    for value in root.iterfind(".//g:attvalue", space):
        if declared[value.get("for")] == "long":
            assert re.fullmatch(DIGITS, value.get("value") or "")
    edges = root.findall(".//g:edge", space)
    assert {
        (labels[edge.get("source")], labels[edge.get("target")]): edge.get("weight")
        for edge in edges
    } == {
        ("a.test", "b<&\ufffd>.test"): "3.0",
        ("b<&\ufffd>.test", "a.test"): "1.0",
        ("c.test", "a.test"): "7.0",
    }
    assert [one.get("count") for one in root.iter(f"{{{NAMESPACE}}}nodes")] == [str(len(nodes))]


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

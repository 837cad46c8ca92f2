"""GEXF 1.3, held to the structure that its schema (https://gexf.net/1.3/gexf.xsd) allows.

The schema itself is not kept here; what it says of the elements that are
written is in `STRUCTURE`.
"""

import re
from datetime import date
from pathlib import Path

from lxml import etree

from nwx.exports.graphs.gexf import NAMESPACE, write_gexf
from nwx.exports.graphs.tables import graph_tables
from nwx.links.graphs.centrality import centrality
from nwx.links.graphs.host_graph import host_graph

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

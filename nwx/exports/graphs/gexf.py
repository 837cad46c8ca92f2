"""Graphs as GEXF 1.3, which Gephi opens (https://gexf.net/schema.html)."""

import re
from datetime import date
from pathlib import Path
from typing import Any

from lxml import etree

from nwx.bulk.whole_files import whole_file
from nwx.exports.graphs.tables import GraphTables

NAMESPACE = "http://gexf.net/1.3"
_TYPES = {"Int64": "long", "UInt32": "long", "Float64": "double", "String": "string"}
# What XML 1.0 cannot have, however it is written.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_gexf(tables: GraphTables, path: Path, description: str, made: date) -> None:
    """Write a graph, a node at a time.

    Nodes have the columns of the table of places as attributes, edges the
    number of links as weight.
    """
    columns = [name for name in tables.places.columns if name not in ("id", tables.noun)]
    with whole_file(path) as stream, etree.xmlfile(stream, encoding="utf-8") as xml:
        xml.write_declaration()
        with xml.element("gexf", {"version": "1.3"}, nsmap={None: NAMESPACE}):
            _write_meta(xml, description, made)
            with xml.element("graph", {"defaultedgetype": "directed", "mode": "static"}):
                with xml.element("attributes", {"class": "node", "mode": "static"}):
                    for name in columns:
                        type_name = _TYPES[str(tables.places.schema[name])]
                        _write(xml, "attribute", id=name, title=name, type=type_name)
                _write_nodes(xml, tables, columns)
                _write_edges(xml, tables)


def _write_meta(xml: Any, description: str, made: date) -> None:
    with xml.element("meta", {"lastmodifieddate": made.isoformat()}):
        with xml.element("creator"):
            xml.write("nwx")
        with xml.element("description"):
            xml.write(_xml_text(description))


def _write_nodes(xml: Any, tables: GraphTables, columns: list[str]) -> None:
    with xml.element("nodes", {"count": str(len(tables.places))}):
        for row in tables.places.iter_rows(named=True):
            label = _xml_text(row[tables.noun])
            node = xml.element("node", {"id": str(row["id"]), "label": label})
            with node, xml.element("attvalues"):
                for name in columns:
                    _write(xml, "attvalue", **{"for": name, "value": str(row[name])})


def _write_edges(xml: Any, tables: GraphTables) -> None:
    numbers = dict(zip(tables.places[tables.noun], tables.places["id"], strict=True))
    with xml.element("edges", {"count": str(len(tables.edges))}):
        for number, (source, target, links) in enumerate(tables.edges.iter_rows()):
            ends = {"source": str(numbers[source]), "target": str(numbers[target])}
            _write(xml, "edge", id=str(number), weight=f"{float(links)}", **ends)


def _write(xml: Any, name: str, **attributes: str) -> None:
    with xml.element(name, {key: _xml_text(value) for key, value in attributes.items()}):
        pass


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)

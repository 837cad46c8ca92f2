"""Link exports: all links as Parquet, and host graphs as Parquet, CSV, GEXF and text."""

import gzip
import io
import re
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
from lxml import etree

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.whole_files import parquet_bytes, whole_file, whole_folder
from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.links.archive_links import ALL_LINKS, ArchiveLinks
from nwx.links.host_graph import Centrality, HostGraph, centrality, domain_graph, reversed_host
from nwx.model import LinkCell
from nwx.values.records import csv_lines
from nwx.values.urls import domain_of_host

_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class GraphTables:
    """Hosts or domains of a link graph with their measures, and the links between them.

    `places` has the columns id, `host` or `domain`, reversed name, links and hosts in and out, own
    links and centralities; `edges` has the columns source, target and links, by names.
    """

    noun: str
    places: pl.DataFrame
    edges: pl.DataFrame


def graph_tables(noun: str, graph: HostGraph, central: Centrality) -> GraphTables:
    """Return the tables of a graph of hosts or domains; `noun` is `host` or `domain`."""
    names = pl.Series(graph.hosts, dtype=pl.String)
    counted = [pl.Series("hosts", graph.members)] if noun == "domain" else []
    places = pl.DataFrame(
        [
            pl.Series("id", range(len(names)), dtype=pl.Int64),
            names.alias(noun),
            pl.Series("reversed", list(map(reversed_host, graph.hosts)), dtype=pl.String),
            *counted,
            pl.Series("links_in", graph.links_in()),
            pl.Series(f"{noun}s_in", graph.hosts_in()),
            pl.Series("links_out", graph.links_out()),
            pl.Series(f"{noun}s_out", graph.hosts_out()),
            pl.Series("own_links", graph.own_links),
            pl.Series("pagerank", central.pagerank),
            pl.Series("harmonic", central.harmonic),
        ]
    )
    edges = pl.DataFrame(
        [
            names.gather(graph.source).alias("source"),
            names.gather(graph.target).alias("target"),
            pl.Series("links", graph.links),
        ]
    )
    return GraphTables(noun, places, edges)


def write_parquet(tables: GraphTables, folder: Path) -> list[Path]:
    """Write `hosts.parquet` and `host_links.parquet`, or the same for domains."""
    paths = _paths(tables, folder, "parquet")
    for path, frame in zip(paths, (tables.places, tables.edges), strict=True):
        with whole_file(path) as stream:
            stream.write(parquet_bytes(frame))
    return paths


def write_csv(tables: GraphTables, folder: Path) -> list[Path]:
    """Write `hosts.csv` and `host_links.csv`, or the same for domains, safe for spreadsheets."""
    paths = _paths(tables, folder, "csv")
    for path, frame in zip(paths, (tables.places, tables.edges), strict=True):
        with whole_file(path) as stream, io.TextIOWrapper(stream, "utf-8", newline="") as text:
            rows = (row for part in frame.iter_slices(_AT_ONCE) for row in part.iter_rows())
            text.writelines(csv_lines(frame.columns, rows))
    return paths


def _paths(tables: GraphTables, folder: Path, ending: str) -> list[Path]:
    return [folder / f"{tables.noun}s.{ending}", folder / f"{tables.noun}_links.{ending}"]


NAMESPACE = "http://gexf.net/1.3"
_TYPES = {"Int64": "long", "UInt32": "long", "Float64": "double", "String": "string"}
# Characters not allowed in XML 1.0, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_gexf(tables: GraphTables, path: Path, description: str, made: date) -> None:
    """Write a graph as GEXF, one node at a time.

    Nodes have the columns of `places` as attributes, edges the number of links as weight.
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
                        _write_element(xml, "attribute", id=name, title=name, type=type_name)
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
                    _write_element(xml, "attvalue", **{"for": name, "value": str(row[name])})


def _write_edges(xml: Any, tables: GraphTables) -> None:
    numbers = dict(zip(tables.places[tables.noun], tables.places["id"], strict=True))
    with xml.element("edges", {"count": str(len(tables.edges))}):
        for number, (source, target, links) in enumerate(tables.edges.iter_rows()):
            ends = {"source": str(numbers[source]), "target": str(numbers[target])}
            _write_element(xml, "edge", id=str(number), weight=f"{float(links)}", **ends)


def _write_element(xml: Any, name: str, **attributes: str) -> None:
    with xml.element(name, {key: _xml_text(value) for key, value in attributes.items()}):
        pass


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


_LEVEL = 6


def write_web_graph(tables: GraphTables, folder: Path) -> list[Path]:
    """Write `vertices.txt.gz` and `edges.txt.gz`, as Common Crawl has them; return their paths."""
    columns = ["id", "reversed", *(["hosts"] if tables.noun == "domain" else [])]
    vertices, edges = folder / "vertices.txt.gz", folder / "edges.txt.gz"
    _write_lines(vertices, tables.places.select(columns).iter_rows())
    numbers = tables.places.select(tables.noun, "id")
    ends = (
        tables.edges.join(numbers, left_on="source", right_on=tables.noun, maintain_order="left")
        .join(numbers, left_on="target", right_on=tables.noun, maintain_order="left", suffix="_to")
        .select("id", "id_to")
    )
    _write_lines(edges, ends.iter_rows())
    return [vertices, edges]


def _write_lines(path: Path, rows: Iterable[tuple[object, ...]]) -> None:
    with (
        whole_file(path) as stream,
        gzip.GzipFile("", "wb", _LEVEL, stream, mtime=0) as packed,
    ):
        for row in rows:
            line = "\t".join(str(cell) for cell in row)
            packed.write(line.replace("\n", " ").encode("utf-8", "replace") + b"\n")


LINKS, PARQUET, CSV, GEXF, WEB_GRAPH = "links", "parquet", "csv", "gexf", "web-graph"
LINK_FORMATS = (LINKS, PARQUET, CSV, GEXF, WEB_GRAPH)
"""The formats of an export: all links as Parquet, and the graphs in four formats."""


@dataclass(frozen=True, slots=True)
class LinkExportReport:
    """The result of a link export; `is_exact` is true if no centrality was estimated."""

    links: int
    hosts: int
    host_links: int
    domains: int
    domain_links: int
    is_exact: bool
    files: int
    bytes: int
    seconds: float


def export_links(
    engine: Engine,
    folder: Path,
    formats: Collection[str] = LINK_FORMATS,
    cell: LinkCell = ALL_LINKS,
    progress: ShowProgress = no_progress,
) -> LinkExportReport:
    """Write the links of a cell as of the last inversion, in some of LINK_FORMATS.

    The folder appears when it is complete. Raises SourceError if it exists already or cannot be
    written, EngineError if links were never inverted, UsageError on unknown formats.
    """
    if unknown := set(formats) - set(LINK_FORMATS):
        raise UsageError(f"there is no format {min(unknown)!r}; use {', '.join(LINK_FORMATS)}")
    began = time.monotonic()
    links = ArchiveLinks(engine)
    with whole_folder(folder) as new:
        export = _Export(links, new, frozenset(formats), cell, progress)
        count = export.links()
        hosts, domains = export.graphs()
    files = [path for path in folder.rglob("*") if path.is_file()]
    return LinkExportReport(
        links=count,
        hosts=len(hosts.hosts),
        host_links=len(hosts.links),
        domains=len(domains.hosts),
        domain_links=len(domains.links),
        is_exact=export.is_exact,
        files=len(files),
        bytes=sum(path.stat().st_size for path in files),
        seconds=time.monotonic() - began,
    )


class _Export:
    """A run of an export into a folder."""

    def __init__(
        self,
        links: ArchiveLinks,
        folder: Path,
        formats: frozenset[str],
        cell: LinkCell,
        progress: ShowProgress,
    ) -> None:
        self._links, self._folder, self._formats = links, folder, formats
        self._cell, self._progress = cell, progress
        self.is_exact = True

    def links(self) -> int:
        """Write all links, one file per range of linked URLs; return the number of links."""
        if LINKS not in self._formats:
            return 0
        into = self._folder / "links"
        into.mkdir()
        count = 0
        for number, frame in enumerate(self._links.frames(self._cell)):
            (into / f"part-{number:05}.parquet").write_bytes(parquet_bytes(frame))
            count += len(frame)
            self._progress(WorkProgress("writing links", count))
        return count

    def graphs(self) -> tuple[HostGraph, HostGraph]:
        """Write the graphs of hosts and of domains; return them."""
        self._progress(WorkProgress("counting hosts", 0))
        hosts = self._links.host_graph(self._cell)
        domains = domain_graph(hosts, domain_of_host)
        if self._formats - {LINKS}:
            self._write("host", hosts)
            self._write("domain", domains)
        return hosts, domains

    def _write(self, noun: str, graph: HostGraph) -> None:
        self._progress(WorkProgress(f"ranking {noun}s", 0))
        central = centrality(graph)
        self.is_exact = self.is_exact and central.is_exact
        tables = graph_tables(noun, graph, central)
        if PARQUET in self._formats:
            write_parquet(tables, self._folder)
        if CSV in self._formats:
            write_csv(tables, self._folder)
        if GEXF in self._formats:
            self._write_gexf(tables)
        if WEB_GRAPH in self._formats:
            into = self._folder / "web-graph" / f"{noun}s"
            into.mkdir(parents=True)
            write_web_graph(tables, into)

    def _write_gexf(self, tables: GraphTables) -> None:
        which = ", ".join(
            part
            for part in (
                f"collection {self._cell.collection}" if self._cell.collection else "",
                f"year {self._cell.year}" if self._cell.year is not None else "",
            )
            if part
        )
        description = f"Links between {tables.noun}s" + (f" ({which})" if which else "")
        path = self._folder / f"{tables.noun}s.gexf"
        write_gexf(tables, path, description, datetime.now(UTC).date())
